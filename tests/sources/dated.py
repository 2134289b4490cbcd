"""Repositories whose commits have days of January as dates, and questions about their lines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from aurora.sources.blame.history import FileHistory, History
from aurora.sources.blame.replay import LineHistory
from aurora.types import ChunkHistory, Lines
from tests.builders import write_tree
from tests.sources.repository import git, make_repository

TEN = "".join(f"line {number}\n" for number in range(1, 11))
ALL = Lines(1, 10)


class Told(NamedTuple):
    """A chunk's history as it is shown."""

    commits: int
    last_modified: datetime | None
    uncommitted: bool = False


def told(history: ChunkHistory) -> Told:
    return Told(len(history.commits), history.last_modified, history.uncommitted)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def start(root: Path, files: dict[str, str | bytes]) -> Path:
    """A repository with these files committed on the first day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_DATE", day(1).isoformat())
        return make_repository(root, files)


def commit(root: Path, number: int, files: dict[str, str | bytes] | None = None) -> None:
    """Everything on disk, committed on a day of January; the committer's clock is a year ahead."""
    write_tree(root, files or {})
    git(root, "add", "--all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_DATE", day(number).isoformat())
        patch.setenv("GIT_COMMITTER_DATE", day(number).replace(year=2027).isoformat())
        git(root, "commit", "--quiet", "--message", f"day {number}")


def ask(root: Path, path: str, way: int = 0) -> FileHistory:
    return History(root, cache=None, blame_at_most=way).of([path])[path]


def touching(root: Path, path: str, lines: Lines = ALL, way: int = 0) -> Told:
    found = ask(root, path, way)
    assert isinstance(found, LineHistory), found
    return told(found.touching(lines))
