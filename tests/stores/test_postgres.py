"""PostgresStore: the conformance suite, and what only a server can get wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from aurora.stores.postgres.store import PostgresStore
from tests.stores.conformance import StoreConformance


@pytest.fixture
def open_store(memory_url: str) -> Iterator[Callable[[], PostgresStore]]:
    opened: list[PostgresStore] = []

    def open_() -> PostgresStore:
        opened.append(PostgresStore.open(memory_url))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


class TestPostgresStore(StoreConformance):
    pass
