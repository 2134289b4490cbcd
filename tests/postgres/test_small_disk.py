"""A tablespace on a small disk fills up as a real disk does."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres.server import PostgresServer
from tests.postgres.small_disk import small_disk


def test_a_full_disk_is_an_error_that_loses_nothing_committed(
    own_postgres: PostgresServer,
) -> None:
    with (
        small_disk(own_postgres, mebibytes=4) as disk,
        psycopg.connect(own_postgres.url(), autocommit=True) as connection,
    ):
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk.folder}'")
        connection.execute("CREATE TABLE filled (number int, filler text) TABLESPACE small")
        fill = "INSERT INTO filled SELECT n, repeat('x', 1000) FROM generate_series(1, %s) n"
        connection.execute(fill, [1000])
        with pytest.raises(psycopg.errors.DiskFull):
            connection.execute(fill, [10_000])
        assert connection.execute("SELECT count(*) FROM filled").fetchone() == (1000,)
        with pytest.raises(psycopg.errors.DiskFull):  # what the statement took is not given back
            connection.execute("VACUUM filled")
        disk.grow(32)
        connection.execute(fill, [10_000])
        assert connection.execute("SELECT count(*) FROM filled").fetchone() == (11_000,)
