"""The servers that other tests stand on are what those tests think they are."""

from __future__ import annotations

import psycopg
import pytest


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]


def test_the_server_is_postgresql_18_with_pgvector_8(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.info.server_version >= 180_000
    version = ask(postgres_url, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    assert tuple(map(int, str(version).split("."))) >= (0, 8)


@pytest.mark.parametrize("run", ["first", "second"])
def test_each_test_has_a_database_of_its_own(postgres_url: str, run: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE only_mine (run text)")
        connection.execute("INSERT INTO only_mine VALUES (%s)", [run])
    assert ask(postgres_url, "SELECT string_agg(run, ' ') FROM only_mine") == run
