"""A disk that gets full at some point: nothing is lost, and with space again all completes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import make_repository, once_indexed
from tests.faults.conftest import some
from tests.faults.disks import Disk, small_disk
from tests.indexing.remembered import remembered
from tests.sources.repository import git

__all__ = ["once_indexed"]

LEAVING = (0, 4, 12, 24, 48, 96, 160, 256, 400, 600)  # KiB: the log alone takes more than most
WRITING = {
    "index": ("mem", "index", "."),
    "learn": ("mem", "learn", "Measure twice, cut once"),
    "add": ("mem", "add", "notes.md"),
    "forget": ("mem", "forget", "--yes", "auth_manager.py"),
    "rebuild": ("mem", "rebuild-bm25"),
    "set": ("config", "set", "search.bm25.k1", "1.2"),
    "export": ("mem", "export", "--force", "out.jsonl"),
}
_SHARED = 36 * 1024  # what processes share that read one database, and a page for its log
SEARCHING = {
    "search": ("mem", "search", "authenticate"),
    "get": ("mem", "get", "authenticate_user"),
    "stats": ("mem", "stats", "--json"),
}


@pytest.fixture
def disk() -> Iterator[Disk]:
    with small_disk() as disk:
        yield disk


def sizes(number: int) -> Iterator[int]:
    """How much to leave, in bytes; by default a few, others for each test."""
    wanted = some(2, len(LEAVING))
    yield from (1024 * LEAVING[(number + 4 * n) % len(LEAVING)] for n in range(wanted))


def refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command gave up, as a command should; otherwise it has done its work."""
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr  # what a command says of an error that is not ours
    assert done.returncode in (0, 2), done.stderr
    if done.returncode == 2:
        assert "full" in done.stderr or "space" in done.stderr
    return done.returncode == 2


@pytest.mark.parametrize("name", WRITING)
def test_what_cannot_be_written_is_told_and_completes_when_there_is_space(
    disk: Disk, once_indexed: Path, name: str
) -> None:
    disk.put(once_indexed)
    before = texts(disk)
    disk.edit()
    disk.shell.ok(*WRITING[name])
    after = texts(disk)
    for leaving in sizes(list(WRITING).index(name)):
        disk.put(once_indexed)
        disk.edit()
        disk.fill(leaving)
        failed = refused(disk.shell.run(*WRITING[name]))
        disk.free()
        found = texts(disk)
        assert found.items() >= before.items() & after.items()  # nothing is lost
        assert found.items() <= before.items() | after.items()  # nothing is half
        if not failed:
            assert found == after
        if found != after:
            disk.shell.ok(*WRITING[name])
        assert texts(disk) == after
        assert "notes.md" in disk.shell.ok("mem", "search", "login")


def texts(disk: Disk) -> dict[str, str]:
    """What is remembered, in a database that is whole."""
    chunks = remembered(disk.shell.cwd / ".aurora" / "memory.db").chunks
    return {id_: chunk.content for id_, chunk in chunks.items()}


def test_a_first_index_that_finds_no_space_is_told_and_completes_later(disk: Disk) -> None:
    shell = make_repository(disk.folder)
    shell.ok("mem", "index", ".")
    after = texts(disk)
    for leaving in sizes(2):
        shutil.rmtree(shell.cwd / ".aurora")
        disk.fill(leaving)
        refused(shell.run("mem", "index", "."))
        disk.free()
        shell.ok("mem", "index", ".")
        found = {id_: text for id_, text in texts(disk).items() if not id_.startswith(".aurora/")}
        assert found == after


@pytest.mark.parametrize("name", ["search", "get"])
def test_a_disk_with_space_for_nothing_but_sqlite_can_be_asked(
    disk: Disk, once_indexed: Path, name: str
) -> None:
    """Indexes that are gone are made again, and only not kept."""
    disk.put(once_indexed)
    whole = disk.shell.ok(*SEARCHING[name])
    shutil.rmtree(disk.database.with_name("indexes"))
    disk.fill(leaving=_SHARED)
    done = disk.shell.run(*SEARCHING[name])
    assert (done.returncode, done.stdout) == (0, whole)
    assert ("Cannot save" in done.stderr) == (name == "search")


@pytest.mark.parametrize("name", SEARCHING)
def test_a_full_disk_can_be_asked(disk: Disk, once_indexed: Path, name: str) -> None:
    disk.put(once_indexed)
    whole = disk.shell.ok(*SEARCHING[name])
    disk.fill(leaving=0)
    assert disk.shell.ok(*SEARCHING[name]) == whole


def test_git_never_sees_a_memory_that_was_begun_on_a_full_disk(disk: Disk) -> None:
    shell = make_repository(disk.folder)
    disk.fill(leaving=0)
    assert refused(shell.run("mem", "index", "."))
    disk.free()
    shell.ok("mem", "index", ".")
    assert ".aurora" not in git(shell.cwd, "status", "--short", "--untracked-files=all")


def test_settings_stay_as_they_were(disk: Disk, once_indexed: Path) -> None:
    disk.put(once_indexed)
    disk.shell.ok("config", "set", "search.bm25.k1", "1.4")
    file = disk.shell.home / "config.yml"
    written = file.read_text(encoding="utf-8") + "# a remark\n" * 3000
    file.write_text(written, encoding="utf-8")
    disk.fill(leaving=0)
    assert refused(disk.shell.run("config", "set", "search.bm25.k1", "1.2"))
    assert file.read_text(encoding="utf-8") == written
    assert [path.name for path in disk.shell.home.iterdir() if "tmp" in path.name] == []
