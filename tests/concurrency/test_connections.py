"""A server's threads come and go: each takes what it opened along when it ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from aurora.stores.sqlite.store import SQLiteStore
from tests.builders import make_chunk
from tests.threads import together


@pytest.fixture
def no_collector() -> Iterator[None]:
    """In a process that has loaded much it comes so rarely that nobody may rely on it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_thread_that_ended_leaves_no_file_open(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        store.chunks.put_chunks([make_chunk()])
        together(1, store.chunks.count_chunks)
        before = psutil.Process().num_fds()

        for _ in range(20):
            together(1, store.chunks.count_chunks)

        assert psutil.Process().num_fds() <= before
