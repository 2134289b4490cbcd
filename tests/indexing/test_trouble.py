"""Bad files and interrupted runs: nothing is lost, and the next run repairs the rest."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.parsers import registry
from aurora.parsers.base import Parsed, Parser
from aurora.stores.base import FileState, Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Document, Event, Progress
from tests.builders import make_chunk, write_tree
from tests.sources.repository import as_ordinary_user, git, make_repository

ALWAYS_UNREADABLE = Path("/proc/self/mem")  # even for root, who may read a file of mode 000
FILE_COUNT, FUNCTIONS = 25, 100  # more chunks than one batch of 2,000 holds
STOP_AT = 22

INDEX_AND_DIE = """
import os, signal, sys
from pathlib import Path
from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.stores.sqlite.store import SQLiteStore

def listen(event):
    if event.done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

root = Path(sys.argv[2])
index_files(SQLiteStore(Path(sys.argv[1])), root, scan(root), listen=listen)
"""


def many_files(version: int) -> dict[str, str | bytes]:
    text = "".join(f"def f{n}():\n    return {version}\n\n\n" for n in range(FUNCTIONS))
    return {f"m{number:02}.py": text for number in range(FILE_COUNT)}


def everything(store: Store) -> tuple[list[object], dict[str, FileState]]:
    chunks = sorted(store.chunks.iter_chunks(), key=lambda chunk: chunk.id)
    states = store.chunks.file_states().items()
    return [*chunks], {path: replace(state, identity="") for path, state in states}


def interrupt(store: SQLiteStore, root: Path) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.done == STOP_AT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_files(store, root, scan(root), listen=listen)


def kill(store: SQLiteStore, root: Path) -> None:
    command = [sys.executable, "-c", INDEX_AND_DIE, str(store.path), str(root), str(STOP_AT)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


@pytest.fixture
def undisturbed(tmp_path: Path, root: Path) -> tuple[list[object], dict[str, FileState]]:
    """What a memory of the folder holds when nothing happens on the way."""
    write_tree(root, many_files(version=1000))
    with closing(SQLiteStore(tmp_path / "undisturbed" / "memory.db")) as store:
        index_files(store, root, scan(root))
        return everything(store)


@pytest.mark.parametrize("stop", [interrupt, kill])
def test_a_stopped_first_run_leaves_a_smaller_memory_and_the_next_completes_it(
    store: SQLiteStore,
    root: Path,
    undisturbed: tuple[list[object], dict[str, FileState]],
    stop: Callable[[SQLiteStore, Path], None],
) -> None:
    stop(store, root)

    chunks, states = everything(store)
    assert len(states) == 20  # the first batch: it is written when 2,000 chunks wait
    assert len(chunks) == 20 * FUNCTIONS
    assert store.maintenance.check() == []

    report = index_files(store, root, scan(root))
    assert (report.parsed, report.unchanged) == (5, 20)
    assert everything(store) == undisturbed


@pytest.mark.parametrize("stop", [interrupt, kill])
def test_a_stopped_later_run_leaves_each_file_old_or_new(
    store: SQLiteStore,
    root: Path,
    undisturbed: tuple[list[object], dict[str, FileState]],
    stop: Callable[[SQLiteStore, Path], None],
) -> None:
    write_tree(root, many_files(version=1))
    index_files(store, root, scan(root))
    write_tree(root, many_files(version=1000))
    times = {path: state.modified_ns for path, state in undisturbed[1].items()}
    for path, at in times.items():
        os.utime(root / path, ns=(at, at))

    stop(store, root)

    versions = {chunk.path: set[str]() for chunk in store.chunks.iter_chunks()}
    for chunk in store.chunks.iter_chunks():
        versions[chunk.path].add(chunk.content.split()[-1])
    assert sorted(versions.values(), key=str) == [{"1"}] * 5 + [{"1000"}] * 20
    index_files(store, root, scan(root))
    assert everything(store) == undisturbed


def test_a_file_with_syntax_errors_is_named_and_kept(store: SQLiteStore, root: Path) -> None:
    write_tree(
        root, {"a.py": "x = 1\n", "bad.py": "def f(:\n    return secret_word\n", "z.py": "y = 1\n"}
    )

    report = index_files(store, root, scan(root))

    assert (report.parsed, report.warnings) == (
        3,
        ("bad.py has syntax errors: 1 line could not be parsed",),
    )
    assert store.chunks.file_states().keys() == {"a.py", "bad.py", "z.py"}
    assert any("secret_word" in chunk.content for chunk in store.chunks.iter_chunks())


def test_a_parser_that_fails_is_counted_and_named_and_stops_nothing(
    store: SQLiteStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text is known to break a parser of ours; should one ever do, the run goes on."""

    class Broken:
        def parse(self, document: Document) -> Parsed:
            raise IndexError(document.path)

    def parser_for(path: str) -> Parser:
        return Broken() if path == "a.py" else registry.parser_for(path)

    monkeypatch.setattr("aurora.indexing.reader.parser_for", parser_for)
    write_tree(root, {"a.py": "x = 1\n", "b.md": "words\n"})

    report = index_files(store, root, scan(root))

    assert store.chunks.file_states().keys() == {"b.md"}
    assert report.warnings == ("a.py: cannot be parsed (IndexError('a.py'))",)
    assert (report.scanned, report.parsed, report.skipped) == (2, 1, {"cannot be parsed": 1})


