"""Opening a memory: who listens is told when the first reading will take long."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from aurora.engine import location
from aurora.engine.location import SqliteLocation
from aurora.types import Event, Note


def told(path: Path) -> list[Event]:
    events: list[Event] = []
    with closing(SqliteLocation(path).open(events.append)) as store:
        store.generation()
    return events


def test_a_large_file_that_is_not_as_it_was_left_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    assert told(path) == []  # a new one is small
    os.utime(path)
    assert told(path) == []
    monkeypatch.setattr(location, "_LARGE", 100_000)
    assert told(path) == []  # it was checked, and is sealed
    os.utime(path)
    assert told(path) == [Note("Checking 0 MiB for damage: the file changed outside of Aurora...")]
