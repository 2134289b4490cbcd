"""Fresh databases with pgvector on one server, as cheap as they come."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg

from aurora.stores.postgres.store import PostgresStore
from tests.postgres.processes import PATIENCE
from tests.postgres.server import PostgresServer


class Databases:
    """A database of its own for each test. `template0` is the one without pgvector."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = itertools.count()
        self._templates: set[str] = set()
        with psycopg.connect(server.url("template1"), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self._connection = psycopg.connect(server.url(), autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def prepare(
        self, template: str, fill: Callable[[str], None], *, source: str = "template1"
    ) -> str:
        """Have a database filled, once, to make others of; nobody may be connected to it later."""
        if template not in self._templates:
            self._connection.execute(f"CREATE DATABASE {template} TEMPLATE {source}")
            fill(self._server.url(template))
            self._empty(template)
            self._templates.add(template)
        return template

    def memory(self, partitions: int = 0) -> AbstractContextManager[str]:
        """A new database that has the tables of a memory already."""

        def fill(url: str) -> None:
            PostgresStore.create(url, partitions=partitions).close()

        return self.fresh(self.prepare(f"memory_{partitions}", fill))

    @contextmanager
    def fresh(self, template: str = "template1") -> Iterator[str]:
        """The address of a new database, which is dropped whoever may still be connected to it."""
        name = f"test_{next(self._numbers)}"
        # 10 ms in memory; copying by way of the log takes 17.
        self._connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        try:
            yield self._server.url(name)
        finally:
            self._empty(name)
            self._connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _empty(self, name: str) -> None:
        """Ends what is connected. DROP does so too, but rests for 100 ms before it looks again."""
        deadline = time.monotonic() + PATIENCE
        statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        while self._connection.execute(statement, [name]).fetchall():
            if time.monotonic() > deadline:
                break  # DROP says who it is
            time.sleep(0.001)
