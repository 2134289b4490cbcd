"""`aur mem index`: what it says, how it ends, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from aurora.sources.reading import MAX_BYTES
from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell, settle, words_of
from tests.sources.repository import git, make_repository

LOG = "# Conversation: OAuth\nDate: 2025-12-15\nQuery: how\n\n" + "".join(
    f"## Phase {number}: Part\nWords of phase {number}.\n\n" for number in range(1, 10)
)
NO_LOGS = "Warning: No conversation logs found in ~/home/logs/conversations/"
NO_KNOWLEDGE = "Note: No conversation logs found. Run SOAR queries to generate knowledge chunks."
ALWAYS_UNREADABLE = Path("/proc/self/mem")  # even for root, who may read a file of mode 000

# Says which files Python has opened, whatever the command was.
WATCHED = """
import json, os, sys
opened = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(os.path.abspath(arguments[0]))
sys.addaudithook(watch)
from aurora.cli.main import main
try:
    main()
finally:
    print("opened:" + json.dumps(opened))
"""

# Until a setting chooses a provider, only a Python program can give one.
WITH_A_PROVIDER = """
import functools, sys
from aurora import engine
from aurora.cli import main
from aurora.engine import Memory
from tests.indexing.providers import failing_for
engine.Memory = functools.partial(Memory, embedder=failing_for(sys.argv.pop(1)))
main.main()
"""


CHUNKS_OF_LOG = 9  # they are in the person's memory


def summary(
    shell: Shell, *, files: int, code: int, reasoning: int = 0, knowledge: int = 0,
    errors: int = 0, warnings: int = 0,
) -> str:  # fmt: skip
    """Seed 000, FR-11.1 and FR-11.5, to the letter."""
    total = code + reasoning + knowledge
    own = total - (CHUNKS_OF_LOG if (shell.home / "memory.db").exists() else 0)
    backend = "postgres" if (shell.cwd / ".aurora" / "config.yml").exists() else "sqlite"
    return (
        "Indexing complete!\n\nSummary:\n"
        f"  Files scanned: {files}\n  Code chunks: {code}\n  Reasoning chunks: {reasoning}\n"
        f"  Knowledge chunks: {knowledge}\n  Total chunks: {total}\n\n"
        f"  Errors: {errors}\n  Warnings: {warnings}\n\n"
        f"BM25 index: Built ({own} chunks indexed, saved to {words_of(backend)})\n"
    )


def python(shell: Shell, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a Python of its own, with something done before it."""
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=shell.cwd,
        env=shell.environment | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    root = make_repository(
        tmp_path / "project",
        {"a.py": "def f(): pass\n\n\nclass A:\n    def m(self): pass\n", "b.go": "package b\n"},
    )
    return settle(Shell(root, tmp_path / "user" / "home"), backend, request)


def write_logs(shell: Shell) -> Path:
    logs = shell.home / "logs" / "conversations" / "2025" / "12"
    write_tree(logs, {"oauth-2025-12-15.md": LOG})
    return logs / "oauth-2025-12-15.md"


def test_it_error_01_missing_logs_are_a_warning_and_a_note(shell: Shell) -> None:
    """FR-10.1, FR-11.3 and FR-11.6"""
    done = shell.run("mem", "index")
    assert (done.returncode, done.stdout) == (0, summary(shell, files=2, code=4, warnings=1))
    assert done.stderr == f"{NO_LOGS}\n{NO_KNOWLEDGE}\n"
    assert shell.run("mem", "index").stderr == ""  # once


def test_code_lessons_and_logs_are_counted_apart(shell: Shell) -> None:
    """FR-11.2: what was replaced is no chunk that can be found; a lesson that failed is one."""
    write_logs(shell)
    shell.ok("init")
    shell.ok("mem", "learn", "retry with backoff")
    old = shell.ok("mem", "learn", "sleep for an hour").strip()
    shell.ok("mem", "learn", "retry at once", "--score", "0.2", "--replaces", old)
    done = shell.run("mem", "index")
    expected = summary(shell, files=3, code=4, reasoning=2, knowledge=9)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    assert shell.ok("mem", "index") == expected


def test_a_phase_of_a_log_is_got_by_what_the_table_shows_of_it(shell: Shell) -> None:
    """Its id is made of the file's name and a number, which no table shows."""
    text = "# Conversation: Login\n\n## Assessment\n\nfor OAuth\n\n## Decision\n\nwithout it\n"
    write_tree(write_logs(shell).parent, {"login-2025-12-16.md": text})
    shell.ok("mem", "index")
    (found, *_) = shell.ok("mem", "search", "decision").splitlines()[2:]
    file, _, name, *_ = (cell.strip() for cell in found.split(" | "))
    done = shell.run("mem", "get", f"{file}:{name}")
    assert (done.returncode, done.stderr[:10]) == (0, "conv-login"), done.stderr
    assert "There is no chunk" in shell.fails("mem", "get", f"{file}:{name} and more")


