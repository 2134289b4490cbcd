"""`aur mem stats` and `aur mem get --json`: what a memory holds, for people and for programs."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from aurora.config import Places
from aurora.embeddings.aurora.provider import WEIGHTS
from aurora.engine import Memory
from tests.backends import about_streams, with_index_files
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.cli.forking import relaying
from tests.cli.screen import Screen, Terminal
from tests.indexing.providers import VowelProvider

FRESHNESS = "  freshness"


def told(shell: Shell) -> dict[str, str]:
    """The rows by their names."""
    lines = shell.ok("mem", "stats").splitlines()
    return {line[:13].rstrip(): line[15:] for line in lines}


def test_stats_tell_where_everything_is_and_how_much(indexed: Shell, backend: str) -> None:
    rows = told(indexed)
    memory, words = (
        (r"postgresql://postgres@127\.0\.0\.1:\d+/test_\d+", "the database")
        if backend == "postgres"
        else (r"\.aurora/memory\.db", r"\.aurora/indexes/bm25\.idx")
    )
    assert re.fullmatch(rf"{memory} \([\d.]+ [KM]iB\)", rows["Memory"])
    assert re.fullmatch(rf"{words} \([\d.]+ [KM]iB\)", rows["Keyword index"])
    assert re.fullmatch(
        r"(just now|\d+ (minute|hour)s? ago) \(\d{4}-\d\d-\d\d \d\d:\d\d\)", rows["Last indexed"]
    )
    assert rows["Files"] == "4"
    vectors = "aurora/deep (256 dimensions), 7 of 7 chunks have a vector"
    assert rows["Embedder"] == vectors
    assert rows["Chunks"] == "7"
    assert rows["  function"] == f"2  {'█' * 30}"
    assert rows["  class"] == f"1  {'█' * 15}"
    assert "Namespaces" not in rows


@with_index_files
def test_the_index_is_up_to_date_after_a_search_and_behind_after_a_change(indexed: Shell) -> None:
    assert told(indexed)[FRESHNESS] == "up to date"
    indexed.ok("mem", "learn", "retry with backoff")
    assert told(indexed)[FRESHNESS].startswith("behind the memory: ")
    indexed.ok("mem", "search", "backoff")
    assert told(indexed)[FRESHNESS] == "up to date"


@with_index_files
def test_an_index_that_is_missing_or_damaged_is_told_and_left_alone(indexed: Shell) -> None:
    index = indexed.cwd / ".aurora" / "indexes" / "bm25.idx"
    index.write_bytes(b"no index")
    assert told(indexed)[FRESHNESS].startswith("damaged: ")
    assert index.read_bytes() == b"no index"
    index.unlink()
    assert told(indexed)[FRESHNESS].startswith("missing: ")
    assert not index.exists()


def test_a_memory_that_was_never_indexed_into(shell: Shell) -> None:
    shell.ok("init")
    shell.ok("mem", "learn", "retry with backoff")
    assert told(shell)["Last indexed"] == "never"


def test_named_namespaces_are_counted(indexed: Shell) -> None:
    indexed.ok("mem", "add", "notes.md", "--namespace", "billing")
    rows = told(indexed)
    assert (rows["Namespaces"], rows["  billing"][0], rows["  (unnamed)"][0]) == ("2", "1", "7")


def test_without_a_provider_nobody_makes_vectors(shell: Shell) -> None:
    shell.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    shell.ok("mem", "index", ".")
    assert told(shell)["Embedder"] == "none: search goes by words and use"


def test_vectors_and_who_made_them(shell: Shell) -> None:
    (shell.cwd / ".aurora").mkdir(exist_ok=True)
    places = Places.find(shell.cwd, {"AURORA_HOME": str(shell.home)})
    with Memory(places, embedder=VowelProvider()) as memory:
        memory.index(shell.cwd)
    shell.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    shell.ok("mem", "learn", "not embedded yet")
    name, dimension = VowelProvider().name, VowelProvider().dimension
    assert told(shell)["Embedder"] == (
        f"{name} ({dimension} dimensions), 7 of 8 chunks have a vector"
    )


@about_streams
@pytest.mark.parametrize(("columns", "cells"), [(80, 30), (40, 22), (20, 0)])
def test_on_a_terminal_bars_leave_the_lines_whole(indexed: Shell, columns: int, cells: int) -> None:
    home = {"AURORA_HOME": str(indexed.home)}
    argv, env = [relaying() / "aur", "mem", "stats"], home | {"LANG": "C.UTF-8"}
    terminal = Terminal(argv, cwd=indexed.cwd, env=env, columns=columns)
    assert terminal.wait() == 0
    screen = Screen(columns)
    screen.feed(terminal.written)
    assert f"  function     2  {'█' * cells}".rstrip() in screen.rows


@about_streams
def test_a_stream_without_blocks_gets_hashes(indexed: Shell) -> None:
    indexed.environ["PYTHONIOENCODING"] = "ascii"
    done = indexed.run("mem", "stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  function     2  {'#' * 30}\n" in done.stdout


def test_as_json_there_is_one_object_and_nothing_else(indexed: Shell, backend: str) -> None:
    indexed.ok("mem", "add", "notes.md", "--namespace", "用户")
    done = indexed.run("mem", "stats", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    stats = json.loads(done.stdout)
    folder = indexed.cwd / ".aurora"
    database, index = folder / "memory.db", folder / "indexes" / "bm25.idx"
    at = datetime.fromisoformat(stats.pop("indexed_at"))
    # The fixture's index is shared by all tests of a run, which may take hours.
    assert timedelta(0) < datetime.now(UTC) - at < timedelta(days=1)
    size, generation = stats.pop("bytes"), stats.pop("generation")
    assert min(size, generation) > 0
    if backend == "postgres":  # is never behind, and has no files to tell of
        assert stats.pop("path").startswith("postgresql://postgres@127.0.0.1:")
        index_bytes = stats.pop("index").pop("bytes")
        assert 0 < index_bytes < size
    else:
        assert size >= database.stat().st_size
        assert stats.pop("path") == str(database)
        assert stats.pop("index") == {
            "path": str(index), "bytes": index.stat().st_size, "state": "behind", "current": False,
        }  # fmt: skip
    assert stats == {
        "files": 4,
        "files_changed": 0,
        "indexing": None,
        "chunks": 8,
        "kinds": {"function": 2, "method": 1, "class": 1, "code": 2, "reasoning": 0,
                  "knowledge": 2},
        "namespaces": {"": 7, "用户": 1},
        "embedder": {"name": "aurora/deep", "dimension": 256,
                     "fingerprint": f"{WEIGHTS}-2"},
        "embedded": 8,
        "improving": None,
        "improvable": False,
        "name": "project",
        "others": {},
    }  # fmt: skip


def test_json_is_ascii_where_nothing_else_can_be_written(indexed: Shell) -> None:
    indexed.environ["PYTHONIOENCODING"] = "ascii"
    chunk = json.loads(indexed.ok("mem", "get", "用户.py:认证流程", "--json"))
    assert chunk["name"] == "认证流程"


def test_a_chunk_as_json_has_every_field(indexed: Shell) -> None:
    done = indexed.run("mem", "get", "authenticate_user", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    chunk = json.loads(done.stdout)
    assert chunk.pop("content").startswith("def authenticate_user(name, password):\n")
    assert chunk == {
        "id": "auth_manager.py:authenticate_user",
        "kind": "function",
        "name": "authenticate_user",
        "qualified_name": "authenticate_user",
        "path": "auth_manager.py",
        "lines": [11, 13],
        "language": "python",
        "namespace": None,
        "document_type": None,
        "created_at": None,
        "metadata": {"signature": "def authenticate_user(name, password):"},
        "note": None,
        "remarks": [],
        "session": None,
    }


def test_a_document_as_json_has_its_labels(indexed: Shell) -> None:
    labels = ("--namespace", "billing", "--document-type", "decision", "--meta", "status=agreed")
    id_ = indexed.ok("mem", "add", "notes.md", *labels).strip()
    chunk = json.loads(indexed.ok("mem", "get", id_, "--json"))
    assert datetime.fromisoformat(chunk["created_at"]).tzinfo is not None
    assert (chunk["namespace"], chunk["document_type"]) == ("billing", "decision")
    assert chunk["metadata"]["status"] == "agreed"


def test_what_comes_from_no_file_has_no_lines(indexed: Shell) -> None:
    id_ = indexed.ok("mem", "learn", "retry with backoff").strip()
    chunk = json.loads(indexed.ok("mem", "get", id_, "--json"))
    assert (chunk["kind"], chunk["path"], chunk["lines"]) == ("reasoning", None, None)


@pytest.mark.parametrize("words", [("stats",), ("get", "x")])
def test_an_error_is_no_json(shell: Shell, words: tuple[str, ...]) -> None:
    assert "There is no memory yet" in shell.fails("mem", *words, "--json")


def test_files_that_are_left_out_are_listed_with_the_reason(indexed: Shell) -> None:
    assert indexed.run("mem", "stats", "--left-out").stderr == "No file is left out\n"
    write_tree(
        indexed.cwd, {"docs/a.pdf": b"%PDF-1.4\n\xe2", ".env": "KEY=1\n", "b.txt": b"caf\xe9"}
    )
    done = indexed.run("mem", "index", ".")
    assert "3 files" in done.stderr
    assert "(`aur mem stats --left-out`)" in done.stderr
    lines = (".env: looks like a secret", "b.txt: not UTF-8", "docs/a.pdf: binary")
    assert indexed.ok("mem", "stats", "--left-out").splitlines() == list(lines)
    from_here = ["../.env: looks like a secret", "../b.txt: not UTF-8", "a.pdf: binary"]
    below = indexed.ok("mem", "stats", "--left-out", cwd=indexed.cwd / "docs")
    assert below.splitlines() == from_here
    listed = json.loads(indexed.ok("mem", "stats", "--left-out", "--json"))["left_out"]
    assert [f"{file['path']}: {file['reason']}" for file in listed] == list(lines)


def test_files_of_a_memory_without_a_project_are_listed_too(shell: Shell) -> None:
    """Of the folders with its files, not of those beside them."""
    top = write_tree(shell.home.parent / "plain", {
        "a/x.py": "def f(): pass\n", "a/.env": "KEY=1\n", "a/deep/.env": "KEY=1\n",
        "b/.env": "KEY=1\n", "b/c/y.txt": b"caf\xe9",
    })  # fmt: skip
    shell.ok("mem", "index", "a", "b/c", cwd=top)
    listed = shell.ok("mem", "stats", "--left-out", cwd=top).splitlines()
    assert listed == [
        "a/.env: looks like a secret",
        "a/deep/.env: looks like a secret",
        "b/c/y.txt: not UTF-8",
    ]
