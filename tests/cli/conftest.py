"""The real `aur` in a real process, in a project and with a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import psycopg
import pytest

from aurora import Memory, Places
from aurora.engine.location import PostgresLocation
from aurora.engine.working_copies import server_checkout
from aurora.stores.base import Store
from tests.backends import keep_on_server
from tests.builders import note_as_own, write_tree
from tests.cli.forking import AUR, KEPT, Forked, can_fork, relaying, run_forked
from tests.cli.screen import Terminal
from tests.rewriting import rewrite

if TYPE_CHECKING:
    from tests.postgres.databases import Databases

NOTICE_SHOWN = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": "true"}  # or a search may tell it
TABLE = {"AURORA_UI_VIEW": "table"}  # most tests read its cells; test_view.py has the default


@dataclass
class Shell:
    """A working directory and an environment to run `aur` in."""

    cwd: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {
            "HOME": str(self.home.parent),
            "AURORA_HOME": str(self.home),
            **NOTICE_SHOWN,
            **TABLE,
        }
        return kept | own | self.environ

    def run(
        self, *words: str, cwd: Path | None = None, stdin: int | BinaryIO = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        if can_fork(self.environment):
            return run_forked(words, cwd=cwd or self.cwd, environment=self.environment, stdin=stdin)
        return subprocess.run(
            [AUR, *words],
            cwd=cwd or self.cwd,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            stdin=stdin,
            check=False,
        )

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a line of bash in which `aur` is ours; any part of a pipe may fail it."""
        path = f"{AUR.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", f"set -o pipefail; {script}"],
            cwd=self.cwd,
            env={**self.environment, "PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def approve(self, answer: str = "y") -> tuple[int, str]:
        """Approve the project's settings as a person does; returns the status and what is shown."""
        argv = [relaying() / "aur", "config", "approve"]
        terminal = Terminal(argv, cwd=self.cwd, env=self.environment, columns=500)
        terminal.press(f"{answer}\n")
        return terminal.wait(), terminal.written

    def start(self, *words: str) -> Forked | subprocess.Popen[str]:
        """Run a command beside what follows; its stdout and stderr can be read."""
        if can_fork(self.environment):
            return Forked(words, cwd=self.cwd, environment=self.environment)
        return subprocess.Popen(
            [AUR, *words],
            cwd=self.cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
        )

    def ok(self, *words: str, cwd: Path | None = None) -> str:
        """Run a command that must work; returns what it printed on stdout."""
        done = self.run(*words, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *words: str, cwd: Path | None = None) -> str:
        """Run a command that must refuse with exit status 2 and an empty stdout; returns stderr."""
        done = self.run(*words, cwd=cwd)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        return done.stderr

    @contextmanager
    def store(self) -> Iterator[Store]:
        """What the project's memory is kept in, wherever that is."""
        with Memory(Places(self.home, self.cwd)) as memory:
            yield memory.admin.store

    def alter(self, in_file: str, on_server: str) -> None:
        """Do to the project's memory what Aurora would not."""
        at = Memory(Places(self.home, self.cwd)).admin.location
        if isinstance(at, PostgresLocation):
            with psycopg.connect(at.url, options=f"-c search_path={at.schema}") as server:
                server.execute(on_server)
        else:
            with closing(sqlite3.connect(self.cwd / ".aurora" / "memory.db")) as file, file:
                file.execute(in_file)

    def ask_git_long_ago(self) -> None:
        """As if all that git told had been told eight days ago."""
        past = "history_read_at = history_read_at -"
        if isinstance(Memory(Places(self.home, self.cwd)).admin.location, PostgresLocation):
            self.alter("", f"UPDATE files SET {past} interval '8 days'")
        else:
            rewrite(self.cwd / ".aurora" / "memory.db", "files", f"{past} 8 * 86400")


def words_of(backend: str) -> str:
    """Where a project's index of words is, as a person is told."""
    if backend == "postgres":
        return "the database"
    return ".aurora/indexes/bm25.idx"


PROJECT: dict[str, str | bytes] = {
    "auth_manager.py": '''"""Accounts."""


class AuthManager:
    """Keeps sessions."""

    def logout(self, session):
        session.clear()


def authenticate_user(name, password):
    """Check a password."""
    return name in USERS
''',
    "settings.py": "USERS = {'ada'}\nTIMEOUT = 30\n",
    "notes.md": "# Login\n\nHow authentication works here.\n",
    "用户.py": "def 认证流程():\n    '用户认证'\n",
}


def make_repository(folder: Path) -> Shell:
    root = write_tree(folder / "project", PROJECT)
    subprocess.run(["git", "init", "-q", root], check=True)
    return Shell(root, folder / "user" / "home")


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """A git repository that nobody has indexed yet."""
    return settle(make_repository(tmp_path), backend, request)


def settle(shell: Shell, backend: str, request: pytest.FixtureRequest) -> Shell:
    """Have a project's memory be kept on a server, if that is what is tested."""
    if backend == "postgres":
        keep_on_server(shell.cwd, shell.home, request.getfixturevalue("postgres_url"))
    return shell


@pytest.fixture(scope="session")
def once_indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `aur mem index` makes of the repository: tests work on copies, which takes a tenth."""
    folder = tmp_path_factory.mktemp("indexed")
    make_repository(folder).ok("mem", "index", ".")
    return folder


@pytest.fixture(scope="session")
def once_indexed_on_server(
    tmp_path_factory: pytest.TempPathFactory, postgres_databases: Databases
) -> Copied:
    """The same on a server, which copies its part."""
    folder = tmp_path_factory.mktemp("indexed-on-server")

    def fill(url: str) -> None:
        shell = make_repository(folder)
        keep_on_server(shell.cwd, shell.home, url)
        shell.ok("mem", "index", ".")

    return Copied(folder, postgres_databases, postgres_databases.prepare("indexed", fill))


@dataclass(frozen=True)
class Copied:
    """A folder and a database that tests work on copies of."""

    folder: Path
    databases: Databases
    template: str

    @contextmanager
    def onto(self, shell: Shell, folder: Path) -> Iterator[Shell]:
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        with self.databases.fresh(self.template) as url:
            keep_on_server(shell.cwd, shell.home, url)
            move_checkout(url, shell)
            yield shell


def move_checkout(url: str, shell: Shell) -> None:
    """As if the only checkout had always been in this folder."""
    with psycopg.connect(url) as server:
        server.execute(
            "UPDATE aurora.facts SET value = jsonb_set(value::jsonb, '{0,key}', %s)::text "
            "WHERE name = 'checkouts'",
            (json.dumps(server_checkout(shell.home, shell.cwd).key),),
        )


@pytest.fixture
def indexed(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest, shell: Shell
) -> Iterator[Shell]:
    if backend == "postgres":
        copied: Copied = request.getfixturevalue("once_indexed_on_server")
        with copied.onto(shell, tmp_path):
            yield shell
    else:
        shutil.copytree(request.getfixturevalue("once_indexed"), tmp_path, dirs_exist_ok=True)
        note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
        yield shell