def test_notes_of_the_project_are_knowledge_too(shell: Shell) -> None:
    """The warning of missing logs stays, the note that there is no knowledge does not."""
    write_tree(shell.cwd, {"notes.md": "# Login\n\nHow it works.\n"})
    done = shell.run("mem", "index")
    assert done.stdout == summary(shell, files=3, code=4, knowledge=1, warnings=1)
    assert done.stderr == f"{NO_LOGS}\n"


def test_warnings_of_files_are_counted_and_end_well(shell: Shell) -> None:
    write_logs(shell)
    write_tree(
        shell.cwd, {"bad.py": "def (:\n", "worse.py": "class\n", "c.bin": b"\0", "d.py": b"\xff"}
    )
    done = shell.run("mem", "index")
    assert done.returncode == 0
    assert "  Files scanned: 7\n" in done.stdout
    assert "  Errors: 0\n  Warnings: 2\n" in done.stdout
    assert done.stderr.splitlines() == [
        "Left out 2 files: 1 binary, 1 not UTF-8 (`aur mem stats --left-out`)",
        "Warning: bad.py has syntax errors: 1 line could not be parsed",
        "Warning: worse.py has syntax errors: 1 line could not be parsed",
    ]  # fmt: skip


@pytest.mark.skipif(not ALWAYS_UNREADABLE.exists(), reason="Linux only")
def test_a_file_that_cannot_be_read_is_a_partial_success(shell: Shell) -> None:
    write_logs(shell)
    done = shell.run("mem", "index", ".", str(ALWAYS_UNREADABLE))
    assert (done.returncode, done.stdout) == (
        1, summary(shell, files=4, code=4, knowledge=9, warnings=1),
    )  # fmt: skip
    first, second = done.stderr.splitlines()
    assert first == "Left out 1 files: 1 unreadable (`aur mem stats --left-out`)"
    assert second.startswith("Warning: /proc/")
    assert second.endswith("/mem: unreadable: Input/output error")
    assert "a.py" in shell.ok("mem", "search", "f")


@in_a_file
def test_a_target_that_is_not_there_fails_before_anything_is_made(shell: Shell) -> None:
    talk = shell.fails("mem", "index", ".", "nowhere")
    assert talk.startswith("Error: There is no file or folder nowhere\n")
    assert not (shell.cwd / ".aurora").exists()


def test_of_two_targets_one_that_git_refuses_is_an_error_and_the_other_is_read(
    shell: Shell, tmp_path: Path
) -> None:
    """FR-11.4: with others it is counted; alone it is the end."""
    write_logs(shell)
    broken = write_tree(tmp_path / "broken", {"x.py": "", ".git": "gitdir: nowhere\n"})

    done = shell.run("mem", "index", ".", str(broken))

    assert (done.returncode, done.stdout) == (
        1, summary(shell, files=3, code=4, knowledge=9, errors=1),
    )  # fmt: skip
    assert done.stderr.startswith(f"Error: git cannot tell which files of {broken} count: ")
    assert "a.py" in shell.ok("mem", "search", "f")
    alone = shell.fails("mem", "index", str(broken))
    assert alone.startswith(f"Error: git cannot tell which files of {broken} count: ")
    assert "hint: " in alone


def test_it_error_02_embedding_failure_is_told_and_counted(shell: Shell) -> None:
    """FR-10.2 and FR-11.3, in the seed's words."""
    write_logs(shell)
    done = python(shell, WITH_A_PROVIDER, "class A", "mem", "index")
    assert (done.returncode, done.stdout) == (
        1, summary(shell, files=3, code=4, knowledge=9, warnings=1),
    )  # fmt: skip
    assert done.stderr == (
        "Warning: Failed to generate embedding for chunk a.py:A: model is away\n"
        "Indexed 12/13 chunks (1 failed)\n"
    )
    assert "a.py" in shell.ok("mem", "search", "A")
    again = python(shell, WITH_A_PROVIDER, "nothing like it", "mem", "index")
    assert (again.returncode, "Failed" in again.stderr) == (0, False)


def test_git_is_left_out_when_asked_and_filled_in_later(shell: Shell) -> None:
    write_logs(shell)
    assert shell.ok("mem", "index", "--no-git") == shell.ok("mem", "index")
    folder = shell.home / "cache" / "history"
    assert len(list(folder.glob("history-*.book"))) == 1