def test_what_is_known_of_a_file_stays_while_its_parser_fails(
    store: SQLiteStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def parse(self, document: Document) -> Parsed:
            raise RecursionError(document.path)

    write_tree(root, {"a.py": "old = 1\n", "b.md": "words\n"})
    index_files(store, root, scan(root))
    write_tree(root, {"a.py": "new = 22\n"})
    with monkeypatch.context() as patch:
        patch.setattr("aurora.indexing.reader.parser_for", lambda _: Broken())
        report = index_files(store, root, scan(root))

    assert (report.failed, report.removed, report.is_partial) == (1, 0, True)
    assert {chunk.content for chunk in store.chunks.iter_chunks()} == {"old = 1", "words"}
    report = index_files(store, root, scan(root))
    assert (report.parsed, report.unchanged, report.is_partial) == (1, 1, False)
    assert {chunk.content for chunk in store.chunks.iter_chunks()} == {"new = 22", "words"}


def test_a_file_that_may_not_be_read_is_named_and_read_when_it_may() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        with as_ordinary_user(), closing(SQLiteStore(Path(name, "memory", "memory.db"))) as store:
            root = write_tree(Path(name, "project"), {"a.txt": "one", "b.txt": "two"})
            index_files(store, root, scan(root))
            write_tree(root, {"b.txt": "two and more", "c.txt": "three", "d.txt": "four"})
            for file in ("b.txt", "c.txt"):
                (root / file).chmod(0)
            report = index_files(store, root, scan(root))

            assert {chunk.content for chunk in store.chunks.iter_chunks()} == {"one", "two", "four"}
            assert (report.failed, report.removed, report.is_partial) == (2, 0, True)
            assert report.skipped == {"unreadable": 2}
            assert report.warnings == (
                "b.txt: unreadable: Permission denied", "c.txt: unreadable: Permission denied",
            )  # fmt: skip
            for file in ("b.txt", "c.txt"):
                (root / file).chmod(0o600)
            assert index_files(store, root, scan(root)).is_partial is False
            assert {chunk.content for chunk in store.chunks.iter_chunks()} == {
                "one", "two and more", "three", "four",
            }  # fmt: skip


@pytest.mark.skipif(not ALWAYS_UNREADABLE.exists(), reason="Linux only")
def test_what_is_known_of_an_unreadable_file_stays(store: SQLiteStore) -> None:
    path = ALWAYS_UNREADABLE.resolve().as_posix()
    chunk = make_chunk("remembered", path)
    store.chunks.replace_file(FileState(path, 1, 1, ""), [chunk])

    report = index_files(store, None, scan(ALWAYS_UNREADABLE))

    assert report.skipped == {"unreadable": 1}
    assert report.warnings == (f"{path}: unreadable: Input/output error",)
    assert store.chunks.get_chunks([chunk.id]) == [chunk]


def test_what_is_known_of_an_unreadable_folder_stays() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        with as_ordinary_user(), closing(SQLiteStore(Path(name, "memory", "memory.db"))) as store:
            root = write_tree(Path(name, "project"), {"a.txt": "one", "shut/b.txt": "two"})
            index_files(store, root, scan(root))
            (root / "shut").chmod(0)
            report = index_files(store, root, scan(root))
            (root / "shut").chmod(0o700)

            assert {chunk.content for chunk in store.chunks.iter_chunks()} == {"one", "two"}
            assert (report.removed, report.skipped) == (0, {"unreadable": 1})


def test_untracked_files_of_an_unreadable_folder_stay() -> None:
    """Git says nothing of them, as if they were gone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        with as_ordinary_user(), closing(SQLiteStore(Path(name, "memory", "memory.db"))) as store:
            root = make_repository(Path(name, "project"), {"a.txt": "one", "in/c.txt": "three"})
            write_tree(root, {"shut/b.txt": "two", "in/deep/d.txt": "four"})
            index_files(store, root, scan(root))
            for folder in (root / "shut", root / "in"):
                folder.chmod(0)
            report = index_files(store, root, scan(root))
            for folder in (root / "shut", root / "in"):
                folder.chmod(0o700)

            assert {chunk.content for chunk in store.chunks.iter_chunks()} == {
                "one", "two", "three", "four",
            }  # fmt: skip
            assert (report.removed, report.is_partial) == (0, True)
            shutil.rmtree(root / "shut")
            assert index_files(store, root, scan(root)).removed == 1


@pytest.mark.parametrize("becomes", [None, Path.mkdir], ids=["nothing", "a-folder"])
def test_a_file_that_goes_while_others_are_read_is_gone(
    store: SQLiteStore, root: Path, becomes: Callable[[Path], object] | None
) -> None:
    """Not unreadable: nobody has to do anything about it."""
    write_tree(root, {"a.txt": "one", "b.txt": "two", "c.txt": "three"})
    index_files(store, root, scan(root))
    write_tree(root, {"b.txt": "another two", "new.txt": "never read"})

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.done == 1:
            for name in ("b.txt", "new.txt"):
                (root / name).unlink()
                if becomes is not None:
                    becomes(root / name)

    report = index_files(store, root, scan(root), listen=listen)

    assert (report.removed, report.failed, report.warnings, report.skipped) == (1, 0, (), {})
    assert {chunk.content for chunk in store.chunks.iter_chunks()} == {"one", "three"}
    assert store.chunks.file_states().keys() == {"a.txt", "c.txt"}


@pytest.mark.parametrize("outer", ["submodule", "plain folder"])
def test_a_broken_repository_inside_costs_only_itself(
    store: SQLiteStore, root: Path, outer: str
) -> None:
    """A submodule that was copied without its repository."""
    write_tree(root, {"a.txt": "one"})
    inner = make_repository(root / "inner", {"b.txt": "two"})
    if outer == "submodule":
        git(root, "init", "--quiet")
        git(root, "submodule", "--quiet", "add", "./inner")
    index_files(store, root, scan(root))
    shutil.rmtree(inner / ".git")
    (inner / ".git").write_text("gitdir: ../nowhere\n")
    write_tree(root, {"a.txt": "changed"})

    report = index_files(store, root, scan(root))

    assert {"changed", "two"} <= {chunk.content for chunk in store.chunks.iter_chunks()}
    assert (report.removed, report.is_partial) == (0, True)
    assert report.warnings[0].startswith("inner: unreadable: git cannot tell which files of ")


def test_empty_files_are_written_in_batches_too(
    root: Path, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.indexing.reader._BATCH_ROWS", 3)
    write_tree(root, {f"e{n}.py": "" for n in range(9)})
    known: list[int] = []
    index_files(
        store, root, scan(root), listen=lambda _: known.append(len(store.chunks.file_states()))
    )
    assert known == [0, 0, 3, 3, 3, 6, 6, 6, 9]
