"""What differs between Linux, macOS and Windows, apart from files and their locks (`files.py`).

A function takes the platform as an argument where that decides, so that tests run its other branch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_TICKS = 100  # a second, for programs on every Linux


class Process(NamedTuple):
    """A running process of this user."""

    number: int
    words: tuple[str, ...]  # its command line
    cwd: Path
    since: float  # seconds since 1970
    open_files: frozenset[Path]


def list_processes(proc: Path = _PROC) -> Iterator[Process]:
    """Other processes of this user, as Linux shows them. None on other systems."""
    for folder in sorted(proc.glob("[0-9]*")):
        with suppress(OSError, ValueError):  # it belongs to another user, or has just ended
            if int(folder.name) != os.getpid() and (words := _command_line(folder)):
                files = frozenset(_links(folder / "fd"))
                cwd = (folder / "cwd").readlink()
                yield Process(int(folder.name), words, cwd, _start_time(folder, proc), files)


def _command_line(folder: Path) -> tuple[str, ...]:
    words = (folder / "cmdline").read_bytes().split(b"\0")
    return tuple(os.fsdecode(word) for word in words[:-1])


def _links(folder: Path) -> Iterator[Path]:
    for link in folder.iterdir():
        with suppress(OSError):  # just closed
            yield link.readlink()


def _start_time(folder: Path, proc: Path) -> float:
    """From the ticks since the start of the machine, the 22nd field of `stat`."""
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    uptime = float((proc / "uptime").read_text().split()[0])
    return time.time() - uptime + int(fields[19]) / _TICKS
