"""The program itself, and what it stands on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version

from aurora.engine.health.checking import Check, carry_out
from aurora.stores.sqlite_library import SQLiteLibrary, describe_library
from aurora.types import Finding, Level

AREA = "program"


def examine_program() -> Iterator[Finding]:
    return carry_out(CHECKS, None, area=AREA)


def _versions(_: None) -> Iterator[Finding]:
    yield Finding(Level.OK, AREA, f"Aurora {version('aurora-memory')}")
    yield Finding(Level.OK, AREA, f"Python {platform.python_version()} ({sys.executable})")


def _system(_: None) -> Iterator[Finding]:
    yield Finding(Level.OK, AREA, platform.platform())


def _sqlite(_: None) -> Iterator[Finding]:
    yield judge_library(describe_library())


def judge_library(library: SQLiteLibrary) -> Finding:
    """Whether a memory can be made with it."""
    missing = [
        name
        for name, there in (("FTS5", library.has_fts5), ("trigrams", library.has_trigrams))
        if not there
    ]
    if not missing:
        return Finding(Level.OK, AREA, f"SQLite {library.version} with FTS5 and trigrams")
    text = f"SQLite {library.version} without {' and '.join(missing)}: no memory can be made"
    return Finding(
        Level.FAIL, AREA, text, "use a Python with SQLite 3.34 or newer, built with FTS5"
    )


CHECKS: tuple[Check[None], ...] = (_versions, _system, _sqlite)
