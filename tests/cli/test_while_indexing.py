"""What searches answer while an index run is at work, in another process or in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.types import Progress
from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell, settle
from tests.sources.repository import make_repository

FILES: dict[str, str | bytes] = {
    "quokka.py": "def parse_quokka(text):\n    return text.split()\n",
    "wombat.py": "def count_wombats(field):\n    return len(field)\n",
}
HALFWAY = Progress("Indexing", 412, 2_640)
DYING = """
import os, sys
from pathlib import Path
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Progress
with SQLiteStore(Path(sys.argv[1])).alone() as tell:
    tell(Progress("Indexing", 412, 2640))
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """A repository that is not indexed yet."""
    return settle(
        Shell(make_repository(tmp_path / "web", FILES), tmp_path / "user" / "home"),
        backend,
        request,
    )


def derived(shell: Shell) -> list[tuple[str, int]]:
    """The derived indexes, and when they were made."""
    files = (shell.cwd / ".aurora").rglob("*.idx")
    return sorted((path.name, path.stat().st_mtime_ns) for path in files)


def search(shell: Shell, words: str) -> tuple[list[str], list[str], list[str]]:
    """Ids, signals and notes of a search."""
    answer = json.loads(shell.ok("mem", "search", words, "--json"))
    return [row["id"] for row in answer["results"]], answer["signals"], answer["notes"]


def test_a_first_run_is_searched_by_words_and_the_share_is_told(shell: Shell) -> None:
    shell.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    shell.ok("mem", "learn", "Feed marsupials first")  # makes the memory
    del shell.environ["AURORA_EMBEDDING_PROVIDER"]
    with shell.store() as store, store.alone() as tell:
        index_files(store, shell.cwd, scan(shell.cwd / "quokka.py"))
        tell(HALFWAY)
        ids, signals, notes = search(shell, "parse quokka text")
        stats = shell.ok("mem", "stats")
        assert json.loads(shell.ok("mem", "stats", "--json"))["indexing"] == {
            "task": "Indexing", "done": 412, "total": 2_640,
        }  # fmt: skip
    assert ids == ["quokka.py:parse_quokka"]
    assert "semantic" not in signals
    assert notes == ["indexing: 412 of 2,640 files ready; by words only until vectors are made"]
    assert "now: 412 of 2,640 files ready" in stats
    assert derived(shell) == []  # the run makes them


def test_a_later_run_leaves_the_indexes_in_use(shell: Shell) -> None:
    shell.ok("index")
    before = derived(shell)
    write_tree(shell.cwd, {"numbat.py": "def wake_numbats(): pass\n"})
    with shell.store() as store, store.alone() as tell:
        index_files(store, shell.cwd, scan(shell.cwd / "numbat.py"))
        tell(HALFWAY)
        ids, signals, notes = search(shell, "count the wombats")
    assert ids[0] == "wombat.py:count_wombats"
    assert "semantic" in signals
    assert notes == ["indexing: 412 of 2,640 files ready"]
    assert derived(shell) == before
    ids, _, notes = search(shell, "wake_numbats")
    assert (ids[0], notes) == ("numbat.py:wake_numbats", [])


@pytest.mark.parametrize(
    ("progress", "note"),
    [
        (Progress("Indexing", 0, 0), "indexing: files are being listed"),
        (Progress("Embedding", 512, 1_024), "indexing: all files ready; 512 of 1,024 vectors made"),
    ],
)
@in_a_file
def test_the_note_names_what_is_ready(shell: Shell, progress: Progress, note: str | None) -> None:
    shell.ok("index")
    with shell.store() as store, store.alone() as tell:
        tell(progress)
        assert search(shell, "count the wombats")[2] == ([note] if note else [])


@in_a_file
def test_a_killed_run_leaves_nothing_behind(shell: Shell) -> None:
    shell.ok("index")
    memory = shell.cwd / ".aurora" / "memory.db"
    died = subprocess.run([sys.executable, "-c", DYING, memory], check=False)
    assert died.returncode == -9
    assert search(shell, "count the wombats")[2] == []
    assert "now:" not in shell.ok("mem", "stats")
