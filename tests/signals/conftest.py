"""What the tests of merging share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.signals.merging import FOUR, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.store.chunks.put_chunks(FOUR)
    yield bench
    bench.store.close()