def test_without_git_in_the_path_everything_is_read_with_a_warning(
    shell: Shell, tmp_path: Path
) -> None:
    write_logs(shell)
    shell.ok("init")
    done = Shell(shell.cwd, shell.home, {"PATH": str(tmp_path)}).run("mem", "index")
    assert (done.returncode, done.stdout) == (
        0, summary(shell, files=3, code=4, knowledge=9, warnings=1),
    )  # fmt: skip
    assert done.stderr.startswith("Warning: There is no git program: ")


LEFT_OUT: dict[str, str | bytes] = {
    "picture.bin": b"\0" * 100,
    "latin.py": b"caf\xe9 = 1\n",
    "made.py": "# @generated\nx = 1\n",
    "small.js": "x=1;" * 2000,
    "huge.txt": "x\n" * MAX_BYTES,
    "package-lock.json": "{}",
    ".env": "TOKEN=1\n",
    "vendor/lib.py": "x = 1\n",
    "secret/notes.md": "# Not this\n",
    ".auroraignore": "secret/\n",
    "empty.py": "",
    "blank.md": "\n\n",
}


def in_tables(shell: Shell) -> dict[str, list[tuple[object, ...]]]:
    """All that the database holds, but when it was indexed."""
    with closing(sqlite3.connect(shell.cwd / ".aurora" / "memory.db")) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        rows = {name: database.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}
    rows["facts"] = [fact for fact in rows["facts"] if fact[0] != "indexed_at"]
    return rows


OWN = (".git", ".aurora", "indexes")  # the last is opened by a handle of the folder above it


@in_a_file
@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_a_second_run_opens_no_file(shell: Shell, with_git: bool) -> None:
    """Neither those that were read, nor those that were left out for what is in them."""
    log = write_logs(shell)
    write_tree(log.parent, {
        "large-2025-12-15.md": LOG + ("=" * 99 + "\n") * (MAX_BYTES // 100 + 1),
        "cut-2025-12-15.md": LOG.encode() + b"\xff",
    })  # fmt: skip
    write_tree(shell.cwd, LEFT_OUT)
    if not with_git:
        shutil.rmtree(shell.cwd / ".git")
    shell.ok("init")

    def opened() -> list[str]:
        done = python(shell, WATCHED, "mem", "index")
        assert done.returncode == 0, done.stderr
        files = [Path(file) for file in json.loads(done.stdout.rpartition("opened:")[2])]
        inside = [
            file.relative_to(shell.cwd)
            for file in files
            if file.is_relative_to(shell.cwd) and file != shell.cwd
        ]
        mine = [f.as_posix() for f in inside if f.parts[0] not in OWN]
        logs = [file.name for file in files if file.is_relative_to(log.parent)]
        return [*mine, *logs]

    first = set(opened())
    assert {"a.py", "picture.bin", "latin.py", "made.py", log.name} <= first
    assert {"large-2025-12-15.md", "cut-2025-12-15.md"} <= first
    assert first.isdisjoint({"huge.txt", ".env", "vendor/lib.py", "secret/notes.md"})
    before = in_tables(shell)
    kept = {file: file.stat().st_mtime_ns for file in (shell.cwd / ".aurora/indexes").iterdir()}

    assert set(opened()) <= {".auroraignore", ".gitignore"}

    assert in_tables(shell) == before
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    os.utime(shell.cwd / "picture.bin", ns=(1, 1))
    assert set(opened()) <= {".auroraignore", ".gitignore", "picture.bin"}


@in_a_file
def test_a_work_tree_elsewhere_gets_no_memory(shell: Shell, tmp_path: Path) -> None:
    """A repository from an archive may name any folder; nothing is written around it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(shell.cwd, "config", "core.worktree", str(elsewhere))

    shell.run("mem", "index")

    assert not (elsewhere / ".aurora").exists()


def test_it_e2e_01_one_search_finds_code_lessons_and_logs(shell: Shell) -> None:
    """IT-E2E-01: three kinds of memory, one answer."""
    write_tree(shell.cwd, {"mail.py": "def seal_envelope():\n    return 'wax'\n"})
    write_tree(
        shell.home / "logs" / "conversations",
        {"2025/12/seal-2025-12-15.md": "# Conversation: Seals\n\n## Phase 1: Wax\nSeal it.\n"},
    )
    shell.ok("init")
    shell.ok("mem", "learn", "seal the envelope before the stamp")
    shell.ok("mem", "index")

    rows = shell.ok("mem", "search", "seal envelope wax").splitlines()[2:]

    assert {"function", "reas", "know"} <= {row.split(" | ")[1].strip() for row in rows}
