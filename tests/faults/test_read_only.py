"""A memory that may be read and not written: it answers, and says why it learns nothing."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import Memory, Places
from tests.cli.conftest import once_indexed
from tests.faults.children import Children
from tests.faults.disks import Disk, small_disk
from tests.faults.questions import READING, WRITING, Reply, ask
from tests.faults.world import World, make_world
from tests.sources.repository import NOBODY

__all__ = ["once_indexed"]

ASKING = (
    ("mem", "search", "authenticate"),
    ("mem", "search", "authenticate", "--mode", "semantic"),
    ("mem", "stats"),
    ("mem", "export"),
    ("mem", "get", "authenticate_user"),
)
CHANGING = (
    ("mem", "index", "."),
    ("mem", "learn", "Measure twice"),
    ("mem", "add", "notes.md"),
    ("mem", "forget", "--yes", "notes.md"),
    ("mem", "rebuild-bm25"),
    ("config", "set", "search.bm25.k1", "1.2"),
    ("config", "set", "--project", "search.bm25.k1", "1.2"),
)


@pytest.fixture
def disk(once_indexed: Path) -> Iterator[Disk]:
    with small_disk() as disk:
        disk.put(once_indexed)
        yield disk


def test_a_memory_on_a_disk_mounted_read_only_answers(disk: Disk, once_indexed: Path) -> None:
    disk.shell.environ["AURORA_INDEX_AUTO"] = "false"  # to a search, a copied project is a new one
    whole = [disk.shell.ok(*words) for words in ASKING]
    disk.put(once_indexed)  # what was opened counts as used
    disk.make_read_only()
    assert [disk.shell.ok(*words) for words in ASKING] == whole
    doctor = disk.shell.run("doctor")
    assert "Traceback" not in doctor.stdout + doctor.stderr
    assert doctor.returncode in (0, 1, 2)


def test_it_answers_without_its_indexes_too(disk: Disk) -> None:
    whole = disk.shell.ok(*ASKING[0])
    shutil.rmtree(disk.database.with_name("indexes"))
    disk.make_read_only()
    done = disk.shell.run(*ASKING[0])
    assert (done.returncode, done.stdout) == (0, whole)
    assert "Cannot save" in done.stderr


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_a_disk_mounted_read_only_is_told_to_who_would_write(
    disk: Disk, words: tuple[str, ...]
) -> None:
    disk.make_read_only()
    said = disk.shell.fails(*words).lower()
    assert "unexpected" not in said
    assert "read-only" in said or "readonly" in said


@pytest.mark.parametrize("shared", [True, False], ids=["with its index", "alone"])
def test_a_log_that_nobody_wrote_back_is_read_or_told(disk: Disk, *, shared: bool) -> None:
    """What it holds is part of the memory: an answer without it would be another one."""
    shell, folder = disk.shell, disk.database.parent
    with Memory(Places(shell.home, shell.cwd)) as memory:
        memory.learn("Measure twice")
        shutil.copytree(folder, disk.folder / "killed")
    shutil.rmtree(folder)
    (disk.folder / "killed").rename(folder)
    assert disk.database.with_name("memory.db-wal").stat().st_size
    if not shared:
        disk.database.with_name("memory.db-shm").unlink()
    disk.make_read_only()
    if shared:
        assert "Measure twice" in shell.ok("mem", "search", "measure")
    else:
        said = shell.fails("mem", "search", "measure")
        assert str(disk.database) in said
        assert "hint: " in said


@pytest.fixture(scope="module")
def forbidden(children: Children) -> Iterator[World]:
    """A memory that somebody may read, and not write: neither the files nor the folder."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are other ones here")
    with tempfile.TemporaryDirectory(prefix="aurora-forbidden-") as folder:
        yield children.run(make_world, Path(folder))
        _allow(Path(folder), read_only=False)


def _allow(folder: Path, *, read_only: bool) -> None:
    """All of it belongs to an ordinary user, who may read it, or write it as well."""
    folder.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        mode = 0o755 if stat.S_ISDIR(path.lstat().st_mode) else 0o644
        path.chmod(mode & 0o555 if read_only else mode)


def ask_as_reader(world: World, question: str) -> tuple[Reply, Reply]:
    """What is answered to one who may write, and then to one who may not."""
    _allow(world.folder, read_only=False)
    world.restore()
    whole = ask(world, question)
    world.restore()
    _allow(world.folder, read_only=True)
    if os.geteuid() == 0:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    assert not os.access(world.memory_folder, os.W_OK, effective_ids=True)
    return whole, ask(world, question)


@pytest.mark.parametrize("question", READING)
def test_a_memory_that_may_only_be_read_answers(
    children: Children, forbidden: World, question: str
) -> None:
    whole, reply = children.run(ask_as_reader, forbidden, question)
    assert (reply.error, reply.raw) == ("", "")
    assert reply.answer == whole.answer


@pytest.mark.parametrize("question", WRITING)
def test_who_may_not_write_a_memory_is_told_so(
    children: Children, forbidden: World, question: str
) -> None:
    _, reply = children.run(ask_as_reader, forbidden, question)
    assert reply.raw == ""
    assert str(forbidden.memory_folder) in reply.error
    assert "\n\nhint: " in reply.error
