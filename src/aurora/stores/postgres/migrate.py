"""Creates the tables of a memory and migrates them, each step in one transaction."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg import sql

from aurora.errors import StoreError, StoreFormatError
from aurora.package_manager import upgrade_command
from aurora.stores.postgres.schema import (
    LEAST_SERVER,
    LEAST_VECTORS,
    MIGRATIONS,
    TRIGRAMS,
    VECTORS,
    statements_of,
)
from aurora.text import CHUNK_TEXT_VERSION, TERMS_VERSION, TOKENIZER_VERSION

if TYPE_CHECKING:
    from aurora.stores.postgres.connection import Connection, Connections

# The version of the words of all chunks.
_ROWS_VERSION = 1  # raise it when a row of the table `words` has other columns
WORDS = f"{TOKENIZER_VERSION}.{CHUNK_TEXT_VERSION}.{TERMS_VERSION}.{_ROWS_VERSION}"
LOCK = 0x41555241  # "AURA": the first key of Aurora's advisory locks

# Reads the catalogue, because `to_regclass` caches a missing table while it waits for a lock.
_HAS_FACTS = """
    SELECT nspname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relname = 'facts' AND nspname = current_setting('aurora.schema')"""


class Version(NamedTuple):
    """The version of the tables, 0 if there are none, and of the words."""

    schema: int
    words: str = WORDS

    @property
    def is_older(self) -> bool:
        """Whether a migration is needed."""
        return 0 < self.schema < len(MIGRATIONS) or (self.schema > 0 and self.words != WORDS)


def read_version(connection: Connection) -> Version:
    """The version of the connection's schema, which may not exist."""
    row = connection.execute(_HAS_FACTS).fetchone()
    if row is None:
        return Version(0)
    # By its full name: without permission, the search path would skip the schema silently.
    return _version(connection, sql.Identifier(row[0], "facts"))


def _version(connection: Connection, facts: sql.Composable) -> Version:
    query = sql.SQL("SELECT name, value FROM {}").format(facts)
    values: dict[str, str] = dict(connection.execute(query).fetchall())
    return Version(int(values.get("schema", 0)), values.get("words", ""))


def require_newest(connections: Connections) -> None:
    """Raise `StoreFormatError` if the tables are newer than this program, or need a migration."""
    version, shown = current_version(connections), connections.address.shown
    require_known(version, shown)
    if version.is_older:
        raise StoreFormatError(
            f"{shown} was written by an older Aurora",
            hint="`aur db migrate` brings it up to date, for all its users",
        )


def require_same(connection: Connection, shown: str) -> None:
    """Raise if a newer program migrated the memory after this one opened it."""
    require_known(_version(connection, sql.Identifier("facts")), shown)


def current_version(connections: Connections) -> Version:
    # Outside the pool, which would wait for a missing server.
    with connections.translated(), connections.connect() as connection:
        return read_version(connection)


def require_known(version: Version, shown: str) -> None:
    """Raise if a newer program wrote the memory."""
    if version.schema > len(MIGRATIONS):
        raise StoreFormatError(
            f"{shown} was written by a newer Aurora "
            f"(schema {version.schema}, this one knows {len(MIGRATIONS)})",
            hint=f"upgrade with `{upgrade_command()}`, or start a server again "
            "that ran meanwhile; nothing was touched",
        )
    if version.schema and _numbers(version.words) > _numbers(WORDS):
        raise StoreFormatError(
            f"The words of {shown} were made by a newer Aurora ({version.words}, not {WORDS})",
            hint=f"upgrade with `{upgrade_command()}`; nothing was touched",
        )


def _numbers(words: str) -> list[int]:
    return [int(part) for part in words.split(".") if part.isdecimal()]


def migrate(connections: Connections, *, partitions: int = 0) -> list[str]:
    """Create the tables or migrate them; returns the names of the steps taken.

    The number of `partitions` by namespace cannot be changed later.
    """
    shown = connections.address.shown
    with connections.translated(), connections.connect(to_write=True) as connection:
        _require_server(connection, shown)
        with connection.transaction():
            _lock(connection)
            done = [*_make_extension(connection, shown), *_make_schema(connection, connections)]
            _make_trigrams(connection)
            current = read_version(connection)
            require_known(current, shown)
            if current.schema and partitions and partitions != _partitions(connection):
                raise StoreError(
                    f"{shown} has {_partitions(connection)} partitions, which cannot be changed",
                    hint="make another memory with `aur db init --schema NAME --partitions N`, "
                    "then `aur mem copy` this one into it",
                )
        for number, migration in enumerate(MIGRATIONS, start=1):
            with connection.transaction():
                _lock(connection)
                # Read inside the lock: another process may have migrated meanwhile.
                version = read_version(connection).schema
                if version > len(MIGRATIONS):
                    break
                if version >= number:
                    continue
                split = _partitions(connection) if version else partitions
                for statement in statements_of(migration, split):
                    connection.execute(statement)
                _remember(connection, number, split)
                done.append(migration.name)
    return done


