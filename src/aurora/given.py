"""What a session was given, so that it is given nothing twice: a small file for each session.

The files lie beside the memory. They hold ids of rows, may be deleted at any time, and go when
rows are forgotten, since an id can hold words of its row.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from aurora.files import make_folder, open_file, read_file
from aurora.platforms import lock

_FOLDER = "given"  # in the memory's folder
_MOST_BYTES = 200_000  # of one session: some thousand ids
_KEPT_DAYS = 14  # a session that rests longer is told again


def given_file(folder: Path, agent: str, session: str) -> Path:
    """The file of a session, whose id may be any text."""
    name = hashlib.sha256(f"{agent}\n{session}".encode("utf-8", "replace")).hexdigest()[:32]
    return folder / _FOLDER / name


def read_given(file: Path) -> frozenset[str]:
    """The ids that the session was given."""
    try:
        return frozenset(_lines(read_file(file, most=_MOST_BYTES)))
    except FileNotFoundError:
        return frozenset()


def note_given(file: Path, ids: Sequence[str]) -> frozenset[str]:
    """Remember ids as given; returns those that nobody has given meanwhile. Raises `OSError`.

    Hooks of one session run side by side: the one that notes an id gives it.
    """
    if not file.parent.is_dir():
        make_folder(file.parent)
    _remove_old(file.parent)
    with open_file(file, "a+b") as stream:
        lock(stream, wait=True)
        stream.seek(0)
        stored = stream.read(_MOST_BYTES + 1)
        known = set(_lines(stored))
        new = [id_ for id_ in dict.fromkeys(ids) if id_ not in known]
        if new:
            half = b"\n" if stored and not stored.endswith(b"\n") else b""  # of a full disk
            stream.write(half + "".join(f"{id_}\n" for id_ in new).encode("utf-8", "replace"))
    return frozenset(new)


def clear_given(folder: Path) -> None:
    """Forget what all sessions were given."""
    with suppress(FileNotFoundError):
        for file in (folder / _FOLDER).iterdir():
            file.unlink(missing_ok=True)


def _lines(stored: bytes) -> list[str]:
    return stored.decode("utf-8", "replace").split("\n")


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEPT_DAYS * 86400
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # another hook removes it
            if file.stat().st_mtime < oldest:
                file.unlink()
