"""The points at which a process may die: wherever it changes something on disk or on a server.

Only ever installed in a process that is there to be killed: what is wrapped stays wrapped.
"""

from __future__ import annotations

import builtins
import io
import os
import re
import signal
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import psycopg

from aurora.stores.sqlite import database_file

_WRITES = re.compile(
    r"\b(INSERT(?: OR \w+)? INTO|UPDATE(?: OR IGNORE)?|DELETE FROM|CREATE (?:UNIQUE |VIRTUAL )?\w+|"
    r"ALTER TABLE|DROP \w+(?: IF EXISTS)?|ANALYZE|PRAGMA(?= (?:journal_mode|user_version) = )|"
    r"pg_\w*advisory\w*lock)\s*(?:main\.)?(\w*)"
)
_RANDOM = re.compile(
    r"(?<=aurora-git-)\w{8}|(?<=\.)\w{8}(?=\.tmp$)|^(?:tmp)?\w{8}$|[0-9a-f]{12,}|(?<=\.)\d+(?=\.)"
)
_PLUMBING = ("contextlib", "psycopg", __name__)  # modules that no transaction is named after
_READING = "_recognise"  # whose transaction changes nothing
_AUDITED = {"os.rename": "rename", "os.remove": "remove", "os.mkdir": "make", "os.rmdir": "drop"}


class Point(NamedTuple):
    """The `number`th time, from 1, that a process comes to what has this name."""

    name: str
    number: int = 1


class Points:
    """Counts the points that are passed below a folder, and dies at one of them."""

    def __init__(self, folder: Path, last: Point | None = None) -> None:
        self.passed: list[str] = []
        self._folder, self._last = str(folder), last
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def install(self) -> None:
        self._watch_files()
        self._watch_sqlite()
        self._watch_postgres()

    def passing(self, name: str) -> bool:
        """True, if here is the end: for who has something to do before it."""
        with self._lock:
            self.passed.append(name)
            self._counts[name] += 1
            return self._last == (name, self._counts[name])

    def _pass(self, name: str) -> None:
        if self.passing(name):
            die()

    def _watch_files(self) -> None:
        sys.addaudithook(self._hear)
        for module in (io, builtins):
            module.open = self._opening(module.open)  # type: ignore[assignment]
        sync = os.fsync

        def fsync(file: Any) -> None:
            self._pass("fsync: before")
            sync(file)

        os.fsync = fsync

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        """What Python tells before it does it. Python's own `open` tells twice with an opener."""
        if event == "open" and not isinstance(given[1], str) and given[2] & os.O_CREAT:
            self._pass_file("create", given[0])
        elif event in _AUDITED:
            self._pass_file(_AUDITED[event], given[0])

    def _pass_file(self, what: str, path: Any) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            name = os.path.realpath(os.fsdecode(path))
            if name.startswith(self._folder):
                self._pass(f"{what} {_RANDOM.sub('*', os.path.basename(name))}")  # noqa: PTH119

    def _opening(self, open_: Callable[..., IO[Any]]) -> Callable[..., IO[Any]]:
        def opened(file: Any, mode: str = "r", *more: Any, **named: Any) -> IO[Any]:
            is_ours = not isinstance(file, int) and os.path.realpath(os.fsdecode(file)).startswith(
                self._folder
            )
            writes = is_ours and any(letter in mode for letter in "wax+")
            if writes and "opener" not in named:
                self._pass_file("create", file)
            stream = open_(file, mode, *more, **named)
            if writes:
                name = _RANDOM.sub("*", Path(os.fsdecode(file)).name)
                stream.write = self._writing(stream, name)  # type: ignore[method-assign]
            return stream

        return opened

    def _writing(self, stream: IO[Any], name: str) -> Callable[[Any], int]:
        write = stream.write

        def half_first(data: Any) -> int:
            self._pass(f"write {name}: nothing yet")
            if self.passing(f"write {name}: half"):
                write(data[: len(data) // 2])
                stream.flush()
                die()
            return write(data)

        return half_first

    def _watch_sqlite(self) -> None:
        points = self

        class Watched(database_file.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                points._pass_before("sqlite", sql)
                cursor = super().execute(sql, *values)
                points._pass_after("sqlite", sql)
                return cursor

            def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
                points._pass_before("sqlite", sql)
                return super().executemany(sql, *values)

        database_file.Connection = Watched  # type: ignore[misc]

    def _watch_postgres(self) -> None:
        points, cursor, base = self, psycopg.Cursor, psycopg.Connection
        command = base._exec_command

        def exec_command(self: Any, sql: Any, *more: Any) -> Iterator[Any]:
            text = sql.decode() if isinstance(sql, bytes) else str(sql)
            points._pass_before("postgres", text)
            result = yield from command(self, sql, *more)
            points._pass_after("postgres", text)
            return result

        base._exec_command = exec_command  # type: ignore[method-assign, assignment]
        for name in ("execute", "executemany"):
            setattr(cursor, name, self._executing(getattr(cursor, name)))

    def _executing(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def executed(cursor: Any, sql: Any, *values: Any, **named: Any) -> Any:
            self._pass_before("postgres", sql if isinstance(sql, str) else sql.as_string(cursor))
            return execute(cursor, sql, *values, **named)

        return executed

    def _pass_before(self, database: str, sql: str) -> None:
        if sql.startswith("COMMIT") and _caller() != _READING:
            self._pass(f"{database} COMMIT of {_caller()}: before")
        elif found := _WRITES.search(sql):
            self._pass(f"{database} {' '.join(filter(None, found.groups()))}".rstrip())

    def _pass_after(self, database: str, sql: str) -> None:
        if sql.startswith(("COMMIT", "BEGIN")) and _caller() != _READING:
            self._pass(f"{database} {sql.split(maxsplit=1)[0]} of {_caller()}: after")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _caller() -> str:
    """The function whose transaction it is."""
    frame = sys._getframe(1)
    while frame.f_back and (
        frame.f_globals["__name__"].startswith(_PLUMBING)
        or frame.f_code.co_name in ("transaction", "writing")
    ):
        frame = frame.f_back
    return frame.f_code.co_name
