"""The memory of growth.py on a PostgreSQL server, which is started for it and ends with it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import growing
import ours
import server
import vectors
from embedders import make_embedder
from ours import LIMIT

from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.postgres.store import PostgresStore
from aurora.types import Mode, Query
from tests.postgres.server import PostgresServer


class KnownVectors:
    """The vectors of the texts, in their order, in place of those that `server.py` draws."""

    def __init__(self) -> None:
        self._vectors, self._at = growing.read_vectors(), 0

    def embedder(self) -> Any:
        return vectors.embedder_of()

    def near(self, paths: Sequence[str]) -> Any:
        self._at += len(paths)
        return self._vectors[self._at - len(paths) : self._at]


def measure(
    size: int, time_all: Callable[[Any, list[str]], dict[str, float]], seconds: Callable[[], float]
) -> dict[str, Any]:
    with (
        PostgresServer(durable=True, settings=server.SETTINGS) as running,
        closing(PostgresStore.create(running.url(), "growth")) as store,
        tempfile.TemporaryDirectory() as folder,
    ):
        meter = server.Meter(store)
        used, clock = seconds() + meter.seconds(), time.perf_counter()
        server.fill(store, growing.chunks(size), KnownVectors())  # type: ignore[arg-type]
        store.ranking.prepare_search()
        indexed = seconds() + meter.seconds() - used
        index_clock = time.perf_counter() - clock
        embedder = make_embedder("aurora:shallow", Path())
        retriever = HybridRetriever(
            store, index_folder=Path(folder), now=lambda: ours.NOW, embedders=lambda _: embedder
        )

        def ask(text: str, mode: Mode = Mode.HYBRID) -> list[str]:
            found = retriever.retrieve(Query(text, LIMIT, mode))
            return [result.chunk.id for result in found.results]

        asked = growing.questions()
        ask(asked[-1])
        before = meter.seconds()
        times = time_all(ask, asked)
        answered = meter.seconds() - before
        used, clock = seconds() + meter.seconds(), time.perf_counter()
        growing.put_changed(store)
        assert growing.WORD in ask(growing.WORD)[0]
        [(disk,)] = store.database.rows("SELECT pg_database_size(current_database())")
        return {
            "index_s": round(indexed, 2),
            "index_clock_s": round(index_clock, 1),
            **times,
            "server_mean_ms": round(1e3 * answered / (2 * len(asked)), 2),
            "update_s": round(seconds() + meter.seconds() - used, 3),
            "update_clock_s": round(time.perf_counter() - clock, 3),
            "disk_mb": round(disk / 1e6, 1),
        }
