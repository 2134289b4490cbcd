"""Lets other roles of the server read or write one memory: `aur db grant` and `aur db revoke`.

A reader may select, a writer also insert, update and delete, in all tables of the schema. Tables
that the owner makes later get the same rights. Only the owner can alter or drop a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from aurora.errors import StoreError
from aurora.stores.postgres.address import Address
from aurora.stores.postgres.connection import Connection, Connections, no_memory
from aurora.stores.postgres.migrate import LOCK, read_version

_OWNER = """
    SELECT rolname, pg_has_role(relowner, 'USAGE')
    FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner
    WHERE relname = 'facts' AND relnamespace = current_setting('aurora.schema')::regnamespace"""
_ROLE = """
    SELECT pg_has_role(rolname, %s, 'USAGE'),
        has_database_privilege(rolname, current_database(), 'CONNECT')
    FROM pg_roles WHERE rolname = %s"""
_LATER = "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}"
_READER = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role}",
    f"{_LATER} GRANT SELECT ON TABLES TO {{role}}",
    f"{_LATER} GRANT EXECUTE ON FUNCTIONS TO {{role}}",
)
_WRITER = (
    *_READER,
    "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
    f"{_LATER} GRANT INSERT, UPDATE, DELETE ON TABLES TO {{role}}",
    f"{_LATER} GRANT USAGE ON SEQUENCES TO {{role}}",
)
_OBJECTS = ("TABLES", "SEQUENCES", "FUNCTIONS")
_NOTHING = (
    *(f"REVOKE ALL ON ALL {objects} IN SCHEMA {{schema}} FROM {{role}}" for objects in _OBJECTS),
    *(f"{_LATER} REVOKE ALL ON {objects} FROM {{role}}" for objects in _OBJECTS),
    "REVOKE ALL ON SCHEMA {schema} FROM {role}",
)


def grant(address: Address, role: str, *, writes: bool) -> None:
    """Let an existing role read the memory, or with `writes` change what it holds, and no more.

    A writer that becomes a reader loses its other rights.
    """
    with _changing(address) as (connection, owner):
        can_do_all, can_connect = _role(connection, address, role, owner)
        if can_do_all:
            raise StoreError(
                f"{role} can do everything in {address.shown}: it is the owner {owner}, a member "
                "of it, or an administrator",
                hint='name another role; make one with `CREATE ROLE "NAME" LOGIN`',
            )
        statements = (*_NOTHING, *(_WRITER if writes else _READER))
        _run(connection, address, role, owner, statements)
        if not can_connect:
            _let_connect(connection, role)


def revoke(address: Address, role: str) -> None:
    """Take all rights in the memory from a role. It may still connect to the database."""
    with _changing(address) as (connection, owner):
        _role(connection, address, role, owner)
        _run(connection, address, role, owner, _NOTHING)


def _let_connect(connection: Connection, role: str) -> None:
    names = sql.Identifier(connection.info.dbname), sql.Identifier(role)
    statement = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(*names)
    try:
        connection.execute(statement)
    except InsufficientPrivilege as exc:
        raise StoreError(
            f"{role} may not connect to the database {connection.info.dbname}",
            hint=f"have its owner run: {statement.as_string(connection)}",
        ) from exc


@contextmanager
def _changing(address: Address) -> Iterator[tuple[Connection, str]]:
    """A transaction of the memory's owner, and the owner's name."""
    connections = Connections(address)
    with connections.translated(), connections.connect(to_write=True) as connection:
        if not read_version(connection).schema:
            raise no_memory(address.shown)
        with connection.transaction():
            lock = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
            connection.execute(lock, (LOCK, address.schema))
            row = connection.execute(_OWNER).fetchone()
            if row is None:
                raise no_memory(address.shown)
            owner, is_owner = row
            if not is_owner:
                raise StoreError(
                    f"{connection.info.user} does not own {address.shown} and cannot grant rights",
                    hint=f"connect as {owner}, which owns it: the user in store.url",
                )
            yield connection, owner


def _role(connection: Connection, address: Address, role: str, owner: str) -> tuple[bool, bool]:
    """Whether a role can do all that the owner can, and whether it may connect."""
    row = connection.execute(_ROLE, (owner, role)).fetchone() if "\0" not in role else None
    if row is None:
        quoted = sql.Identifier(role.replace("\0", "")).as_string(connection)
        raise StoreError(
            f"There is no role {role!r} on the server of {address.shown}",
            hint=f"make it first, as an administrator: CREATE ROLE {quoted} LOGIN PASSWORD '…'",
        )
    can_do_all, can_connect = row
    return bool(can_do_all), bool(can_connect)


def _run(
    connection: Connection, address: Address, role: str, owner: str, statements: Sequence[str]
) -> None:
    names = {"schema": address.schema, "role": role, "owner": owner}
    quoted = {key: sql.Identifier(name) for key, name in names.items()}
    for statement in statements:
        connection.execute(sql.SQL(statement).format(**quoted))
