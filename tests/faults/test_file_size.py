"""A limit on the size of files: what does not fit is told, and leaves no half of a file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builders import note_as_own
from tests.cli.conftest import Shell, make_repository, once_indexed
from tests.faults.conftest import some
from tests.indexing.remembered import remembered

__all__ = ["once_indexed"]

SIZES = (4, 16, 64, 100, 150, 250)  # KiB
SHARED = 36  # KiB: SQLite needs a file of 32 to read
QUERY = 'aur mem search "authenticate user"'


@pytest.fixture
def shell(tmp_path: Path, once_indexed: Path) -> Shell:
    shell = make_repository(tmp_path)
    shell.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # Python would keep what it could write of it
    shutil.copytree(once_indexed, tmp_path, dirs_exist_ok=True)
    note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
    return shell


def limited(shell: Shell, command: str, kibibytes: int) -> subprocess.CompletedProcess[str]:
    done = shell.bash(f"ulimit -f {kibibytes} && {command}")
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr  # what a command says of an error that is not ours
    assert done.returncode in (0, 2), done.stderr
    assert done.returncode == 0 or done.stderr.startswith("Error: ")
    return done


def leftovers(shell: Shell) -> list[str]:
    """Files that were begun and not finished."""
    folders = (shell.cwd, shell.home)
    return [str(path) for folder in folders for path in folder.rglob("*.tmp*")]


def test_an_index_that_does_not_fit_into_a_file_answers_all_the_same(shell: Shell) -> None:
    whole = shell.bash(QUERY).stdout
    indexes = shell.cwd / ".aurora" / "indexes"
    shutil.rmtree(indexes)
    done = limited(shell, QUERY, SHARED)
    assert (done.returncode, done.stdout) == (0, whole)
    assert f"Cannot save the BM25 index to {indexes}/bm25.idx" in done.stderr
    assert leftovers(shell) == []
    assert not (indexes / "bm25.idx").exists()
    assert shell.bash(QUERY).stdout == whole
    assert (indexes / "bm25.idx").exists()


def test_an_export_that_does_not_fit_into_a_file_leaves_the_one_before(shell: Shell) -> None:
    (shell.cwd / "long.txt").write_text("A long story. " * 5000, encoding="utf-8")
    shell.ok("mem", "add", "long.txt")
    (shell.cwd / "out.jsonl").write_text("yesterday's\n", encoding="utf-8")
    done = limited(shell, "aur mem export --force out.jsonl", SHARED)
    assert done.returncode == 2
    assert "out.jsonl" in done.stderr
    assert "File too large" in done.stderr
    assert (shell.cwd / "out.jsonl").read_text(encoding="utf-8") == "yesterday's\n"
    assert leftovers(shell) == []


def test_settings_that_do_not_fit_into_a_file_stay_as_they_were(shell: Shell) -> None:
    shell.ok("config", "set", "search.bm25.k1", "1.4")
    file = shell.home / "config.yml"
    written = file.read_text(encoding="utf-8") + "# a remark\n" * 1000
    file.write_text(written, encoding="utf-8")
    done = limited(shell, "aur config set search.bm25.k1 1.2", 4)
    assert done.returncode == 2
    assert "config.yml: [Errno 27] File too large" in done.stderr
    assert file.read_text(encoding="utf-8") == written
    assert leftovers(shell) == []


def test_a_log_that_may_not_grow_spoils_no_answer(shell: Shell) -> None:
    whole = shell.bash(QUERY).stdout
    log = shell.home / "logs" / "aurora.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("a line\n" * 6000, encoding="utf-8")
    (shell.cwd / ".aurora" / "indexes" / "bm25.idx").write_bytes(b"no index")  # worth a line
    done = limited(shell, QUERY, SHARED)
    assert (done.returncode, done.stdout) == (0, whole)
    assert log.read_text(encoding="utf-8") == "a line\n" * 6000


@pytest.mark.parametrize("kibibytes", SIZES[:: some(3, 1)])
def test_a_memory_that_outgrows_a_file_loses_nothing_and_completes_later(
    shell: Shell, kibibytes: int
) -> None:
    shutil.rmtree(shell.cwd / ".aurora")
    limited(shell, "aur mem index .", kibibytes)
    shell.ok("mem", "index", ".")
    chunks = remembered(shell.cwd / ".aurora" / "memory.db").chunks
    assert sorted({chunk.path for chunk in chunks.values()}) == [
        "auth_manager.py",
        "notes.md",
        "settings.py",
        "用户.py",
    ]
