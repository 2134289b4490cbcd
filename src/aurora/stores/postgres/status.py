"""The state of a server, read query by query, so that one failure hides nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from aurora.errors import AuroraError, StoreError
from aurora.stores.postgres.address import Address
from aurora.stores.postgres.connection import (
    CONNECT_SECONDS,
    Connection,
    Connections,
    explained,
    no_memory,
    plain,
)
from aurora.stores.postgres.migrate import WORDS, extension_version, read_version, require_newest
from aurora.stores.postgres.schema import MIGRATIONS, TRIGRAMS
from aurora.types import Json

_REPLAY = """
    SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn()::text,
        CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
             ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8"""
_OURS = "relnamespace = current_setting('aurora.schema')::regnamespace"
_SIZES = """
    SELECT coalesce(json_object_agg(name, size ORDER BY name), '{{}}') FROM (
        SELECT {name} AS name, sum({size})::bigint AS size
        FROM pg_class LEFT JOIN pg_am ON pg_am.oid = relam
        WHERE relkind = '{kind}' AND {ours} GROUP BY 1) AS sizes"""
_CONNECTIONS = """
    SELECT json_build_object(
        'ours', count(*) FILTER (WHERE application_name LIKE 'aurora%'), 'used', count(*),
        'most', current_setting('max_connections')::int)
    FROM pg_stat_activity WHERE backend_type = 'client backend'"""


@dataclass(slots=True)
class ServerStatus:
    """`answers` has the answers by name, `unanswered` the reasons of missing answers."""

    address: str
    hosts: list[dict[str, Json]] = field(default_factory=list)
    answers: dict[str, Json] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    trouble: AuroraError | None = None  # the reason if the memory cannot be used


def read_status(address: Address) -> ServerStatus:
    status = ServerStatus(address.shown, hosts=list(_hosts(address)))
    connections = Connections(address)
    try:
        with connections.translated(), connections.connect() as connection:
            for name, ask in _QUESTIONS.items():
                try:
                    status.answers[name] = ask(connection)
                except psycopg.Error as exc:
                    status.unanswered[name] = plain(exc)
        require_newest(connections)
        if status.answers.get("schema_version") == 0:
            raise no_memory(address.shown)
        if status.answers.get("pgvector", "") is None:
            raise StoreError(
                f"{address.shown} has lost pgvector", hint="run `CREATE EXTENSION vector` there"
            )
    except AuroraError as exc:
        status.trouble = exc
    finally:
        connections.close()
    return status


def _hosts(address: Address) -> Iterator[dict[str, Json]]:
    """The state of each host, not only of the one that the driver chooses."""
    seen = [_ask_host(address, own) for own in _split(address)]
    primary = next((place for _, place in seen if place is not None), None)
    for host, place in seen:
        if host.get("role") == "standby" and primary is not None and place is None:
            behind = _bytes_of(primary) - _bytes_of(str(host["replayed"]))
            host["lag_bytes"] = max(behind, 0)
        host.pop("replayed", None)
        yield host


def _split(address: Address) -> list[dict[str, str]]:
    """The options of each host: names, addresses and ports are parallel lists."""
    parts = conninfo_to_dict(address.url)
    lists = {
        name: str(parts[name]).split(",")
        for name in ("host", "hostaddr", "port")
        if parts.get(name) is not None
    }
    count = max(map(len, lists.values()), default=1)
    return [
        {name: (values * count)[at] if len(values) == 1 else values[at]
         for name, values in lists.items()}
        for at in range(count)
    ]  # fmt: skip


def _ask_host(address: Address, own: Mapping[str, str]) -> tuple[dict[str, Json], str | None]:
    """The state of one host, and the log position of a primary."""
    name = own.get("host") or own.get("hostaddr") or "localhost"
    host: dict[str, Json] = {"host": f"{name}:{own['port']}" if own.get("port") else name}
    conninfo = make_conninfo(
        address.url, **own, target_session_attrs="any", connect_timeout=CONNECT_SECONDS,
        application_name="aurora",
    )  # fmt: skip
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            standby, replayed, seconds = _one(connection, _REPLAY)
            if not standby:
                (place,) = _one(connection, "SELECT pg_current_wal_lsn()::text")
                return {**host, "role": "primary"}, str(place)
            return {**host, "role": "standby", "replayed": replayed, "lag_seconds": seconds}, None
    except psycopg.Error as exc:
        error = explained(exc, str(host["host"]))
        return {**host, "role": "unknown", "trouble": error.message}, None


def _bytes_of(place: str) -> int:
    high, _, low = place.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def _one(connection: psycopg.Connection[tuple[Json, ...]], sql: str) -> tuple[Json, ...]:
    return connection.execute(sql).fetchone() or ()


def _first(sql: str) -> Callable[[Connection], Json]:
    return lambda connection: _one(connection, sql)[0]


def _sizes(name: str, size: str, kind: str) -> Callable[[Connection], Json]:
    return _first(_SIZES.format(name=name, size=size, kind=kind, ours=_OURS))


def _fact(name: str) -> str:
    return f"SELECT value FROM facts WHERE name = '{name}'"


_QUESTIONS: dict[str, Callable[[Connection], Json]] = {
    "server": _first("SHOW server_version"),
    "encrypted": lambda connection: connection.pgconn.ssl_in_use,
    "checksums": _first("SHOW data_checksums"),
    "pgvector": extension_version,
    "pg_trgm": partial(extension_version, name=TRIGRAMS),
    "schema_version": lambda connection: read_version(connection).schema,
    "newest_schema": lambda _: len(MIGRATIONS),
    "words_are_current": lambda connection: read_version(connection).words == WORDS,
    "chunks": _first("SELECT count(*) FROM chunks"),
    "vectors": _first("SELECT count(*) FROM used_vectors"),
    "compared": _first(
        f"SELECT CASE WHEN count(*) > 0 THEN 'by HNSW' ELSE 'exactly' END FROM pg_class "
        f"JOIN pg_am ON pg_am.oid = relam JOIN pg_index ON indexrelid = pg_class.oid "
        f"WHERE amname = 'hnsw' AND relkind = 'i' AND indisvalid AND {_OURS} "
        f"AND starts_with(relname, 'vectors_' || ({_fact('slot')}))"
    ),
    "partitions": _first(f"SELECT ({_fact('partitions')})::int"),
    "connections": _first(_CONNECTIONS),
    "tables": _sizes("split_part(relname, '_', 1)", "pg_table_size(pg_class.oid)", "r"),
    "indexes": _sizes("amname", "pg_relation_size(pg_class.oid)", "i"),
}
