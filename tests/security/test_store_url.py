"""The password of a database's address is not shown, logged or written, whatever its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.config.schema import StoreSettings
from aurora.engine.location import PostgresLocation, parse_place
from aurora.errors import ConfigError
from tests.cli.conftest import Shell

SECRET = "hunt" + "er2"
WRONG = [  # no address here: each is refused
    f"host=db.invalid user=ada password={SECRET} dbname=team",
    f"host=db.invalid password='a {SECRET}' dbname=team",
    f"password = {SECRET} host=db.invalid",
    f"sslpassword={SECRET} host=db.invalid",
    f"user=ada;PASSWORD={SECRET}",
    f"postgresql://ada:a {SECRET}@db.invalid/team",
    f"postgresql:// password={SECRET}",
    f"//ada:{SECRET}@db.invalid/team",
    f"ada:{SECRET}@db.invalid/team",
]
RIGHT = [f"postgresql://ada:{SECRET}@db.invalid/team", f"postgres:///team?password=a {SECRET}&x=1"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "project").mkdir()
    shell = Shell(tmp_path / "project", tmp_path / "home", {"AURORA_EMBEDDING_PROVIDER": "none"})
    shell.ok("init")
    return shell


def written(shell: Shell) -> list[Path]:
    """Files of the project and of the home that hold the secret, or are named after it."""
    files = [*shell.cwd.rglob("*"), *shell.home.rglob("*")]
    named = [file for file in files if SECRET in file.name]
    return named + [
        file for file in files if file.is_file() and SECRET in file.read_text("latin-1")
    ]


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_address_is_refused_and_not_repeated(shell: Shell, url: str) -> None:
    refused = [
        shell.fails("db", "init", url),
        shell.fails("config", "set", "store.url", url),
        shell.fails("mem", "copy", "--to", url),
        shell.fails("-c", f"store.url={url}", "mem", "stats"),
    ]
    shell.environ["AURORA_STORE_URL"] = url
    refused += [shell.fails("mem", "stats"), shell.fails("config", "get", "store.url")]
    doctor = shell.run("doctor")

    assert SECRET not in "".join([*refused, doctor.stdout, doctor.stderr])
    assert "store.url: Must be postgresql://" in refused[-1]
    assert written(shell) == []


@pytest.mark.parametrize("url", RIGHT)
def test_an_address_is_shown_without_its_password(shell: Shell, url: str) -> None:
    shell.environ["AURORA_STORE_URL"] = url
    said = [shell.run(*words) for words in (("config", "get"), ("doctor",), ("mem", "stats"))]

    assert SECRET not in "".join(done.stdout + done.stderr for done in said)
    assert "store.url = postgres" in said[0].stdout
    assert written(shell) == []


def test_no_repr_shows_an_address() -> None:
    for url in RIGHT:
        assert SECRET not in repr(StoreSettings(url=url)) + repr(PostgresLocation(url, "aurora"))


def test_a_place_is_a_file_or_an_address() -> None:
    for word in WRONG:
        with pytest.raises(ConfigError) as refused:
            str(parse_place(word).name)
        assert SECRET not in str(refused.value)
    assert parse_place("notes@home:9.db").name == Path("notes@home:9.db")
