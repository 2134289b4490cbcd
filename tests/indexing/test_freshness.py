"""A memory that follows its files, as a Python program uses it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.errors import SourceError, StoreFormatError
from aurora.types import Event, Note, Progress
from tests.builders import NOW, write_tree


class World:
    """Two folders, a memory, and what it told."""

    def __init__(self, root: Path, home: Path) -> None:
        self.one = write_tree(root / "one", {"a.py": "def first(): pass\n"})
        self.two = write_tree(root / "two", {"b.py": "def second(): pass\n"})
        self.told: list[Note] = []
        self.memory = Memory(Places(home, root), listen=self.hear, now=lambda: NOW)

    def hear(self, event: Event) -> None:
        if isinstance(event, Note) and not event.text.startswith("Rebuilding"):
            self.told.append(event)

    def find(self, word: str) -> list[str]:
        return [result.chunk_id for result in self.memory.search(word, mode="keyword").results]


@pytest.fixture
def world(root: Path, tmp_path: Path) -> Iterator[World]:
    world = World(root, tmp_path / "home")
    with world.memory:
        yield world


def bursts_of(*changes: object) -> Iterable[object]:
    """Bursts that happen when they are asked for: each change is a function to call."""
    for change in changes:
        assert callable(change)
        yield change()


def test_a_run_comes_first_and_then_one_after_every_burst(world: World) -> None:
    bursts = bursts_of(
        lambda: write_tree(world.one, {"a.py": "def other(): pass\n", "c.py": "x = 1\n"}),
        lambda: write_tree(world.one, {"c.py": "x = 1\n"}),  # only its date is new
        (world.two / "b.py").unlink,
        lambda: write_tree(world.one, {"d.bin": b"\0"}),
    )
    runs = list(world.memory.watch(world.one, world.two, bursts=bursts))

    assert [(run.report.parsed, run.report.removed, run.changed) for run in runs] == [
        (2, 0, True), (2, 0, True), (0, 0, False), (0, 1, True), (0, 0, True),
    ]  # fmt: skip
    assert runs[-1].report.skipped == {"binary": 1}
    assert (runs[0].at, runs[0].seconds) == (NOW, 0.0)
    assert world.find("other") == ["one/a.py:other"]
    assert "two/b.py:second" not in world.find("second")


def test_a_first_run_that_fails_is_an_error(world: World) -> None:
    with pytest.raises(SourceError, match="no file or folder"):
        list(world.memory.watch(world.one / "nowhere", bursts=[]))
    write_tree(
        world.memory.admin.path.parent, {"memory.db": "not a database, but long enough" * 99}
    )
    with pytest.raises(StoreFormatError):
        list(world.memory.watch(world.one, bursts=["change"]))


def test_a_later_run_that_fails_is_told_and_the_next_one_makes_good(world: World) -> None:
    database = world.memory.admin.path

    def damage() -> None:
        for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
            database.with_name(name).unlink(missing_ok=True)
        database.write_text("not a database, but long enough" * 99)
        write_tree(world.one, {"a.py": "def other(): pass\n"})

    runs = list(world.memory.watch(world.one, bursts=bursts_of(damage, database.unlink)))

    assert [run.report.parsed for run in runs] == [1, 1]
    assert [note.warning for note in world.told] == [True]
    assert world.told[0].text.endswith("The memory is as it was; the next change tries again")
    assert world.find("other") == ["one/a.py:other"]


def test_a_target_that_goes_is_told_and_one_that_comes_back_is_read(world: World) -> None:
    aside = world.two.with_name("aside")
    bursts = bursts_of(
        lambda: world.two.rename(aside),
        lambda: write_tree(world.one, {"a.py": "def other(): pass\n"}),
        lambda: write_tree(aside, {"b.py": "def third(): pass\n"}) and aside.rename(world.two),
    )
    runs = list(world.memory.watch(world.one, world.two, bursts=bursts))

    assert [run.report.parsed for run in runs] == [2, 0, 1, 1]
    assert world.told == [
        Note(f"{world.two} is gone. Its chunks stay in the memory; the others are watched on",
             warning=True),
        Note(f"{world.two} is back"),
    ]  # fmt: skip
    assert world.find("third") == ["two/b.py:third"]


def test_it_ends_when_nothing_is_left(world: World) -> None:
    runs = world.memory.watch(world.one, bursts=bursts_of(lambda: shutil.rmtree(world.one)))
    next(runs)
    with pytest.raises(SourceError, match="Nothing is left to watch"):
        next(runs)
    assert world.memory.admin.store.chunks.find_below("one") == ["one/a.py:first"]


def test_what_changes_during_a_run_is_not_lost(root: Path, tmp_path: Path) -> None:
    """With the real watcher: the file changes after the run has read it."""
    write_tree(root, {"a.py": "def first(): pass\n"})
    changes = iter([lambda: write_tree(root, {"a.py": "def second(): pass\n"})])

    def listen(event: Event) -> None:
        if event == Progress("Indexing", 1, 1):
            for change in changes:
                change()

    stop = threading.Event()
    with Memory(Places(tmp_path / "home", root), listen=listen) as memory:
        runs = memory.watch(root, stop=stop)
        assert next(runs).report.parsed == 1
        assert [chunk.name for chunk in memory.admin.chunks()] == ["first"]
        assert next(runs).report.parsed == 1
        assert memory.search("second").results[0].chunk.name == "second"
        stop.set()
        assert list(runs) == []
