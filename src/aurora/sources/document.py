"""The text of one document that a person named, or handed over in a pipe.

What was named is wanted: generated, minified and ignored files are read here, as `walk` does not.
Only what cannot be text, and what looks like a secret, is refused.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO

from aurora.errors import SourceError
from aurora.sources.unwanted import looks_secret

MAX_BYTES = 256 * 1024 * 1024  # a pipe may never end; cutting takes several times as much memory
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_document(path: Path) -> str:
    """The text of a file, or an error that says why not and what to do."""
    try:
        _require_document(path)
        with path.open("rb") as stream:
            return read_stream(stream, str(path))
    except FileNotFoundError as exc:
        raise SourceError(
            f"There is no file {path}", hint="name an existing file, or - for standard input"
        ) from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise SourceError(f"{path} cannot be read: {reason}", hint="check who owns it") from exc


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of a stream up to its end. `name` is what errors call it."""
    # In one go: a terminal that was told to end would be asked again by a second read.
    content = stream.read(MAX_BYTES + 1)
    _require_size(name, len(content))
    if b"\0" in content and not content.startswith(_UTF16):
        raise SourceError(
            f"{name} is binary", hint="only text can be added: extract it first, as pdftotext does"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise SourceError(
            f"{name} is not UTF-8",
            hint="convert it first: iconv -f ENCODING -t UTF-8 FILE | aur mem add -",
        ) from exc


def _require_document(path: Path) -> None:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(
            f"{path} is a folder", hint=f"`aur mem index {path}` reads all the files in it"
        )
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f"{path} is no regular file", hint=f"pipe it: aur mem add - < {path}")
    _require_size(str(path), status.st_size)
    if looks_secret(path.name) or looks_secret(path.resolve().name):
        raise SourceError(
            f"{path} looks like a secret", hint=f"if you mean it: aur mem add - < {path}"
        )


def _require_size(name: str, size: int) -> None:
    if size > MAX_BYTES:
        raise SourceError(
            f"{name} is larger than {MAX_BYTES // 1024**2} MiB", hint="add it in several parts"
        )
