"""Bad input at the door: one line of error, the next step, exit status 2, nothing lost."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from aurora.sources.reading import MAX_BYTES
from aurora.types import Query
from tests.backends import in_a_file, with_index_files, without_home, without_memory
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.rewriting import seal


def memory_of(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "memory.db"


def index_of(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "indexes" / "bm25.idx"


cli_only = pytest.mark.one_store("the command line, wherever a memory is")


def error_and_hint(stderr: str) -> tuple[str, str]:
    """The first line and the hint of an error: exactly one of each."""
    lines = stderr.splitlines()
    assert lines[0].startswith("Error: ")
    assert lines[-1].startswith("hint: ")
    return lines[0], lines[-1]


@without_memory
def test_a_missing_path(shell: Shell) -> None:
    error, hint = error_and_hint(shell.fails("mem", "index", "nowhere"))
    assert "nowhere" in error
    assert "aur mem index" in hint
    assert not (shell.cwd / ".aurora").exists()


def test_no_memory_yet(shell: Shell, backend: str) -> None:
    step = "aur db init" if backend == "postgres" else "aur mem index"
    for words in (("mem", "search", "x"), ("mem", "stats"), ("mem", "get", "x")):
        _, hint = error_and_hint(shell.fails(*words))
        assert step in hint
    assert not shell.home.exists() or not (shell.home / "memory.db").exists()


@in_a_file
@pytest.mark.parametrize("command", [("search", "x"), ("index",), ("stats",), ("rebuild-bm25",)])
def test_a_file_as_database_that_is_none(indexed: Shell, command: tuple[str, ...]) -> None:
    for file in memory_of(indexed).parent.glob("memory.db*"):
        file.unlink()
    memory_of(indexed).write_text("Dear diary,\n" * 1000)
    error, hint = error_and_hint(indexed.fails("mem", *command))
    assert "memory.db is not a usable database" in error
    assert "index again" in hint
    assert memory_of(indexed).read_text() == "Dear diary,\n" * 1000


@in_a_file
@pytest.mark.parametrize("kept", [100, 6000], ids=["in-the-header", "in-the-tables"])
def test_a_truncated_database(indexed: Shell, kept: int) -> None:
    with closing(sqlite3.connect(memory_of(indexed))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rest = memory_of(indexed).read_bytes()[:kept]
    memory_of(indexed).write_bytes(rest)
    for words in (("search", "password"), ("index",), ("export",)):
        error, hint = error_and_hint(indexed.fails("mem", *words))
        assert "memory.db is not a usable database" in error
        assert "index again" in hint
    assert memory_of(indexed).read_bytes() == rest


@in_a_file
def test_a_newer_database(indexed: Shell) -> None:
    with closing(sqlite3.connect(memory_of(indexed))) as connection:
        connection.execute("PRAGMA user_version = 99")
    error, hint = error_and_hint(indexed.fails("mem", "search", "x"))
    assert "newer Aurora (schema 99" in error
    assert "upgrade" in hint
    with closing(sqlite3.connect(memory_of(indexed))) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (7,)


@with_index_files
@pytest.mark.parametrize("content", [b"", b"garbage", None], ids=["empty", "garbage", "truncated"])
def test_it_rebuild_03_it_error_04_a_broken_index_is_rebuilt(
    indexed: Shell, content: bytes | None
) -> None:
    before = indexed.ok("mem", "search", "password")
    whole = index_of(indexed).read_bytes()
    index_of(indexed).write_bytes(whole[:5000] if content is None else content)

    done = indexed.run("mem", "search", "password")

    assert (done.returncode, done.stdout) == (0, before)
    assert done.stderr == "Warning: BM25 index corrupted, rebuilding...\n"
    log = (indexed.home / "logs" / "aurora.log").read_text()
    assert "ERROR aurora.signals.derived_index: BM25 index " in log
    assert indexed.run("mem", "search", "password").stderr == ""


@without_memory
def test_broken_yaml(indexed: Shell) -> None:
    write_tree(indexed.home, {"config.yml": "search:\n  bm25: [1, 2\n"})
    stderr = indexed.fails("mem", "search", "x")
    error, hint = error_and_hint(stderr)
    assert error == f"Error: Invalid config in ~/{indexed.home.name}/config.yml:"
    assert "line 3, column 1" in stderr
    assert "correct" in hint


@without_memory
def test_it_error_05_invalid_config_in_the_seeds_words(indexed: Shell) -> None:
    """FR-9.3, to the letter and all at once."""
    write_tree(indexed.home, {
        "config.yml": "search:\n  bm25:\n    k1: -1.5\n  hybrid:\n    stage2_weights:\n"
        "      semantic: 0.5\n      activation: 0.2\n"
    })  # fmt: skip
    assert indexed.fails("mem", "search", "x").startswith(
        f"Error: Invalid config in ~/{indexed.home.name}/config.yml:\n"
        "  - search.bm25.k1: Must be ≥ 0.0 (got -1.5)\n"
        "  - search.hybrid.stage2_weights: Must sum to 1.0 (got 0.7)\n"
    )


@without_memory
def test_a_negative_value_typed_as_such(indexed: Shell) -> None:
    stderr = indexed.fails("config", "set", "search.bm25.k1", "-1")
    assert "Invalid value for search.bm25.k1: Must be ≥ 0.0 (got -1)" in stderr


def test_it_error_07_an_empty_query(indexed: Shell) -> None:
    """ST-20, UT-HYBRID-09"""
    for query in ("", "   "):
        error, _ = error_and_hint(indexed.fails("mem", "search", query))
        assert error == "Error: The query is empty"


@pytest.mark.parametrize(
    "query",
    ["???", '"', "* AND OR NOT (", "a & b | !c:*", "'; DROP TABLE chunks; --", "%_\\"],
    ids=["punctuation", "quote", "fts", "tsquery", "sql", "like"],
)
def test_signs_and_the_syntax_of_a_database_are_words(indexed: Shell, query: str) -> None:
    """Whatever they find, it is an answer; and nothing happens to the memory."""
    indexed.environ |= {"AURORA_INDEX_AUTO": "false"}  # a copied file has another time
    before = indexed.ok("mem", "export")
    assert json.loads(indexed.ok("mem", "search", "--json", query))["query"] == query
    assert indexed.ok("mem", "export") == before


def test_a_query_of_a_megabyte_is_answered(indexed: Shell) -> None:
    """In words of which each is as long as the system lets one be."""
    words = ["password " * 11_000] * 10 + ["authenticate_user"]
    done = subprocess.run(
        [AUR, "mem", "search", "--files-with-matches", *words],
        cwd=indexed.cwd,
        env=indexed.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "auth_manager.py"), done.stderr
    assert "only the beginning and the end were searched for" in done.stderr


def test_a_namespace_that_is_none_has_no_results(indexed: Shell) -> None:
    told = indexed.ok("mem", "search", "password", "--namespace", "nobody")
    assert told.startswith("No relevant results found\n")
    assert "without a filter" in told


@without_memory
@cli_only
def test_no_query_at_all_is_a_usage_error(indexed: Shell) -> None:
    assert "Usage: aur mem search" in indexed.fails("mem", "search")


@without_memory
@cli_only
@pytest.mark.parametrize("limit", ["0", "-3", "many"])
def test_an_impossible_limit_is_a_usage_error(indexed: Shell, limit: str) -> None:
    assert "Invalid value for '--limit'" in indexed.fails("mem", "search", "x", "--limit", limit)


@without_memory
@cli_only
@pytest.mark.parametrize("score", ["nan", "-0.1", "1.1", "high"])
def test_a_least_score_that_none_can_have_is_refused(indexed: Shell, score: str) -> None:
    told = indexed.fails("mem", "search", "x", f"--min-score={score}")
    assert "Invalid value for '--min-score'" in told


def test_a_query_cannot_ask_for_a_score_that_is_no_number() -> None:
    with pytest.raises(ValueError, match="min_score must be a number"):
        Query("x", min_score=math.nan)


def test_an_unknown_id(indexed: Shell) -> None:
    error, hint = error_and_hint(indexed.fails("mem", "get", "nobody"))
    assert "'nobody'" in error
    assert "FILE:NAME" in hint


@without_home
@cli_only
def test_a_home_that_cannot_be_written(shell: Shell) -> None:
    """A project's memory needs no home: everything works, only the log stays unwritten."""
    write_tree(shell.home.parent, {shell.home.name: "a file where the home should be"})
    shell.ok("mem", "index")
    assert "AuthManager" in shell.ok("mem", "search", "AuthManager")


