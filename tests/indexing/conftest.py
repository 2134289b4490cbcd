"""A folder to index and a memory to index it into, without the user's own git settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.stores.sqlite.store import SQLiteStore
from tests.sources.repository import own_git

__all__ = ["own_git"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    opened = SQLiteStore(tmp_path / "memory" / "memory.db")
    yield opened
    opened.close()
