"""`aur db`: a memory on a real server, and everything that can be wrong with one."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from aurora.stores.postgres.schema import MIGRATIONS
from aurora.stores.postgres.store import PostgresStore
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import Shell
from tests.cli.test_bad_input import error_and_hint
from tests.postgres.databases import Databases
from tests.postgres.places import find_free_port
from tests.postgres.server import PostgresServer

pytestmark = pytest.mark.one_store("each test names the stores it is about")


@pytest.fixture
def project(shell: Shell) -> Shell:
    shell.ok("init")
    return shell


@pytest.fixture
def stranger(postgres: PostgresServer) -> Iterator[tuple[str, str]]:
    """A role that may connect, and nothing else: its name and password."""
    name, password = f"stranger_{secrets.token_hex(4)}", secrets.token_hex(8)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        yield name, password
        connection.execute(f"DROP OWNED BY {name}")
        connection.execute(f"DROP ROLE {name}")


def password_of(url: str) -> str:
    return str(urlsplit(url).password)


def as_user(url: str, user: tuple[str, str]) -> str:
    parts = urlsplit(url)
    return parts._replace(
        netloc=f"{user[0]}:{user[1]}@{parts.hostname}:{parts.port}"
    ).geturl()  # fmt: skip


def config_of(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "config.yml"


# Making one


def test_a_memory_from_nothing(project: Shell, postgres_url: str) -> None:
    project.environ["PGPASSWORD"] = password_of(postgres_url)
    done = project.run("db", "init", postgres_url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Made schema aurora, m001_create_memory, m002_")
    bare = postgres_url.replace(f":{password_of(postgres_url)}", "")
    assert config_of(project).read_text() == f'store:\n  url: "{bare}"\n'
    host = urlsplit(postgres_url)
    line = f"{host.hostname}:{host.port}:{host.path[1:]}:postgres:PASSWORD"
    assert line in done.stderr
    assert "chmod 600" in done.stderr
    assert project.ok("mem", "index", ".").startswith("Indexing complete!")
    assert "authenticate_user" in project.ok("mem", "search", "authenticate_user")
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM aurora.chunks").fetchone() == (7,)
    again = project.ok("db", "init")
    assert again.startswith("All of it was there already\n")


def test_outside_a_project_the_address_is_the_users(
    tmp_path: Path, shell: Shell, memory_url: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    done = shell.run("db", "init", memory_url, "--schema", "api", cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    written = (shell.home / "config.yml").read_text()
    assert "schema: api" in written
    assert password_of(memory_url) not in written


def test_settings_can_be_left_alone(project: Shell, postgres_url: str) -> None:
    project.ok("db", "init", postgres_url, "--no-config")
    assert not config_of(project).exists()
    assert not (project.home / "config.yml").exists()


def test_a_file_that_came_with_a_clone_is_not_approved_by_the_way(
    project: Shell, memory_url: str
) -> None:
    write_tree(project.cwd, {".aurora/config.yml": "llm:\n  endpoint: http://evil.example/v1\n"})
    done = project.run("db", "init", memory_url)
    assert done.returncode == 0, done.stderr
    assert "aur config approve" in done.stderr
    assert "evil.example" not in project.ok("config", "get", "llm.endpoint")
    assert "Ignored store.url" in project.run("mem", "stats").stderr


def test_a_file_that_chooses_nothing_is(project: Shell, memory_url: str) -> None:
    write_tree(project.cwd, {".aurora/config.yml": "search:\n  mode: keyword  # quick\n"})
    project.environ["PGPASSWORD"] = password_of(memory_url)
    assert "Ignored" not in project.run("db", "init", memory_url).stderr
    assert "mode: keyword  # quick" in config_of(project).read_text()
    assert '"kind": "postgresql"' in project.ok("db", "status", "--json")


def test_partitions_are_for_good(project: Shell, postgres_url: str) -> None:
    project.ok("db", "init", postgres_url, "--partitions", "3", "--no-config")
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'aurora.chunks'::regclass"
        ).fetchone()
    assert found == (3,)
    words = ("db", "init", postgres_url, "--partitions", "4")
    error, hint = error_and_hint(project.fails(*words))
    assert "has 3 partitions" in error
    assert "aur mem copy" in hint
    assert not config_of(project).exists()


def test_without_any_address(project: Shell) -> None:
    error, hint = error_and_hint(project.fails("db", "init"))
    assert "No server is named" in error
    assert "aur db init postgresql://" in hint


# Telling how it is


def test_status_of_a_file(indexed: Shell) -> None:
    assert indexed.ok("db", "status").startswith("The memory is a file: ")
    told = json.loads(indexed.ok("db", "status", "--json"))
    assert told["kind"] == "sqlite"
    assert told["schema_version"] == told["newest_schema"]
    assert "brings it up to date by itself" in indexed.ok("db", "migrate")


def test_status_of_a_server(project: Shell, memory_url: str) -> None:
    project.environ["AURORA_STORE_URL"] = memory_url
    project.ok("mem", "index", ".")
    text = project.ok("db", "status")
    for line in (
        "primary",
        "PostgreSQL 1",
        "with checksums",
        f"{len(MIGRATIONS)}, the newest",
        "exactly",
        "gin",
    ):
        assert line in text
    told = json.loads(project.ok("db", "status", "--json"))
    assert (told["usable"], told["error"], told["untold"]) == (True, None, {})
    assert (told["chunks"], told["partitions"], told["compared"]) == (7, 0, "exactly")
    assert told["hosts"] == [{"host": told["hosts"][0]["host"], "role": "primary"}]
    assert {"chunks", "words", "vectors"} <= told["tables"].keys()
    assert {"gin", "btree"} <= told["indexes"].keys()
    assert told["connections"]["ours"] >= 1


def test_status_where_there_is_no_memory(project: Shell, postgres_url: str) -> None:
    project.environ["AURORA_STORE_URL"] = postgres_url
    done = project.run("db", "status")
    assert done.returncode == 2
    assert "no memory yet" in done.stdout
    assert "unknown: " in done.stdout
    assert "aur db init" in error_and_hint(done.stderr)[1]
    told = json.loads(project.run("db", "status", "--json").stdout)
    assert told["usable"] is False
    assert told["server"].startswith("1")


def test_status_of_a_primary_and_its_standby(project: Shell, own_postgres: PostgresServer) -> None:
    PostgresStore.create(own_postgres.url()).close()
    standby = own_postgres.make_standby()
    try:
        gone = find_free_port()
        hosts = f"127.0.0.1:{own_postgres.port},127.0.0.1:{standby.port},127.0.0.1:{gone}"
        url = f"postgresql://postgres:{own_postgres.password}@{hosts}/postgres"
        project.environ["AURORA_STORE_URL"] = url
        standby.catch_up(own_postgres)
        first, second, third = json.loads(project.ok("db", "status", "--json"))["hosts"]
        assert first["role"] == "primary"
        assert (second["role"], second["lag_bytes"]) == ("standby", 0)
        assert third["role"] == "unknown"
        assert "Connection refused" in third["trouble"]
        with psycopg.connect(standby.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
        store = PostgresStore.open(own_postgres.url())
        store.chunks.put_chunks([make_chunk()])
        store.close()
        second = json.loads(project.ok("db", "status", "--json"))["hosts"][1]
        assert second["lag_bytes"] > 0
        assert "behind by" in project.ok("db", "status")
    finally:
        standby.close()


# Everything that can be wrong


def test_a_server_that_is_away(project: Shell) -> None:
    url = f"postgresql://ada:secret@127.0.0.1:{find_free_port()}/team"
    for words in (("db", "init", url), ("mem", "search", "x"), ("db", "migrate")):
        project.environ["AURORA_STORE_URL"] = url
        stderr = project.fails(*words)
        error, hint = error_and_hint(stderr)
        assert "Cannot reach postgresql://ada@127.0.0.1" in error
        assert "Connection refused" in error
        assert "check that the server runs" in hint
        assert "secret" not in stderr
    done = project.run("db", "status")
    assert (done.returncode, "Connection refused" in done.stdout) == (2, True)


def test_a_wrong_password(project: Shell, postgres: PostgresServer) -> None:
    url = as_user(postgres.url(), ("postgres", "hunter2-wrong"))
    for words in (("db", "init", url), ("mem", "stats")):
        project.environ["AURORA_STORE_URL"] = url
        stderr = project.fails(*words)
        error, hint = error_and_hint(stderr)
        assert "refuses the password" in error
        assert "~/.pgpass" in hint
        assert "hunter2" not in stderr


def test_no_such_database(project: Shell, postgres: PostgresServer) -> None:
    error, hint = error_and_hint(project.fails("db", "init", postgres.url("nowhere")))
    assert '"nowhere" does not exist' in error
    assert "createdb" in hint


def test_no_such_host(project: Shell) -> None:
    url = "postgresql://ada@no-such-host.invalid/team"
    error, hint = error_and_hint(project.fails("db", "init", url))
    assert "cannot be found" in error
    assert "store.url" in hint


def test_a_server_without_tls(project: Shell, memory_url: str) -> None:
    error, hint = error_and_hint(project.fails("db", "init", f"{memory_url}?sslmode=require"))
    assert "sslmode" in error
    assert "does not support SSL" in error
    assert "ssl = on" in hint


def test_no_pgvector_and_no_right_to_add_it(
    project: Shell, postgres_databases: Databases, stranger: tuple[str, str]
) -> None:
    with postgres_databases.fresh(template="template0") as url:
        error, hint = error_and_hint(project.fails("db", "init", as_user(url, stranger)))
        assert "may not add it" in error
        assert "CREATE EXTENSION vector" in hint


def test_pgvector_is_not_installed(project: Shell, postgres_databases: Databases) -> None:
    with postgres_databases.fresh(template="template0") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET extension_control_path = '/nowhere'")
        error, hint = error_and_hint(project.fails("db", "init", url))
        assert "has no pgvector" in error
        assert "pgvector" in hint
        assert "apt install postgresql-" in hint


def test_no_right_to_make_a_schema(
    project: Shell, stranger: tuple[str, str], postgres_url: str
) -> None:
    error, hint = error_and_hint(project.fails("db", "init", as_user(postgres_url, stranger)))
    assert "may not make the schema aurora" in error
    assert "GRANT CREATE ON DATABASE" in hint
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        said = hint.split("`")[1]
        connection.execute(said)
    assert project.run("db", "init", as_user(postgres_url, stranger)).returncode == 0


def test_no_right_to_read(project: Shell, memory_url: str, stranger: tuple[str, str]) -> None:
    project.environ["AURORA_STORE_URL"] = as_user(memory_url, stranger)
    error, hint = error_and_hint(project.fails("mem", "stats"))
    assert "permission denied" in error
    assert "aur db grant writer" in hint


def test_a_writer_can_use_every_command_but_those_of_the_owner(
    project: Shell, stranger: tuple[str, str], memory_url: str
) -> None:
    project.environ["AURORA_STORE_URL"] = memory_url
    said = project.ok("db", "grant", "writer", stranger[0])
    assert said.startswith(f"{stranger[0]} can read and write postgresql://")
    project.environ["AURORA_STORE_URL"] = as_user(memory_url, stranger)
    for words in (
        ("db", "init"), ("mem", "index", "."), ("mem", "learn", "retry the upload"),
        ("mem", "get", "auth_manager.py:authenticate_user"), ("mem", "search", "password"),
        ("mem", "forget", "-y", "settings.py"), ("mem", "rebuild-bm25"), ("db", "migrate"),
    ):  # fmt: skip
        done = project.run(*words)
        assert (done.returncode, "denied" in done.stderr) == (0, False), done.stderr


def test_a_reader_can_search(project: Shell, stranger: tuple[str, str], memory_url: str) -> None:
    project.environ["AURORA_STORE_URL"] = memory_url
    project.ok("mem", "index", ".")
    assert f"{stranger[0]} can read postgres" in project.ok("db", "grant", "reader", stranger[0])
    project.environ["AURORA_STORE_URL"] = as_user(memory_url, stranger)
    assert "authenticate_user" in project.ok("mem", "search", "password")
    done = project.run("mem", "get", "auth_manager.py:authenticate_user")
    assert done.returncode == 0
    assert "This use is not remembered" in done.stderr
    assert '"usable": true' in project.ok("db", "status", "--json")
    error, hint = error_and_hint(project.fails("mem", "learn", "anything"))
    assert "permission denied" in error
    assert "aur db grant writer" in hint
    project.environ["AURORA_STORE_URL"] = memory_url
    assert "has no rights in" in project.ok("db", "revoke", stranger[0])
    project.environ["AURORA_STORE_URL"] = as_user(memory_url, stranger)
    assert "permission denied" in project.fails("mem", "search", "password")


def test_a_file_has_no_roles(project: Shell) -> None:
    error, _ = error_and_hint(project.fails("db", "grant", "reader", "ben"))
    assert "No server is named: the memory is the file" in error


def test_the_driver_is_not_installed(project: Shell, tmp_path: Path) -> None:
    write_tree(
        tmp_path / "blocked",
        {
            "sitecustomize.py": """
