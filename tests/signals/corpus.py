"""Real code to test on: the standard library of the Python that runs the tests."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

from aurora.types import Chunk
from tests.builders import parse

_PACKAGES = ("asyncio", "email", "http", "json", "logging", "unittest", "xml", "importlib")


@cache
def standard_library_chunks() -> tuple[Chunk, ...]:
    """A few thousand chunks, the same on every run of one Python."""
    top = Path(sysconfig.get_path("stdlib"))
    files = [*sorted(top.glob("*.py"))]
    for package in _PACKAGES:
        files += sorted((top / package).rglob("*.py"))
    return tuple(
        chunk
        for file in files
        if "test" not in file.relative_to(top).as_posix()
        for chunk in parse(file.read_text(encoding="utf-8"), file.relative_to(top).as_posix())
    )