@without_home
def test_a_search_writes_nothing_to_the_home(indexed: Shell) -> None:
    shutil.rmtree(indexed.home)  # the index has written of missing logs
    indexed.ok("mem", "search", "password")
    indexed.ok("mem", "stats")
    assert not indexed.home.exists()


@with_index_files
def test_a_rebuild_that_cannot_be_saved_is_no_success(indexed: Shell) -> None:
    """FR-8.3; a search or an index run goes on without the file, and says so."""
    shutil.rmtree(index_of(indexed).parent)
    index_of(indexed).parent.write_text("a file where the folder should be")

    talk = indexed.fails("mem", "rebuild-bm25")
    error, hint = error_and_hint(talk[talk.index("Error: ") :])
    assert "could not be saved" in error
    assert "disk" in hint
    done = indexed.run("mem", "index")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0, "BM25 index: Built (7 chunks indexed, not saved)",
    )  # fmt: skip
    assert "AuthManager" in indexed.ok("mem", "search", "AuthManager")


@cli_only
@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_a_closed_stream_stops_nothing(shell: Shell, closed: str) -> None:
    """Daemons and cron jobs close what they do not read."""
    environment = os.environ | {"AURORA_HOME": str(shell.home)}
    for words in ("index", "search password"):
        command = f"{AUR} mem {words} {closed}"
        done = subprocess.run(["sh", "-c", command], cwd=shell.cwd, env=environment, check=False)
        assert done.returncode == 0
    assert "Files          4\n" in shell.ok("mem", "stats")