def _make_schema(connection: Connection, connections: Connections) -> list[str]:
    name = connections.address.schema
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (name,)).fetchone():
        return []
    try:
        with connection.transaction():
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    except psycopg.errors.InsufficientPrivilege as exc:
        info = connection.info
        raise StoreError(
            f"{connections.address.shown}: {info.user} may not make the schema {name}",
            hint=f'have its owner run `GRANT CREATE ON DATABASE "{info.dbname}" TO "{info.user}"`, '
            f'or `CREATE SCHEMA {name} AUTHORIZATION "{info.user}"`',
        ) from exc
    return [f"schema {name}"]


def _remember(connection: Connection, number: int, partitions: int) -> None:
    new = {"identity": secrets.token_hex(16), "words": WORDS, "partitions": str(partitions)}
    connection.cursor().executemany(
        "INSERT INTO facts VALUES (%s, %s) ON CONFLICT DO NOTHING", list(new.items())
    )
    connection.execute(
        "INSERT INTO facts VALUES ('schema', %s) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (str(number),),
    )


def _partitions(connection: Connection) -> int:
    row = connection.execute("SELECT value FROM facts WHERE name = 'partitions'").fetchone()
    return int(row[0]) if row else 0


def _lock(connection: Connection) -> None:
    connection.execute(
        "SELECT pg_advisory_xact_lock(%s, hashtext(current_setting('aurora.schema')))", (LOCK,)
    )


def _require_server(connection: Connection, shown: str) -> None:
    version = connection.info.server_version // 10_000
    if version < LEAST_SERVER:
        raise StoreError(
            f"{shown} is PostgreSQL {version}", hint=f"a memory needs {LEAST_SERVER} or newer"
        )
    row = connection.execute("SHOW server_encoding").fetchone()
    if row is None or row[0] != "UTF8":
        raise StoreError(
            f"{shown} is a database in {row[0] if row else 'no known encoding'}",
            hint="make one with `createdb --encoding UTF8 --template template0 NAME`",
        )


def _make_extension(connection: Connection, shown: str) -> list[str]:
    """Create pgvector if it is missing, and check its version."""
    is_new, version = False, extension_version(connection)
    if version is None:
        try:
            with connection.transaction():
                connection.execute(f"CREATE EXTENSION IF NOT EXISTS {VECTORS} SCHEMA public")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as exc:
            raise StoreError(
                f"{shown} has no pgvector",
                hint="install it on the server's machine (Debian: `apt install "
                f"postgresql-{connection.info.server_version // 10_000}-pgvector`), "
                "then run `aur db init` again",
            ) from exc
        except psycopg.errors.InsufficientPrivilege as exc:
            raise StoreError(
                f"{shown} has no pgvector yet, and this user may not add it",
                hint="have an administrator run `CREATE EXTENSION vector` in the database "
                f"{connection.info.dbname}, then run `aur db init` again",
            ) from exc
        is_new, version = True, extension_version(connection)
    if version is None or tuple(map(int, version.split(".")[:2])) < LEAST_VECTORS:
        least = ".".join(map(str, LEAST_VECTORS))
        raise StoreError(
            f"{shown} has pgvector {version}",
            hint=f"a memory needs {least}: install it, then `ALTER EXTENSION vector UPDATE`",
        )
    return [f"pgvector {version}"] if is_new else []


def _make_trigrams(connection: Connection) -> None:
    """Create pg_trgm if this user may: without it, a search for parts of words reads all words."""
    with (
        suppress(
            psycopg.errors.FeatureNotSupported,
            psycopg.errors.UndefinedFile,
            psycopg.errors.InsufficientPrivilege,
        ),
        connection.transaction(),
    ):
        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {TRIGRAMS} SCHEMA public")


def extension_version(connection: Connection, name: str = VECTORS) -> str | None:
    row = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = %s", (name,)
    ).fetchone()
    return str(row[0]) if row else None
