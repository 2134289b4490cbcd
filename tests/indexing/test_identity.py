"""Files that were edited and look as before, and files that look new and were not edited."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.indexing.indexer import IndexReport
from tests.cli.conftest import Shell
from tests.sources.repository import git, make_repository, own_git

__all__ = ["own_git"]

FILES: dict[str, str | bytes] = {
    "a.py": "def f():\n    return 'one'\n",
    "b.py": "def g():\n    return 'two'\n",
    "c.bin": b"\0\1\2",
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A repository that is indexed."""
    places = Places(tmp_path / "home", make_repository(tmp_path / "project", FILES))
    assert index(places).parsed == 2
    return places


def index(places: Places, *, force: bool = False) -> IndexReport:
    assert places.project is not None
    with Memory(places) as memory:
        return memory.index(places.project, force=force)


def found(places: Places, word: str) -> list[str]:
    with Memory(places) as memory:
        results = memory.search(word, mode="keyword").results
        return [result.chunk_id for result in results if word in result.content]


def edit(path: Path) -> None:
    """Other content of the same size, in place, with the old modification time."""
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"one", b"six"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_an_edited_file_of_the_same_size_and_time_is_read(places: Places) -> None:
    assert places.project is not None
    edit(places.project / "a.py")
    assert git(places.project, "status", "--short") == " M a.py\n"

    report = index(places)

    assert (report.parsed, report.unchanged) == (1, 1)
    assert (found(places, "six"), found(places, "one")) == (["a.py:f"], [])


def test_a_replaced_file_of_the_same_size_and_time_is_read(places: Places) -> None:
    assert places.project is not None
    other = places.project / "other"
    shutil.copy2(places.project / "a.py", other)
    edit(other)
    other.replace(places.project / "a.py")

    assert (index(places).parsed, found(places, "six")) == (1, ["a.py:f"])


def test_a_copied_project_is_read_and_neither_parsed_nor_embedded_nor_asked_about(
    places: Places, tmp_path: Path
) -> None:
    assert places.project is not None
    copy = Places(places.home, tmp_path / "copy")
    shutil.copytree(places.project, tmp_path / "copy")

    report = index(copy)

    assert (report.parsed, report.unchanged, report.removed) == (0, 2, 0)
    assert (report.embedded.made, report.histories, dict(report.skipped)) == (0, 0, {"binary": 1})
    edit(tmp_path / "copy" / "a.py")
    assert (index(copy).parsed, found(copy, "six")) == (1, ["a.py:f"])


def forget_identities(places: Places) -> None:
    """As a memory of an older version is."""
    with Memory(places) as memory:
        states = memory.admin.store.chunks.file_states().values()
        memory.admin.store.chunks.put_file_states(replace(state, identity="") for state in states)


def test_an_older_memory_is_not_read_anew_and_learns_the_identities(places: Places) -> None:
    assert places.project is not None
    forget_identities(places)
    edit(places.project / "a.py")

    report = index(places)

    assert (report.parsed, report.unchanged, found(places, "six")) == (0, 2, [])  # not opened
    with Memory(places) as memory:
        assert all(state.identity for state in memory.admin.store.chunks.file_states().values())
    edit(places.project / "a.py")  # from here on the identity counts
    assert (index(places).parsed, found(places, "six")) == (1, ["a.py:f"])


def test_force_reads_every_file(places: Places) -> None:
    assert places.project is not None
    forget_identities(places)
    edit(places.project / "a.py")
    assert index(places).parsed == 0

    report = index(places, force=True)

    assert (report.parsed, report.unchanged, found(places, "six")) == (1, 1, ["a.py:f"])
    assert (index(places).parsed, index(places, force=True).embedded.made) == (0, 0)


def test_force_is_an_option_of_the_command(places: Places, tmp_path: Path) -> None:
    assert places.project is not None
    shell = Shell(places.project, tmp_path / "home")
    forget_identities(places)
    edit(places.project / "a.py")

    shell.ok("mem", "index")
    assert "one" in shell.ok("mem", "get", "a.py:f")
    shell.ok("mem", "index", "--force")
    assert "six" in shell.ok("mem", "get", "a.py:f")
