"""What a PostgreSQL or its driver complains of, as a person is told it. No server is needed."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import PoolTimeout

from aurora.errors import (
    NoMemoryError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreUnreachableError,
)
from aurora.stores.postgres.connection import explained, is_away, plain, translated

SHOWN = "postgresql://ada@db/mem"
REFUSED = 'connection to server at "db" (10.0.0.1), port 5432 failed: FATAL:  '


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("server does not support SSL, but SSL was required", "as sslmode in store", "ssl = on"),
        (f'{REFUSED}password authentication failed for user "ada"', "refuses the password: ",
         "PGPASSWORD"),
        (f'{REFUSED}database "mem" does not exist', f"{SHOWN}: connection", "createdb"),
        (f'{REFUSED}role "ada" does not exist', "does not let this user in: ", "correct the user"),
        (f'{REFUSED}no pg_hba.conf entry for "x"', "accepts no connection from ", "pg_hba.conf"),
        ('could not translate host name "db" to address', "cannot be found: ", "correct the host"),
    ],
)  # fmt: skip
def test_who_is_not_let_in_is_told_why_and_what_to_do(said: str, message: str, hint: str) -> None:
    told = explained(psycopg.OperationalError(said), SHOWN)
    assert type(told) is StoreError
    assert message in told.message
    assert SHOWN in told.message
    assert hint in told.hint
    if ": " in message:
        assert said in told.message


@pytest.mark.parametrize(
    ("exc", "kind", "message", "hint"),
    [
        (errors.LockNotAvailable("x"), StoreBusyError,
         f"{SHOWN} is in use by another process (waited 10 s)", "the other `aur` has finished"),
        (errors.DiskFull("no room"), StoreError, f"{SHOWN} cannot write: no room", "free some"),
        (errors.OutOfMemory("no room"), StoreError, f"{SHOWN} cannot write: no room", "free some"),
        (errors.ReadOnlySqlTransaction("x"), StoreError,
         f"{SHOWN} can only be read: it is a replica, or set to read-only", "name the primary"),
        (errors.InsufficientPrivilege("permission denied for database mem"), StoreError,
         f"{SHOWN}: permission denied for database mem", "aur db grant"),
        (errors.UndefinedTable("x"), NoMemoryError, f"There is no memory yet at {SHOWN}",
         "aur db init"),
        (errors.InvalidSchemaName("x"), NoMemoryError, f"There is no memory yet at {SHOWN}",
         "aur db init"),
        (errors.InvalidCatalogName("no such"), StoreError, f"{SHOWN}: no such", "createdb"),
        (errors.InvalidPassword("x"), StoreError, f"{SHOWN} refuses the password", "PGPASSWORD"),
        (errors.InvalidAuthorizationSpecification("who"), StoreError, f"{SHOWN}: who",
         "check user, password"),
        (errors.TooManyConnections("many"), StoreError, f"{SHOWN}: many", "check user, password"),
        (errors.IndexCorrupted("torn"), StoreFormatError, f"{SHOWN} is damaged: torn", "REINDEX"),
        (errors.SyntaxError("near x"), StoreError, f"{SHOWN}: near x",
         "`aur db status` shows the state of the server"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, psycopg.Error) else "",
)  # fmt: skip
def test_what_a_server_says_no_to_has_a_next_step(
    exc: psycopg.Error, kind: type[StoreError], message: str, hint: str
) -> None:
    told = explained(exc, SHOWN)
    assert (type(told), told.message) == (kind, message)
    assert hint in told.hint


@pytest.mark.parametrize(
    "exc",
    [
        PoolTimeout("x"),
        errors.AdminShutdown("x"),
        errors.CannotConnectNow("x"),
        errors.IdleInTransactionSessionTimeout("x"),
        psycopg.OperationalError("x"),
    ],
    ids=lambda exc: type(exc).__name__,
)
def test_a_server_that_cannot_be_reached_may_be_reached_later(exc: psycopg.Error) -> None:
    assert is_away(exc)
    told = explained(exc, SHOWN)
    assert (type(told), told.message) == (StoreUnreachableError, f"Cannot reach {SHOWN}: x")
    assert told.hint == (
        "check that the server runs and that host and port are right, then try again; "
        "the next run repeats what was not saved"
    )


@pytest.mark.parametrize("exc", [errors.DiskFull("x"), psycopg.DataError("x"), OSError("x")])
def test_a_server_that_answers_is_not_away(exc: Exception) -> None:
    assert not is_away(exc)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("one\n\n  two  \n", "two"),
        ("refused\n\tIs the server running on that host?", "refused"),
        ("Is the server running?", "Is the server running?"),
        ("", "OperationalError"),
        ("no postgresql://ada:s3cret@db/x", "no postgresql://ada:…@db/x"),
    ],
)
def test_of_what_was_said_the_last_line_counts_without_its_secrets(said: str, told: str) -> None:
    assert plain(psycopg.OperationalError(said)) == told


@pytest.mark.parametrize("said", ["host=db password=s3cret dbname=x", "PASSWORD = s3cret"])
def test_a_password_is_cut_out_of_what_was_said(said: str) -> None:
    told = plain(psycopg.OperationalError(said))
    assert "s3cret" not in told
    assert told.startswith(said.partition("s3cret")[0])
    assert told.endswith(said.partition("s3cret")[2])


def test_errors_are_ours_with_the_drivers_as_their_cause() -> None:
    cause = errors.DiskFull("no room")
    with pytest.raises(StoreError, match="mem cannot write: no room") as caught, translated(SHOWN):
        raise cause
    assert caught.value.__cause__ is cause
    with pytest.raises(StoreError, match=r"'\\ud800' is not UTF-8") as caught, translated(SHOWN):
        "\ud800".encode()
    assert caught.value.hint == "a memory holds only text"
