"""An import of sessions is whole wherever it is killed; repair, export and import keep sessions."""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.indexing.session_import import Found, SessionImport, find_wanted, pieces_of
from aurora.indexing.session_notes import Scope
from aurora.redaction import Redactor
from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Exchange, Reading, Session
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, ignore_events
from tests.backends import in_a_file
from tests.sources.sessions.samples import CLAUDE, make_home

pytestmark = in_a_file

# Imports, and kills itself when so many transcripts were read.
KILLED = """
import os, signal, sys
from pathlib import Path
from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.indexing import session_import
from aurora.types import Progress

session_import._BATCH_CHUNKS = 4
home, left = Path(sys.argv[1]), int(sys.argv[2])

def hear(event):
    global left
    left -= isinstance(event, Progress)
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

places = Places(home / ".aurora")
memory = Memory(places, SettingsFiles(places, {"HOME": str(home)}))
memory.sessions.import_(quick=True, listen=hear)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with open_memory(home) as memory:
        yield memory


def open_memory(home: Path) -> Memory:
    places = Places(home / ".aurora")
    return Memory(places, SettingsFiles(places, {"HOME": str(home)}))


def stored(memory: Memory) -> Mapping[str, Chunk]:
    chunks = {chunk.id: chunk for chunk in memory.admin.chunks()}
    return {id_: chunk for id_, chunk in chunks.items() if id_.startswith("session:")}


def require_whole(memory: Memory) -> None:
    """The database is sound, and every exchange that a session lists is stored."""
    assert memory.admin.check() == []
    store = memory.admin.store
    for entry in memory.sessions.list():
        _, exchanges = memory.sessions.show(f"{entry.agent}:{entry.id}")
        assert len(exchanges) == entry.exchanges
    for name, note in store.chunks.states_from("sessions:file:claude-code:").items():
        if note.path.endswith(f"{CLAUDE}.jsonl"):
            assert json.loads(note.digest)["offset"]["position"] > 0, name
            assert pieces_of(store, "claude-code:u-1")


@pytest.mark.full  # 20 s: a process for each kill
def test_an_import_that_is_killed_is_whole_and_goes_on(home: Path, tmp_path: Path) -> None:
    with open_memory(home) as memory:
        memory.sessions.import_(quick=True)
        expected, entries = stored(memory), memory.sessions.list()
    for killed_after in (0, 2, 5, 9, 14):
        again = tmp_path / f"again{killed_after}"
        again.mkdir()
        other = make_home(again)
        words = [sys.executable, "-c", KILLED, str(other), str(killed_after)]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
        with open_memory(other) as memory:
            require_whole(memory)
            memory.sessions.import_(quick=True)
            require_whole(memory)
            assert stored(memory).keys() == expected.keys()
            assert len(memory.sessions.list()) == len(entries)


class Parrot:
    """A reader of another package: one file is shut, and one makes it fail."""

    agent, title = "parrot", "Parrot"

    def locate(self, home: Path, environ: object, projects: object = ()) -> list[Path | Skipped]:  # noqa: ARG002
        return [Skipped(home / "shut", "unreadable: Permission denied"), *sorted(home.glob("*"))]

    def read(self, path: Path, since: object = None, options: object = None) -> Reading:  # noqa: ARG002
        def run(reading: Reading) -> Iterator[Exchange]:
            if path.name == "shut.txt":
                reading.skip("unreadable: Permission denied")
                return
            reading.sessions["s"] = Session("parrot", "s", path)
            yield Exchange(path.name, "parrot", "s", path.name, "Said.")
            if path.name == "bad.txt":
                raise ZeroDivisionError

        return Reading(run)


def test_what_cannot_be_read_is_counted_and_tried_again_and_the_rest_is_stored(
    tmp_path: Path,
) -> None:
    for name in ("bad.txt", "good.txt", "shut.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    with closing(SQLiteStore(tmp_path.parent / "memory.db")) as store:
        for _ in range(2):
            run = SessionImport(store, Redactor(), ignore_events)
            found = Found(Parrot(), Scope(), Parrot().locate(tmp_path, {}))
            run.read_all(found.reader, find_wanted(store, found, run.counts))
            run.finish()
            assert run.counts.failed == 3
            assert any("ZeroDivisionError" in warning for warning in run.counts.warnings)
        assert (run.counts.read, run.counts.unchanged) == (0, 1)
        names = {chunk.name for chunk in store.chunks.iter_chunks()}
    assert names == {"bad.txt", "good.txt"}


def test_a_repair_keeps_sessions_and_reads_transcripts_again(home: Path) -> None:
    with open_memory(home) as memory:
        memory.sessions.import_()
        memory.sessions.forget("codex")
        before, entries = stored(memory), memory.sessions.list()
    with closing(sqlite3.connect(home / ".aurora/memory.db")) as file, file:
        file.execute("UPDATE chunks SET language = 'x' WHERE id = 'session:claude-code:u-1'")
    with open_memory(home) as memory:
        assert memory.admin.repair() == ["session:claude-code:u-1"]
        assert memory.sessions.list() == entries
        memory.sessions.import_()
        assert stored(memory) == before
        assert "codex" not in {entry.agent for entry in memory.sessions.list()}


def test_an_export_takes_sessions_and_what_was_forgotten_along(
    memory: Memory, tmp_path: Path
) -> None:
    memory.sessions.import_()
    memory.sessions.forget("codex")
    stream = io.BytesIO()
    memory.export(stream)
    assert b"sessions:file:" not in stream.getvalue()
    other = make_home(tmp_path / "other")
    with open_memory(other) as copy:
        copy.admin.import_(io.BytesIO(stream.getvalue()))
        assert stored(copy) == stored(memory)
        assert copy.sessions.list() == memory.sessions.list()
        copy.sessions.import_()
        assert "codex" not in {entry.agent for entry in copy.sessions.list()}


def test_the_doctor_finds_nothing_wrong_with_sessions(memory: Memory) -> None:
    memory.sessions.import_()
    memory.forget(["session:claude-code:u-1"])
    assert memory.admin.check() == []
    assert len(memory.sessions.show(CLAUDE)[1]) == 3  # its commands are left
