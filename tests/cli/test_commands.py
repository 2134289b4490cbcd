"""Every command once, as a person would use it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.backends import in_a_file, without_memory
from tests.builders import write_tree
from tests.cli.conftest import Shell, words_of
from tests.cli.test_search import column


@without_memory
@pytest.mark.parametrize(
    "words",
    [
        (), ("mem",), ("mem", "index"), ("mem", "watch"), ("mem", "search"), ("mem", "get"),
        ("mem", "add"), ("mem", "stats"), ("mem", "rebuild-bm25"), ("init",), ("config",),
        ("config", "set"), ("config", "get"), ("config", "path"), ("config", "approve"),
        ("doctor",), ("completion",), ("mcp", "config"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_has_help(shell: Shell, words: tuple[str, ...]) -> None:
    text = shell.ok(*words, "--help")
    assert text.startswith(f"Usage: {' '.join(('aur', *words))} ")
    assert shell.ok(*words, "-h") == text


@without_memory
def test_help_shows_examples_that_start_with_aur(shell: Shell) -> None:
    for words in (
        (),
        ("mem", "index"),
        ("mem", "watch"),
        ("mem", "search"),
        ("mem", "get"),
        ("mem", "add"),
        ("init",),
        ("doctor",),
    ):
        text = shell.ok(*words, "--help")
        assert re.search(r"Examples:\n +aur ", text), words


@without_memory
def test_version(shell: Shell) -> None:
    assert re.fullmatch(r"aur, version \d+\.\d+\.\d+\n", shell.ok("--version"))


def test_the_first_index_starts_the_projects_memory(shell: Shell, backend: str) -> None:
    below = write_tree(shell.cwd / "src" / "deep", {"x.py": "def x(): pass\n"})

    summary = shell.ok("mem", "index", str(shell.cwd), cwd=below)

    saved_to = words_of(backend).replace(".aurora/", "../../.aurora/")
    assert summary == (
        "Indexing complete!\n\nSummary:\n  Files scanned: 5\n  Code chunks: 7\n"
        "  Reasoning chunks: 0\n  Knowledge chunks: 1\n  Total chunks: 8\n\n"
        "  Errors: 0\n  Warnings: 1\n\n"  # there are no conversation logs
        f"BM25 index: Built (8 chunks indexed, saved to {saved_to})\n"
    )
    assert (shell.cwd / ".aurora" / "memory.db").exists() is (backend == "sqlite")
    status = subprocess.run(
        ["git", "status", "--short"], cwd=shell.cwd, capture_output=True, text=True, check=True
    )
    assert ".aurora" not in status.stdout
    assert not (shell.home / "memory.db").exists()


@in_a_file
def test_outside_git_the_users_memory_is_used(shell: Shell, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "loose", {"tool.py": "def sharpen(): pass\n"})
    shell.ok("mem", "index", cwd=folder)
    assert (shell.home / "memory.db").exists()
    assert "sharpen" in shell.ok("mem", "search", "sharpen", cwd=tmp_path)


@in_a_file
def test_init_then_index_outside_git(shell: Shell, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "loose", {"tool.py": "def sharpen(): pass\n"})
    below = write_tree(folder / "below", {"a.txt": "one\n"})
    assert shell.ok("init", cwd=folder) == "The memory of this project is in .aurora\n"
    assert shell.ok("init", cwd=below) == "The memory of this project is in ../.aurora\n"
    shell.ok("mem", "index", cwd=folder)
    assert (folder / ".aurora" / "memory.db").exists()
    assert (folder / ".aurora" / ".gitignore").read_text() == "*\n"


def test_search_prints_a_table(indexed: Shell) -> None:
    assert indexed.ok("mem", "search", "authenticate_user", "--limit", "1") == (
        "File            | Type     | Name              | Lines | Score "
        "| Commits       | Last Modified\n"
        "----------------+----------+-------------------+-------+-------"
        "+---------------+--------------\n"
        "auth_manager.py | function | authenticate_user | 11-13 | 0.968 "
        "| - (untracked) | - (untracked)\n"
    )


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("AuthManager", "AuthManager"),
        ("logout", "AuthManager.logout"),
        ("check a password", "authenticate_user"),
        ("TIMEOUT", "TIMEOUT"),
        ("how authentication works", "Login"),
        ("用户认证", "认证流程"),
    ],
)
def test_search_finds(indexed: Shell, query: str, first: str) -> None:
    rows = indexed.ok("mem", "search", query).splitlines()
    assert rows[2].split(" | ")[2].strip() == first


def test_words_of_a_query_need_no_quotes(indexed: Shell) -> None:
    apart = indexed.ok("mem", "search", "check", "a", "password")
    assert apart == indexed.ok("mem", "search", "check a password")


def test_nothing_found_is_said_with_suggestions(indexed: Shell) -> None:
    """ST-16: exit 0, because the search ran."""
    text = indexed.ok("mem", "search", "xyzabc123")
    assert text.startswith("No relevant results found\n\nSuggestions:\n")


def test_get_prints_the_chunk_on_stdout_and_talk_on_stderr(indexed: Shell) -> None:
    done = indexed.run("mem", "get", "auth_manager.py:authenticate_user")
    assert done.stdout.startswith("def authenticate_user(name, password):\n")
    assert done.stderr == "auth_manager.py:authenticate_user (function, lines 11-13)\n"


def test_it_rebuild_02_manual_rebuild(indexed: Shell) -> None:
    """FR-8.3"""
    done = indexed.run("mem", "rebuild-bm25")
    assert done.stderr == "Rebuilding BM25 index for 7 chunks...\n"
    assert done.stdout.startswith("BM25 index: Built (7 chunks indexed, saved to ")


def test_a_changed_file_is_noticed_and_a_deleted_one_leaves(indexed: Shell) -> None:
    write_tree(indexed.cwd, {"settings.py": "def brand_new(): pass\n"})
    (indexed.cwd / "notes.md").unlink()
    indexed.ok("mem", "index")
    assert "brand_new" in indexed.ok("mem", "search", "brand_new")
    assert not column(indexed.ok("mem", "search", "TIMEOUT", "--mode", "keyword"), 0)
    assert "notes.md" not in indexed.ok("mem", "search", "authentication works")


def test_secrets_and_binaries_are_left_out_and_said(shell: Shell) -> None:
    write_tree(shell.cwd, {".env": "PASSWORD=hunter2\n", "x.bin": b"\0\1\2"})
    done = shell.run("mem", "index")
    assert "Left out 2 files: " in done.stderr
    assert "1 looks like a secret" in done.stderr
    assert not column(shell.ok("mem", "search", "hunter2", "--mode", "keyword"), 0)


def test_a_reader_that_has_seen_enough_is_no_error(indexed: Shell) -> None:
    done = indexed.bash("aur mem search password --limit 50 | head -1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("query", ["TIMEOUT", "how authentication works", "logout", "认证流程"])
def test_file_and_name_of_a_row_are_the_id_to_get(indexed: Shell, query: str) -> None:
    file, _, name, *_ = indexed.ok("mem", "search", query).splitlines()[2].split(" | ")
    assert indexed.ok("mem", "get", f"{file.strip()}:{name.strip()}")


def test_a_use_that_cannot_be_remembered_does_not_hide_the_chunk(
    indexed: Shell, backend: str
) -> None:
    if backend == "sqlite":
        pytest.skip("tests/concurrency/test_held_locks.py has it: a file with a trigger is refused")
    indexed.alter(
        "",
        "ALTER TABLE accesses ADD CONSTRAINT full_disk CHECK (false) NOT VALID",
    )
    done = indexed.run("mem", "get", "auth_manager.py:authenticate_user")
    assert (done.returncode, "Check a password" in done.stdout) == (0, True)
    assert "Warning: This use is not remembered: " in done.stderr


@without_memory
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("serach", "x"), "aur search"),
        (("stats",), "aur mem stats"),
        (("mem", "serach", "x"), "aur mem search"),
        (("docter",), "aur doctor"),
        (("get", "x"), "aur mem get"),
    ],
    ids=" ".join,
)
def test_a_command_that_is_none_is_answered_with_the_one_that_was_meant(
    shell: Shell, typed: tuple[str, ...], meant: str
) -> None:
    assert f"Did you mean `{meant}`?" in shell.fails(*typed)


@without_memory
def test_a_command_like_no_other_is_just_none(shell: Shell) -> None:
    assert shell.fails("xyzzy").endswith("Error: No such command 'xyzzy'.\n")
    assert "No such option" in shell.fails("--lmit")
