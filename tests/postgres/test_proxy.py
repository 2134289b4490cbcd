"""The wire between client and server breaks when a test says so, and is whole again."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres.proxy import Proxy
from tests.postgres.server import PostgresServer


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[Proxy]:
    with Proxy(postgres.port) as proxy:
        yield proxy


def test_a_cut_wire_drops_connections_and_new_ones_until_it_is_mended(
    postgres: PostgresServer, proxy: Proxy
) -> None:
    url = postgres.url(port=proxy.port)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match=r"closed the connection|reset by peer"):
        psycopg.connect(url)
    proxy.mend()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 2").fetchone() == (2,)


def test_a_stalled_wire_forwards_nothing_until_it_is_mended(
    postgres: PostgresServer, proxy: Proxy
) -> None:
    with psycopg.connect(postgres.url(port=proxy.port)) as connection:
        proxy.stall()
        answers: list[object] = []
        thread = threading.Thread(
            target=lambda: answers.append(connection.execute("SELECT 1").fetchone())
        )
        thread.start()
        thread.join(timeout=0.2)
        assert answers == []
        proxy.mend()
        thread.join()
        assert answers == [(1,)]


def test_a_wire_with_no_server_behind_it_breaks_at_once(own_postgres: PostgresServer) -> None:
    with Proxy(own_postgres.port) as proxy:
        own_postgres.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(own_postgres.url(port=proxy.port))
