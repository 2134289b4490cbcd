"""Addresses of a PostgreSQL: what of them may be shown, and what is none. No server is needed."""

from __future__ import annotations

import pytest

from aurora.errors import ConfigError
from aurora.stores.postgres.address import is_postgres, parse_address, without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:secret@db:5433/mem", "ada@db:5433/mem"),
        ("postgresql://ada:s%40cret@db/mem", "ada@db/mem"),
        ("postgresql://ada@db/mem?password=secret", "ada@db/mem"),
        ("postgres://db/mem", "db/mem"),
        ("postgresql://", "localhost/"),
        ("postgresql://ada@", "ada@localhost/ada"),  # a database is called as its user
        ("postgresql:///mem?hostaddr=10.0.0.1", "10.0.0.1/mem"),
        ("postgresql://db/mem?hostaddr=10.0.0.1", "db/mem"),
        ("postgresql://db/mem?user=ada@corp", "ada@corp@db/mem"),
        ("postgresql://a,b:5433/mem", "a,b:5433/mem"),
        ("postgresql://a:1,b:2/mem", "a:1,b:2/mem"),
        ("postgresql://a,b/mem?port=5433", "a:5433,b:5433/mem"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    address = parse_address(url)
    assert (address.url, address.schema) == (url, "aurora")
    assert address.shown == f"postgresql://{shown}"
    assert address.is_several == ("," in shown)
    assert repr(address) == f"Address(postgresql://{shown})"


def test_an_address_of_more_hosts_than_ports_can_be_shown() -> None:
    assert parse_address("postgresql://a,b,c/mem?port=1,2").is_several


def test_another_schema_than_the_usual_is_shown() -> None:
    assert parse_address("postgresql://db/mem", "aurora").shown == "postgresql://db/mem"
    team = parse_address("postgresql://db/mem", "team_1")
    assert (team.schema, team.shown) == ("team_1", "postgresql://db/mem (schema team_1)")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://db/mem",
        "postgresql:/db/mem",
        "postgresql://db/mem?secret",
        "postgresql://ada:se@cret@db/mem",
        "postgresql://ada:se/cret@db/mem",
        "postgresql://ada:secret/1@db",
        "postgresql://ada:1234/cret@db",
        "postgresql://ada:se://cret@db",
        "postgresql://db:secret/mem",
        "postgresql://a:1,b:secret/mem",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    """It may hold a password that was not encoded."""
    with pytest.raises(
        ConfigError, match=r"^This is not the address of a PostgreSQL server"
    ) as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)
    assert "cret" not in caught.value.message
    assert caught.value.hint == (
        "write postgresql://USER@HOST:PORT/DATABASE; in a password, %-encode all but letters and "
        "digits (@ is %40, / is %2F, # is %23, ? is %3F)"
    )
    with pytest.raises(ConfigError, match="not the address"):
        without_password(url)


@pytest.mark.parametrize("schema", ["a", "_", "a" * 63, "team_1", "pgx"])
def test_names_that_a_schema_may_have(schema: str) -> None:
    assert parse_address("postgresql://db/mem", schema).schema == schema


@pytest.mark.parametrize("schema", ["", "Team", "1a", "a" * 64, "pg_temp", "a-b", 'a"b', "a\n"])
def test_names_that_no_schema_has_are_named(schema: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address("postgresql://db/mem", schema)
    assert caught.value.message == f"{schema!r} is not the name of a schema for a memory"
    assert caught.value.hint == "small letters, digits and _, such as `store.schema: my_project`"


def test_a_password_that_has_become_part_of_a_schema_is_not_repeated() -> None:
    """`postgresql://ada:se#cret@db/mem`: what stands behind `#` names a schema."""
    with pytest.raises(ConfigError) as caught:
        parse_address("postgresql://ada:se", "cret@db/mem")
    assert "cret" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"^What stands behind the # is not the name of a schema"):
        parse_address("postgresql://db/mem", "cret@db")


@pytest.mark.parametrize(
    ("url", "bare", "pgpass"),
    [
        ("ada:secret@db:5433/mem", "ada@db:5433/mem", "db:5433:mem:ada"),
        ("ada:secret@db", "ada@db", "db:5432:ada:ada"),
        (":secret@db", "@db", "db:5432:*:USER"),
        ("ada:secret@/mem", "ada@/mem", "localhost:5432:mem:ada"),
        ("ada@db/mem?password=secret", "ada@db/mem", "db:5432:mem:ada"),
        ("ada:secret@db/mem?password=secret", "ada@db/mem", "db:5432:mem:ada"),
        ("db/mem?password=secret&sslmode=require", "db/mem?sslmode=require", "db:5432:mem:USER"),
        (
            "db/mem?sslmode=require&password=secret&application_name=x",
            "db/mem?sslmode=require&application_name=x",
            "db:5432:mem:USER",
        ),
        ("db/mem?sslmode=require&password=x", "db/mem?sslmode=require", "db:5432:mem:USER"),
        ("ada:secret@[::1]:5/mem", "ada@[::1]:5/mem", r"\:\:1:5:mem:ada"),
        ("ada@db/X?password=secret", "ada@db/X", "db:5432:X:ada"),
        ("ada:secret@a,b/mem", "ada@a,b/mem", "*:*:mem:ada"),
        ("ada:secret@a:1,b:2/mem", "ada@a:1,b:2/mem", "*:*:mem:ada"),
    ],
)
def test_a_password_is_cut_out_and_it_is_said_where_it_belongs(
    url: str, bare: str, pgpass: str
) -> None:
    openly = without_password(f"postgresql://{url}")
    assert openly == (f"postgresql://{bare}", f"{pgpass}:PASSWORD")


@pytest.mark.parametrize("url", ["postgresql://ada@db/mem", "postgresql://ada:@db/mem?port=1"])
def test_without_a_password_an_address_stays_as_it_is(url: str) -> None:
    assert without_password(url) == (url, "")


def test_a_password_that_cannot_be_cut_out_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^The password cannot be taken out") as caught:
        without_password("postgresql://ada@db/mem?pass%77ord=secret")
    assert "secret" not in str(caught.value)
    assert caught.value.hint == (
        "write it without one, and put the password into PGPASSWORD or ~/.pgpass"
    )
    with pytest.raises(ConfigError, match="not the name of a schema"):
        without_password("postgresql://ada@db/mem", "No")


def test_addresses_begin_with_either_name() -> None:
    assert is_postgres("postgresql://db")
    assert is_postgres("postgres://db")
    assert not is_postgres("memory.db")
