"""Bytes into what targets take, and a place for files."""

from __future__ import annotations

import atexit
import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_LONGEST_ERROR = 50_000  # characters; some have a line for each problem


def text_of(data: bytes) -> str:
    """As files are read: what is no UTF-8 is marked."""
    return data.decode("utf-8", "replace")


def head_and_rest(data: bytes) -> tuple[str, bytes]:
    """The first line, and all that follows it."""
    head, _, rest = data.partition(b"\n")
    return text_of(head), rest


def json_of(data: bytes) -> object:
    """A value as a strict reader of UTF-8 has it, or nothing: half characters are none."""
    try:
        value: object = json.loads(data)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def require_told(exc: Exception) -> None:
    """A documented error is an answer: it says something, and not all that it was given."""
    assert str(exc).strip()
    assert len(str(exc)) < _LONGEST_ERROR


@cache
def _folder() -> Path:
    """Gone with the process."""
    folder = Path(mkdtemp(prefix="aurora-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def scratch(name: str) -> Path:
    """A path in a folder of this process alone."""
    return _folder() / name


def scratch_file(name: str, content: bytes) -> Path:
    path = scratch(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
