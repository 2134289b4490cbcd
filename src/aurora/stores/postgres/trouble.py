"""PostgreSQL's errors as ours: what happened, where, and the next step. Never a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from aurora.errors import (
    NoMemoryError,
    StoreAwayError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
)

BUSY_SECONDS = 10  # how long a writer waits for another one before it gives up
_AWAY = (
    PoolTimeout,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.ConnectionFailure,
    errors.ConnectionDoesNotExist,
    errors.ConnectionException,
    errors.IdleInTransactionSessionTimeout,
)
_SECRET = re.compile(r"(password\s*=\s*)\S+|(//[^:/@\s]*:)[^@\s]*@", re.IGNORECASE)


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Turn the driver's errors into ours, with the server's name and the next step."""
    try:
        yield
    except psycopg.Error as exc:
        raise explained(exc, shown) from exc
    except UnicodeEncodeError as exc:
        raise StoreError(f"{exc.object!r} is not UTF-8", hint="a memory holds only text") from exc


def is_away(exc: BaseException) -> bool:
    """Whether the server, or the way to it, is what failed: the same may work in a moment."""
    if isinstance(exc, _AWAY):
        return True
    return isinstance(exc, psycopg.OperationalError) and exc.sqlstate is None


def explained(exc: psycopg.Error, shown: str) -> StoreError:
    text = plain(exc)
    for words, message, hint in _REFUSALS if exc.sqlstate is None else ():
        if re.search(words, text):
            return StoreError(message.format(shown=shown, text=text), hint=hint)
    if is_away(exc):
        return StoreAwayError(
            f"Cannot reach {shown}: {text}",
            hint="check that the server runs and that host and port are right, then try again; "
            "what was not kept is done again",
        )
    for kinds, message, hint in _EXPLANATIONS:
        if isinstance(exc, kinds):
            error = _CLASSES.get(kinds, StoreError)
            return error(message.format(shown=shown, text=text), hint=hint)
    return StoreError(f"{shown}: {text}", hint="`aur db status` tells how the server is")


def plain(exc: psycopg.Error) -> str:
    """The server's own first words, without what must not be seen."""
    said = (exc.diag.message_primary if exc.diag else None) or str(exc)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Is the server running")] or lines
    return _SECRET.sub(r"\1\2…@", told[-1] if told else type(exc).__name__)


# The driver has no code for what happens while it connects; the words say it.
_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        "does not support SSL|root certificate file|certificate verify failed",
        "{shown} cannot be reached as sslmode in store.url wants it: {text}",
        "have the server speak TLS (`ssl = on`), name its certificate by sslrootcert=FILE, or on a "
        "network that you trust write sslmode=prefer",
    ),
    (
        "password authentication failed|no password supplied",
        "{shown} refuses the password: {text}",
        "set PGPASSWORD, or a line HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass (chmod 600)",
    ),
    (
        "database .* does not exist",
        "{shown}: {text}",
        "make the database first (`createdb NAME`), or correct store.url",
    ),
    (
        "role .* (does not exist|is not permitted)|permission denied for database",
        "{shown} does not let this user in: {text}",
        "correct the user in store.url, or have an administrator make one who may connect",
    ),
    (
        "no pg_hba.conf entry",
        "{shown} lets nobody in from here: {text}",
        "have its administrator add a line for you to pg_hba.conf, or use sslmode=require",
    ),
    (
        "translate host name|name resolution|Name or service not known",
        "{shown} cannot be found: {text}",
        "correct the host in store.url (`aur config get store.url`)",
    ),
)


_Kinds = type[psycopg.Error] | tuple[type[psycopg.Error], ...]
_LOCKED = errors.LockNotAvailable
_DISK = (errors.DiskFull, errors.OutOfMemory)
_READ_ONLY = errors.ReadOnlySqlTransaction
_MISSING = (errors.UndefinedTable, errors.InvalidSchemaName)
_EXPLANATIONS: tuple[tuple[_Kinds, str, str], ...] = (
    (
        _LOCKED,
        f"{{shown}} is in use by another process (waited {BUSY_SECONDS} s)",
        "wait until the other `aur` has finished, then try again",
    ),
    (
        _DISK,
        "{shown} cannot write: {text}",
        "free some space on the server, then try again; nothing half was kept",
    ),
    (
        _READ_ONLY,
        "{shown} can only be read: it is a replica, or set to read-only",
        "name the primary in store.url, too: HOST1,HOST2/… finds it by itself",
    ),
    (
        errors.InsufficientPrivilege,
        "{shown}: {text}",
        "ask its owner for the right: docs/guide/postgresql.md has the exact GRANTs",
    ),
    (_MISSING, "There is no memory yet at {shown}", "make one with `aur db init`"),
    (
        errors.InvalidCatalogName,
        "{shown}: {text}",
        "make the database first (`createdb NAME`), or correct store.url",
    ),
    (
        errors.InvalidPassword,
        "{shown} refuses the password",
        "set PGPASSWORD, or a line HOST:PORT:DATABASE:USER:PASSWORD in ~/.pgpass (chmod 600)",
    ),
    (
        (errors.InvalidAuthorizationSpecification, psycopg.OperationalError),
        "{shown}: {text}",
        "check user, password and database in store.url; PGPASSWORD and ~/.pgpass work, too",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        "{shown} is damaged: {text}",
        "restore it from a backup; `REINDEX` mends an index",
    ),
)
_CLASSES: dict[_Kinds, type[StoreError]] = {
    _LOCKED: StoreBusyError,
    _MISSING: NoMemoryError,
    (errors.DataCorrupted, errors.IndexCorrupted): StoreFormatError,
}
