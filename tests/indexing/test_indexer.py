"""A memory keeps in step with its files, and does no more than it must."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.indexing.indexer import IndexReport, index_files
from aurora.indexing.reader import scan
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Kind, Progress
from tests.builders import NOW, write_tree

FILES: dict[str, str | bytes] = {
    "a.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
    "sub/b.py": "class B:\n    def m(self):\n        return 3\n",
    "NOTES.md": "# Notes\n",
}
IDS = {"a.py:f", "a.py:g", "sub/b.py:B", "sub/b.py:B.m", "NOTES.md:Notes"}


def report(
    *, scanned: int, parsed: int = 0, unchanged: int = 0, removed: int = 0, **rest: object
) -> IndexReport:
    skipped, warnings = rest.get("skipped", {}), rest.get("warnings", ())
    return IndexReport(scanned, parsed, unchanged, removed, skipped, warnings)  # type: ignore[arg-type]


def contents(store: SQLiteStore) -> dict[str, str]:
    return {chunk.id: chunk.content for chunk in store.chunks.iter_chunks()}


def test_the_first_run_reads_everything(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES)
    generation = store.generation()

    assert index_files(store, root, scan(root)) == report(scanned=3, parsed=3)
    assert contents(store).keys() == IDS
    assert store.generation() > generation
    assert store.chunks.count_chunks() == {
        Kind.FUNCTION: 2, Kind.CLASS: 1, Kind.METHOD: 1, Kind.KNOWLEDGE: 1,
    }  # fmt: skip
    state = store.chunks.file_states()["sub/b.py"]
    status = (root / "sub" / "b.py").stat()
    assert (state.size, state.modified_ns) == (status.st_size, status.st_mtime_ns)


def test_a_second_run_parses_nothing(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES | {"empty.py": "", "blank.md": "\n\n"})
    index_files(store, root, scan(root))
    before = (contents(store), store.chunks.file_states(), store.generation())

    assert index_files(store, root, scan(root)) == report(scanned=5, unchanged=5)
    assert (contents(store), store.chunks.file_states(), store.generation()) == before


def test_a_file_of_the_same_size_and_time_and_identity_is_not_opened(
    store: SQLiteStore, root: Path
) -> None:
    write_tree(root, {"a.txt": "one"})
    before = scan(root)
    index_files(store, root, before)
    write_tree(root, {"a.txt": "two"})

    assert index_files(store, root, before) == report(scanned=1, unchanged=1)
    assert contents(store) == {"a.txt:text": "one"}


def test_a_touched_file_is_read_and_not_parsed(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES)
    index_files(store, root, scan(root))
    generation = store.generation()
    os.utime(root / "a.py", ns=(1, 1))

    assert index_files(store, root, scan(root)) == report(scanned=3, unchanged=3)
    assert store.generation() == generation
    assert store.chunks.file_states()["a.py"].modified_ns == 1


def test_a_change_of_the_same_size_is_noticed_by_its_time(store: SQLiteStore, root: Path) -> None:
    write_tree(root, {"a.txt": "one", "b.txt": "same"})
    index_files(store, root, scan(root))
    write_tree(root, {"a.txt": "two"})
    os.utime(root / "a.txt", ns=(1, 1))

    assert index_files(store, root, scan(root)) == report(scanned=2, parsed=1, unchanged=1)
    assert contents(store) == {"a.txt:text": "two", "b.txt:text": "same"}


def test_only_what_changed_in_a_file_is_replaced(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES)
    index_files(store, root, scan(root))
    embedder = Embedder("test", 2, "1")
    store.vectors.put_embeddings(embedder, [(id_, pack_vector([1, 0])) for id_ in IDS])
    for id_ in IDS:
        store.chunks.record_access(id_, NOW)
    generation = store.generation()

    write_tree(
        root, {"a.py": "import os\n\n\ndef f():\n    return 1\n\n\ndef h():\n    return os\n"}
    )

    assert index_files(store, root, scan(root)) == report(scanned=3, parsed=1, unchanged=2)
    assert contents(store).keys() == IDS - {"a.py:g"} | {"a.py:module", "a.py:h"}
    assert store.chunks.get_chunks(["a.py:f"])[0].lines == (4, 5)
    assert store.vectors.get_embeddings(["a.py:f", "a.py:h", "sub/b.py:B"]).keys() == {
        "a.py:f",
        "sub/b.py:B",
    }
    assert store.chunks.get_accesses(sorted(contents(store))) == dict.fromkeys(
        IDS - {"a.py:g"}, (NOW,)
    )
    assert store.generation() > generation


def test_a_chunk_with_new_text_keeps_its_accesses_and_not_its_vector(
    store: SQLiteStore, root: Path
) -> None:
    write_tree(root, FILES)
    index_files(store, root, scan(root))
    store.vectors.put_embeddings(Embedder("test", 1, "1"), [("NOTES.md:Notes", pack_vector([1]))])
    store.chunks.record_access("NOTES.md:Notes", NOW)

    write_tree(root, {"NOTES.md": "# Notes\n\nMore.\n"})
    index_files(store, root, scan(root))

    assert store.vectors.get_embeddings(["NOTES.md:Notes"]) == {}
    assert store.chunks.get_accesses(["NOTES.md:Notes"]) == {"NOTES.md:Notes": (NOW,)}


def test_files_of_an_older_parser_are_parsed_again(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES)
    index_files(store, root, scan(root))
    now = store.chunks.file_states()["a.py"]
    older = FileState(now.path, now.size, now.modified_ns, f"0:{now.digest.partition(':')[2]}")
    store.chunks.replace_file(older, [])

    assert index_files(store, root, scan(root)) == report(scanned=3, parsed=1, unchanged=2)
    assert contents(store).keys() == IDS


def test_progress_counts_every_file(store: SQLiteStore, root: Path) -> None:
    write_tree(root, FILES | {".env": "TOKEN=1"})
    events: list[Event] = []

    index_files(store, root, scan(root), listen=events.append)

    assert events == [Progress("Indexing", done, 4) for done in range(1, 5)]


def test_logs_of_one_name_in_two_folders_are_both_kept(store: SQLiteStore, root: Path) -> None:
    """Ids of logs do not begin with their path; a memory must not mix them up for that."""
    text = "# Conversation: OAuth\nDate: 2025-12-15\n\n## Phase 1: Assessment\nText {}.\n"
    places = ["a/session.md", "b/session.md", "logs/conversations/2025/12/session.md"]
    write_tree(root, {place: text.format(place) for place in places})

    index_files(store, root, scan(root))

    assert {chunk.path: chunk.id for chunk in store.chunks.iter_chunks()} == {
        "a/session.md": "a/conv-session-phase1",
        "b/session.md": "b/conv-session-phase1",
        "logs/conversations/2025/12/session.md": "2025/12/conv-session-phase1",
    }
    for chunk in store.chunks.iter_chunks():
        assert chunk.metadata["source_file"] == chunk.path
        assert chunk.created_at == datetime(2025, 12, 15, tzinfo=UTC)
    assert index_files(store, root, scan(root)) == report(scanned=3, unchanged=3)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_is_stored_is_the_text_of_the_file(
    store: SQLiteStore, root: Path, line_end: str
) -> None:
    """A zero byte that stands late in a file does not make it binary, nor end its text."""
    text = line_end.join(["# 走 é", *["filler"] * 1500, "zero \0 byte", "the end"])
    write_tree(root, {"a.md": text})

    index_files(store, root, scan(root))

    assert "\n".join(contents(store).values()) == text
    assert index_files(store, root, scan(root)) == report(scanned=1, unchanged=1)
    assert store.maintenance.check() == []
