"""Only its owner can read a memory, whatever umask the shell has."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.files import replacing, require_own
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.cli.forking import AUR
from tests.sources.repository import git

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes say nothing on Windows")


def run(shell: Shell, *words: str) -> None:
    """A process of its own, whose umask hides nothing."""
    subprocess.run(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", AUR, *words],
        cwd=shell.cwd, env=shell.environment, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    root = write_tree(tmp_path / "project", {"a.py": "def first():\n    return 1\n"})
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return Shell(root, tmp_path / "deep" / "below" / "home")


def open_to_others(folder: Path) -> Iterator[str]:
    for path in (folder, *folder.rglob("*")):
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield path.relative_to(folder.parent).as_posix()


def test_all_that_is_made_is_its_owners_alone(shell: Shell) -> None:
    run(shell, "mem", "index", ".")
    run(shell, "mem", "learn", "a lesson")
    run(shell, "mem", "search", "first")
    run(shell, "config", "set", "search.mode", "keyword")
    write_tree(shell.cwd, {".aurora/config.yml": "indexing:\n  workers: 8\n"})
    (shell.cwd / ".aurora" / "config.yml").chmod(0o600)
    assert shell.approve()[0] == 0
    run(shell, "mem", "export", "all.jsonl")

    made = {path.name for path in (shell.cwd / ".aurora").rglob("*")}
    assert {"memory.db", "bm25.idx", "vectors.idx", "config.yml", "memory.db-indexing"} <= made
    at_home = {path.name for path in shell.home.rglob("*")}
    assert at_home >= {"config.yml", "aurora.log", "cache", "vectors", "history"}
    assert {Path(name).suffix for name in at_home} >= {".book", ".db"}
    assert list(open_to_others(shell.cwd / ".aurora")) == []
    assert list(open_to_others(shell.home)) == []
    assert (shell.cwd / "all.jsonl").stat().st_mode & 0o777 == 0o600


def test_folders_above_are_made_for_the_owner_alone(shell: Shell) -> None:
    run(shell, "config", "set", "search.mode", "keyword")

    assert list(open_to_others(shell.home.parent.parent)) == []


def test_the_log_that_took_the_place_of_a_full_one_is_the_owners_alone(shell: Shell) -> None:
    log = write_tree(shell.home, {"logs/aurora.log": "x" * 1_000_000}) / "logs" / "aurora.log"
    log.chmod(0o600)

    run(shell, "mem", "index", ".")  # warns of no conversation logs

    assert log.with_name("aurora.log.1").exists()
    assert log.stat().st_mode & 0o777 == 0o600


def test_while_it_is_written_the_log_of_the_database_is_the_owners_alone(shell: Shell) -> None:
    run(shell, "mem", "index", ".")
    with shell.store() as store, store.transaction():
        assert (shell.cwd / ".aurora" / "memory.db-wal").exists()
        assert list(open_to_others(shell.cwd / ".aurora")) == []


def test_writing_a_file_takes_away_only_what_a_killed_process_left(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    kept = ["all.jsonl.old.tmp", "all.jsonl.tmp", "all.jsonl.1x.2.tmp", "other.999999999.tmp",
            f"all.jsonl.7.{os.getppid()}.tmp"]  # fmt: skip
    left = ["all.jsonl.7.999999999.tmp", "all.jsonl.999999999.tmp"]
    write_tree(tmp_path, dict.fromkeys([*kept, *left], "words"))
    with replacing(path) as out:
        out.write(b"whole")
    assert {file.name for file in tmp_path.iterdir()} == {"all.jsonl", *kept}
    assert path.read_bytes() == b"whole"


def test_a_folder_is_checked_while_its_files_come_and_go(tmp_path: Path) -> None:
    """SQLite and other processes make and remove files there at any moment."""
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            for number in range(50):
                (tmp_path / f"{number}.tmp").touch(0o600)
            for number in range(50):
                (tmp_path / f"{number}.tmp").unlink()

    busy = threading.Thread(target=come_and_go)
    busy.start()
    try:
        for _ in range(2000):
            require_own(tmp_path)
    finally:
        is_over.set()
        busy.join()
