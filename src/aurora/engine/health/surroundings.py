"""What lies around a memory: who may read it, what else is in its folder, and room to grow."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from aurora.config.places import shown
from aurora.engine.health.checking import Check
from aurora.engine.health.embedding import examine_embedder
from aurora.engine.health.llm import examine_llm
from aurora.engine.memory import Memory
from aurora.types import Finding, Level

AREA = "memory"
_READ = stat.S_IRGRP | stat.S_IROTH
_ENTER = stat.S_IXGRP | stat.S_IXOTH
_SPARE = 256 << 20  # bytes that should stay free, beside room for as much as there is
_OURS = (".gitignore", "config.yml", "config.yml.*.tmp", "indexes", "logs", "approved.json",
         "approved.json.*.tmp", "models", ".DS_Store")  # fmt: skip
_INDEXES = ("llm", "bm25.idx", "vectors.idx", "*.idx.*.tmp", "history-*.book", "history-*.tmp")
_SHOWN = 5  # strangers named


def is_there(path: Path) -> bool:
    """False also for what may not be looked at."""
    try:
        return path.exists()
    except OSError:
        return False


def _readers(memory: Memory) -> Iterator[Finding]:
    """On Windows, modes say nothing about others."""
    path = memory.path
    if os.name != "posix" or not is_there(path):
        return
    mode, folder = path.stat().st_mode, path.parent.stat().st_mode
    if mode & _READ and folder & _ENTER:
        text = f"Other users of this machine can read {shown(path)}"
        yield Finding(Level.WARN, AREA, text, f"chmod 700 {shown(path.parent)}")


def _writing(memory: Memory) -> Iterator[Finding]:
    path = memory.path
    if is_there(path) and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        text = f"{shown(path.parent)} cannot be written: nothing can be added to the memory"
        yield Finding(Level.WARN, AREA, text, "check who owns it and how the disk is mounted")


def _strangers(memory: Memory) -> Iterator[Finding]:
    """Only in a folder of our own: a database may be anywhere."""
    path, folder = memory.path, memory.places.memory_folder
    if path.parent != folder or not is_there(path):
        return
    ours = (*_OURS, path.name, f"{path.name}-*")
    found = [*_others(folder, ours), *_others(folder / "indexes", _INDEXES)]
    if found:
        names = ", ".join(file.relative_to(folder).as_posix() for file in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        text = f"Files in {shown(folder)} that Aurora did not make: {names}{more}"
        yield Finding(Level.NOTE, AREA, text, "they do no harm; move them if they are of no use")


def _others(folder: Path, known: tuple[str, ...]) -> list[Path]:
    try:
        files = sorted(folder.iterdir())
    except OSError:  # not there, no folder, or shut: others tell of that
        return []
    return [file for file in files if not any(fnmatchcase(file.name, name) for name in known)]


def _space(memory: Memory) -> Iterator[Finding]:
    path = memory.path
    if is_there(path):
        yield from judge_space(shutil.disk_usage(path.parent).free, path.stat().st_size)


def judge_space(free: int, size: int) -> Iterator[Finding]:
    """Told only when it is low: an index run may need as much again as there is."""
    if free < size + _SPARE:
        text = f"The memory's disk has only {free / 2**20:,.0f} MiB left"
        hint = f"free some space: indexing may need {(size + _SPARE) / 2**20:,.0f} MiB"
        yield Finding(Level.WARN, AREA, text, hint)


def _log(memory: Memory) -> Iterator[Finding]:
    home = memory.places.home
    file = home / "logs" / "aurora.log"
    if is_there(home) and not (home.is_dir() and os.access(home, os.W_OK)):
        text = f"The log {shown(file)} cannot be written"
        yield Finding(Level.WARN, AREA, text, "set AURORA_HOME to a folder of yours")
    else:
        there = "" if is_there(file) else " (nothing to say yet)"
        yield Finding(Level.OK, AREA, f"Log: {shown(file)}{there}")


SURROUNDINGS: tuple[Check[Memory], ...] = (
    examine_embedder, examine_llm, _readers, _writing, _strangers, _space, _log,
)  # fmt: skip