import sys
class Blocked:
    def find_spec(self, name, *more):
        if name.partition(".")[0] in ("psycopg", "psycopg_pool"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
"""
        },
    )
    project.environ["PYTHONPATH"] = str(tmp_path / "blocked")
    url = "postgresql://ada@localhost/team"
    error, hint = error_and_hint(project.fails("db", "init", url))
    assert "driver is not installed" in error
    assert "aurora-memory[postgres]" in hint
    project.environ["AURORA_STORE_URL"] = url
    for words in (("mem", "stats"), ("db", "status"), ("db", "migrate")):
        assert "aurora-memory[postgres]" in project.fails(*words)
    assert "aurora-memory[postgres]" in project.run("doctor").stdout


@pytest.mark.parametrize("shape", ["login", "parameter"])
def test_a_password_is_never_shown(project: Shell, memory_url: str, shape: str) -> None:
    secret = password_of(memory_url)
    url = memory_url
    if shape == "parameter":
        url = memory_url.replace(f":{secret}@", "@") + f"?password={secret}&application_name=x"
    project.environ["AURORA_STORE_URL"] = url
    said = []
    for words in (
        ("db", "init", url), ("db", "status"), ("db", "status", "--json"), ("db", "migrate"),
        ("mem", "index", "."), ("mem", "stats"), ("mem", "stats", "--json"), ("doctor",),
        ("doctor", "--json"), ("config", "get"), ("config", "get", "store.url"),
        ("mem", "search", "login", "--json"), ("mem", "copy", "--to", url),
        ("-c", "store.schema=none_here", "mem", "stats"),
        ("-c", f"store.url={url}x", "mem", "stats"),
        ("mem", "copy", "--from", f"{url}#none_here", "--to", "copy.db"),
        ("db", "import-aurorakb", "--from", url),
    ):  # fmt: skip
        done = project.run(*words)
        said.append(done.stdout + done.stderr)
        assert secret not in said[-1], words
    assert "Memory: postgresql://postgres@" in "".join(said)
    files = [*project.home.rglob("*"), *(project.cwd / ".aurora").rglob("*")]
    assert any(file.name == "aurora.log" for file in files)
    assert [file for file in files if file.is_file() and secret.encode() in file.read_bytes()] == []


@pytest.mark.parametrize(
    "secret", ["hun@ter", "hun/ter", "hun?ter", "hun#ter", "12#ter", "hun:ter@"]
)
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(
    project: Shell, secret: str
) -> None:
    """Its second half would be taken for a host, a port, a database or a schema."""
    url = f"postgresql://ada:{secret}@db.invalid/team"
    for words in (("db", "init", url), ("mem", "copy", "--from", url, "--to", "copy.db")):
        stderr = project.fails(*words)
        assert ("hun" in stderr, "ter@" in stderr) == (False, False), stderr
        assert set("#?") & set(secret) or "%40" in stderr  # libpq takes those two as they are


def test_a_doctor_of_a_memory_on_a_server(project: Shell, memory_url: str) -> None:
    project.environ["AURORA_STORE_URL"] = memory_url
    project.ok("mem", "index", ".")
    assert "Database and text indexes are whole" in project.ok("doctor")