@without_memory
@cli_only
def test_a_working_directory_that_is_gone(shell: Shell) -> None:
    (shell.cwd / "gone").mkdir()
    command = f"cd gone && rmdir ../gone && {AUR} mem search x"
    done = subprocess.run(
        ["sh", "-c", command], cwd=shell.cwd, capture_output=True, text=True, check=False
    )
    error, hint = error_and_hint(done.stderr)
    assert (done.returncode, "working directory cannot be used" in error) == (2, True)
    assert "cd" in hint


@cli_only
def test_arguments_of_any_bytes(indexed: Shell) -> None:
    for words in (("mem", "get", "\udcff"), ("config", "set", "store.path", "\udcff")):
        assert "unexpected" not in indexed.fails(*words)


@cli_only
def test_a_huge_file_is_left_out_and_counted(shell: Shell) -> None:
    write_tree(shell.cwd, {"huge.txt": "x\n" * MAX_BYTES})
    done = shell.run("mem", "index")
    assert (done.returncode, "Files scanned: 5\n" in done.stdout) == (0, True)
    assert "Left out 1 files: 1 larger than 2048 KiB " in done.stderr


@cli_only
def test_warnings_beyond_the_tenth_are_counted_and_logged(shell: Shell) -> None:
    write_tree(shell.cwd, {f"bad{n:02}.py": "def (:\n" for n in range(12)})
    done = shell.run("mem", "index")
    assert (done.stderr.count("has syntax errors"), "3 more warnings" in done.stderr) == (9, True)
    log = (shell.home / "logs" / "aurora.log").read_text(encoding="utf-8")
    assert log.count("has syntax errors") == 12


@in_a_file
def test_a_memory_on_a_full_disk_is_told_and_stays_as_it_was(indexed: Shell) -> None:
    before = indexed.ok("mem", "export")
    for words in ("mem learn 'retry with backoff'", "mem add auth_manager.py"):
        done = indexed.bash(f"ulimit -f 0; aur {words}")
        error, hint = error_and_hint(done.stderr)
        assert (done.returncode, "memory.db" in error, hint != "") == (2, True, True)
    assert indexed.ok("mem", "export") == before
    indexed.ok("mem", "learn", "retry with backoff")


def test_a_log_on_a_full_disk_does_not_spoil_the_answer(indexed: Shell) -> None:
    log = indexed.home / "logs" / "aurora.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    log.symlink_to("/dev/full")
    error_and_hint(indexed.fails("mem", "get", "nowhere.py:nothing"))


def test_a_word_to_leave_out_that_became_an_option_is_explained(indexed: Shell) -> None:
    refusal = indexed.fails("mem", "search", "session", "-xyz")
    assert "Words to leave out go inside quotes" in refusal
    assert "inside quotes" not in indexed.fails("mem", "search", "session", "--jsn")
    assert "AuthManager.logout" in indexed.ok("mem", "search", "session -xyz")


@without_memory
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_settings_file_that_may_not_be_read_is_told_as_such(indexed: Shell) -> None:
    write_tree(indexed.home, {"config.yml": "search: {}\n"})
    (indexed.home / "config.yml").chmod(0)
    assert "cannot be read (Permission denied): check who owns it" in indexed.fails("mem", "stats")


@without_memory
def test_a_folder_for_a_settings_file_is_told_as_such(indexed: Shell) -> None:
    (indexed.home / "config.yml").mkdir(parents=True)
    assert "config.yml:\n  - cannot be read (Is a directory)" in indexed.fails("mem", "stats")


@in_a_file
@pytest.mark.parametrize(
    ("column", "value"), [("kind", "poem"), ("metadata", "{"), ("created_at", "x")]
)
@pytest.mark.parametrize(
    "words", [("search", "password"), ("get", "authenticate_user"), ("export",)], ids=" ".join
)
def test_a_row_that_nobody_wrote_so_is_told_as_damage(
    indexed: Shell, words: tuple[str, ...], column: str, value: str
) -> None:
    path = indexed.cwd / ".aurora" / "memory.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            f"UPDATE chunks SET {column} = ? WHERE name = 'authenticate_user'", (value,)
        )
    for below_the_seal in (False, True):
        if below_the_seal:
            seal(path)
        done = indexed.run("mem", *words)
        assert f"{path} is damaged: " in done.stderr
        assert "1 chunk cannot be read, so that answers may be incomplete. `aur mem" in done.stderr
        assert done.returncode == (2 if words[0] == "get" else 0)
        assert "def authenticate_user" not in done.stdout
