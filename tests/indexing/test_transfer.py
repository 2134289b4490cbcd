"""A memory into lines and back into a memory: whole, at once, and never half."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.errors import AuroraError, EmbedderMismatchError, NoMemoryError, TransferError
from aurora.indexing.import_export import export_memory
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Record, Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Note, Progress, SearchResult
from tests.builders import NOW, make_chunk, write_tree
from tests.embedders import WordsProvider
from tests.indexing.exports import (
    FILES,
    LATER,
    MODEL,
    RECORDS,
    VECTOR,
    everything,
    exported,
    fill,
    imported,
    lines_of,
)
from tests.properties import examples

PROJECT = {
    "app.py": "class App:\n    def serve(self): pass\n\n\ndef main():\n    App().serve()\n",
    "same.py": "def one(): return 'twin'\n\n\ndef two(): return 'twin'\n",
    "用户.py": "def 认证流程():\n    '用户认证'\n",
    "notes/2026-10-01.md": "---\ntags: [login]\n---\n# Login\n\nHow authentication works.\n",
    "empty.py": "",
    "data.bin": b"\x00\x01",
}
LOG = "# Conversation: Login\nDate: 2025-12-15\n\n## Phase 1: Assessment\nWe spoke of login.\n"
QUERIES = ("authentication", "serve App", "twin", "认证", "retry the upload", "main", "login")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(tmp_path / "one" / "memory.db")) as store:
        yield store


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(tmp_path / "two" / "memory.db")) as other:
        yield other


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "project", PROJECT)
    write_tree(tmp_path / "home" / "logs" / "conversations", {"2025/12/login.md": LOG})
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        subprocess.run([*git, *words], check=True)
    return root


def open_memory(project: Path, home: Path) -> Memory:
    return Memory(Places(home, project), now=lambda: LATER, embedder=WordsProvider(dimension=64))


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[Memory]:
    """One with every kind of thing in it."""
    with open_memory(project, tmp_path / "home") as memory:
        memory.index(project)
        memory.learn("retry the upload", score=0.9, context="slow net")
        memory.learn("guess the upload", score=0.1)
        memory.add("# Billing\n\nInvoices.", namespace="team", metadata={"tags": ["a", None]})
        memory.index(project)
        memory.get("app.py:main")
        memory.get("app.py:main")
        memory.get("same.py:two")
        yield memory


def answers(memory: Memory) -> list[tuple[SearchResult, ...]]:
    return [
        memory.search(query, mode=mode, limit=30).results
        for query in QUERIES
        for mode in ("hybrid", "keyword", "semantic")
    ]


def test_a_memory_with_everything_in_it_comes_back_whole(
    memory: Memory, project: Path, tmp_path: Path
) -> None:
    """Every record, the same answers with the same scores, and nothing left to index."""
    before, found = everything(memory.admin.store), answers(memory)
    records = list(memory.admin.store.maintenance.iter_records())
    assert any(record.reasoning and record.reasoning.success_score < 0.5 for record in records)
    assert all(record.vector for record in records if record.chunk.path)
    assert all(record.history for record in records if record.chunk.path)
    assert sum(len(record.accesses) for record in records) == 3
    assert {state.left_out for state in memory.admin.store.chunks.file_states().values()} == {
        "",
        "binary",
    }
    told, stream = memory.stats(), io.BytesIO()

    counts = memory.export(stream)
    memory.close()
    shutil.rmtree(project / ".aurora")
    stream.seek(0)
    with open_memory(project, tmp_path / "home") as again:
        report = again.admin.import_(stream)

        assert (report.chunks, report.new, report.files) == (counts.chunks, counts.chunks, 6)
        assert everything(again.admin.store) == before
        assert answers(again) == found
        stats = again.stats()
        assert (stats.chunks, stats.files, stats.namespaces) == (
            told.chunks, told.files, told.namespaces,
        )  # fmt: skip
        assert (stats.indexed_at, stats.embedder, stats.embedded) == (
            told.indexed_at, told.embedder, told.embedded,
        )  # fmt: skip
        generation = again.admin.store.generation()
        run = again.index(project)
        assert (run.parsed, run.removed, run.histories, run.embedded.wanted) == (0, 0, 0, 0)
        assert again.admin.store.generation() == generation


def test_an_export_is_the_same_for_the_same_memory(store: Store, other: Store) -> None:
    fill(store)
    export = exported(store)
    assert imported(other, export).new == len(RECORDS)
    assert exported(other) == export
    assert everything(other) == everything(store)


def test_importing_twice_is_as_importing_once(store: Store, other: Store) -> None:
    fill(store)
    export = exported(store)
    imported(other, export)
    before, generation = everything(other), other.generation()
    report = imported(other, export)
    assert (report.files, report.chunks, report.new) == (2, 4, 0)
    assert everything(other) == before
    assert other.generation() == generation


def test_an_empty_memory_is_an_export_too(store: Store, other: Store) -> None:
    fill(other)
    before = everything(other)
    report = imported(other, exported(store))
    assert (report.files, report.chunks, report.new) == (0, 0, 0)
    assert everything(other) == before


def test_an_export_is_of_one_moment(store: Store) -> None:
    """What another writes while it is written is not in it, nor is it half of that."""
    store.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(1200)])

    class Meddler(io.BytesIO):
        def write(self, line: object) -> int:
            if self.tell() == 0:
                store.chunks.replace_file(
                    FILES[0], [make_chunk(name="f3"), make_chunk(name="late")]
                )
                store.vectors.put_embeddings(MODEL, [("a.py:late", b"\0" * 6)])
            return super().write(line)  # type: ignore[arg-type]

    stream = Meddler()
    counts = export_memory(store, stream)
    assert (counts.files, counts.chunks, counts.vectors) == (0, 1200, 0)
    assert b"late" not in stream.getvalue()
    assert len(list(store.chunks.iter_chunks())) == 2


def test_a_number_that_is_no_json_is_exported_as_null_and_told(store: Store) -> None:
    """Only a program can put it there. It must not keep all the rest from being exported."""
    store.chunks.put_chunks(
        [make_chunk(metadata={"score": float("nan"), "by": ["me", float("inf")]})]
    )
    events: list[Event] = []
    stream = io.BytesIO()
    assert export_memory(store, stream, listen=events.append).chunks == 1
    told = Note("Numbers in the metadata of a.py:f are exported as null", warning=True)
    assert told in events
    chunk = json.loads(stream.getvalue().splitlines()[1])
    assert chunk["metadata"] == {"score": None, "by": ["me", None]}


def test_longer_work_tells_how_far_it_is(memory: Memory) -> None:
    events: list[Event] = []
    stream = io.BytesIO()
    with Memory(memory.places, listen=events.append) as loud:
        chunks = loud.export(stream).chunks
        stream.seek(0)
        loud.admin.import_(stream)
    assert Progress("Exporting", chunks, chunks) in events
    assert Progress("Importing", chunks, chunks) in events


# Into a memory that holds something


def test_nothing_is_taken_away_and_what_comes_replaces(store: Store) -> None:
    fill(store)
    newer = make_chunk("def z(): return 2", name="z")
    before = make_chunk("mine", path="mine.py")
    store.chunks.put_chunks([before])
    store.chunks.record_access("a.py:z", NOW)
    store.chunks.put_indexed_at(LATER + timedelta(days=1))

    report = imported(store, lines_of([Record(newer, accesses=(NOW, LATER))]))

    assert (report.chunks, report.new) == (1, 0)
    found = {record.chunk.id: record for record in store.maintenance.iter_records()}
    assert found["a.py:z"] == Record(newer, None, (NOW, LATER), RECORDS[0].history)
    assert found["mine.py:f"].chunk == before
    assert len(found) == len(RECORDS) + 1
    assert store.chunks.indexed_at() == LATER + timedelta(days=1)


def test_a_file_that_both_know_differently_is_read_again(memory: Memory, project: Path) -> None:
    """The chunks of both are there until then; afterwards it is as the file on disk has it."""
    stream = io.BytesIO()
    memory.export(stream)
    write_tree(project, {"app.py": "def main(): pass\n\n\ndef fresh(): pass\n"})
    memory.index(project)
    memory.get("app.py:fresh")
    expected = {chunk.id: chunk for chunk in memory.admin.store.chunks.iter_chunks()}
    stream.seek(0)

    memory.admin.import_(stream)

    ids = set(memory.admin.store.chunks.find_below("app.py"))
    assert {"app.py:App.serve", "app.py:fresh", "app.py:main"} <= ids
    assert memory.index(project).parsed == 1
    assert {chunk.id: chunk for chunk in memory.admin.store.chunks.iter_chunks()} == expected
    assert memory.admin.store.chunks.get_accesses(["app.py:fresh"]) == {"app.py:fresh": (LATER,)}
    assert memory.index(project).parsed == 0


def test_a_file_that_loses_a_chunk_to_another_files_is_read_again(store: Store) -> None:
    store.chunks.replace_file(FILES[0], [make_chunk("mine", id="same")])
    theirs = FileState("b.py", 1, 2, "4:b")

    imported(store, lines_of([Record(make_chunk("theirs", "b.py", id="same"))], [theirs]))

    states = store.chunks.file_states()
    assert states["b.py"] == theirs
    assert states["a.py"] == replace(FILES[0], digest="", history_stamp="")


@pytest.mark.parametrize(
    ("known", "comes", "left_out"),
    [("binary", "binary", "binary"), ("binary", "", ""), ("", "binary", ""), ("", "", "")],
)
def test_a_file_is_left_out_only_where_both_leave_it_out(
    store: Store, known: str, comes: str, left_out: str
) -> None:
    store.chunks.add_files([FileState("x", 1, 2, "4:a", left_out=known)])
    imported(store, lines_of([], [FileState("x", 1, 2, "4:b", left_out=comes)]))
    assert store.chunks.file_states() == {"x": FileState("x", 1, 2, "", left_out=left_out)}


def test_vectors_of_another_embedder_are_refused_unless_they_are_left_out(store: Store) -> None:
    fill(store)
    before = everything(store)
    big = Embedder("big", 1, "x")
    export = lines_of([Record(make_chunk(path="n.py"), vector=pack_vector([1.0]))], [], big)

    with pytest.raises(EmbedderMismatchError, match="vectors of tiny") as caught:
        imported(store, export)
    assert "--no-vectors" in caught.value.hint
    assert everything(store) == before

    assert imported(store, export, vectors=False).new == 1
    assert store.vectors.get_embeddings(["n.py:f"]) == {}
    assert store.vectors.embedder() == MODEL


def test_an_export_with_vectors_twice_as_wide_is_still_read(store: Store, other: Store) -> None:
    """As Aurora wrote them once, of any length; what goes out again is as it is now."""
    wide = replace(RECORDS[1], vector=struct.pack("<3f", 0.0, 300.0, -400.0))
    narrow = replace(RECORDS[1], vector=pack_vector([0.0, 0.6, -0.8]))
    for _ in range(2):
        imported(store, lines_of([wide, RECORDS[0]]))
        assert list(store.maintenance.iter_records()) == [narrow, RECORDS[0]]
    assert store.vectors.embedder() == MODEL
    imported(other, exported(store))
    assert everything(other) == everything(store)


def test_an_import_while_another_model_takes_over_goes_to_the_one_in_use(store: Store) -> None:
    """What is new or different waits for a vector of the next, whose own are not taken in yet."""
    fill(store)
    big = Embedder("big", 1, "x")
    ids = [record.chunk.id for record in RECORDS]
    store.vectors.start_reembedding(big)
    store.vectors.put_embeddings(big, [(id_, pack_vector([1.0])) for id_ in ids])
    with pytest.raises(EmbedderMismatchError, match="vectors of tiny"):
        imported(store, lines_of([Record(make_chunk(), vector=pack_vector([1.0]))], [], big))

    changed = Record(make_chunk("other", name="z"), vector=VECTOR)
    imported(store, lines_of([changed, Record(make_chunk(path="n.py"), vector=VECTOR), RECORDS[1]]))

    assert store.vectors.get_embeddings(["a.py:z", "n.py:f"]) == {
        "a.py:z": VECTOR,
        "n.py:f": VECTOR,
    }
    assert (store.vectors.embedder(), store.vectors.next_embedder()) == (MODEL, big)
    assert store.vectors.find_unembedded(by_next=True) == ["a.py:z", "n.py:f"]


def test_without_vectors_the_memory_has_no_embedder_yet(store: Store, other: Store) -> None:
    fill(store)
    imported(other, exported(store), vectors=False)
    assert [record.vector for record in other.maintenance.iter_records()] == [None] * len(RECORDS)
    assert other.vectors.embedder() is None


# What is no export


def test_what_is_no_export_makes_no_memory(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "project", {"app.py": "pass\n"})
    with Memory(Places(tmp_path / "home", root)) as memory:
        with pytest.raises(TransferError, match="This is not an export"):
            memory.admin.import_(io.BytesIO(b"Dear diary\n"))
        with pytest.raises(NoMemoryError):
            memory.stats()


def edited(number: int, change: Callable[[dict[str, object]], object]) -> Callable[[bytes], bytes]:
    """An export with one line changed; the first line is 1."""

    def edit(export: bytes) -> bytes:
        lines = export.splitlines(keepends=True)
        fields = json.loads(lines[number - 1])
        change(fields)
        lines[number - 1] = json.dumps(fields).encode() + b"\n"
        return b"".join(lines)

    return edit


def without_line(number: int) -> Callable[[bytes], bytes]:
    return lambda export: b"".join(
        line for at, line in enumerate(export.splitlines(True), 1) if at != number
    )


LAST = 2 + len(FILES) + len(RECORDS)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda _: b"", "This is not an export: the line must be JSON"),
        (lambda _: b"\n", "This is not an export"),
        (lambda _: b"# Notes\n", "This is not an export"),
        (lambda _: b"[1]\n", "This is not an export"),
        (lambda _: b"PK\x03\x04\xff", "This is not an export"),
        (lambda export: b"\xef\xbb\xbf" + export, "This is not an export"),
        (lambda export: export.decode().encode("utf-16"), "This is not an export"),
        (without_line(1), "This is not an export"),
        (edited(1, lambda h: h.update(aurora="import")), "This is not an export"),
        (edited(1, lambda h: h.update(version=2)), "version must be 1, the only one .*, not 2"),
        (edited(1, lambda h: h.update(version="1")), "version must be 1"),
        (edited(1, lambda h: h.pop("chunks")), "an object with chunks"),
        (edited(1, lambda h: h.update(chunks=-1)), "chunks must be a count, not -1"),
        (edited(1, lambda h: h.update(embedder="tiny")), "embedder must be an object"),
        (edited(1, lambda h: h.update(indexed_at="x")), "indexed_at must be a moment"),
        (edited(1, lambda h: h.update(chunks=9)), f"Line {LAST}: there were .* 4 chunks.* first"),
        (edited(1, lambda h: h.update(embedder=None)), "Line 5: vector must be null"),
        (edited(2, lambda f: f.update(size="big")), "Line 2: size must be a whole number"),
        (edited(2, lambda f: f.update(size=2**63)), "Line 2: size must be a whole number of 64"),
        (edited(3, lambda f: f.pop("digest")), "Line 3: the line must be an object with digest"),
        (edited(5, lambda c: c.update(kind="x")), "Line 5: kind must be one of .*, not 'x'"),
        (edited(5, lambda c: c.update(vector="AAA=")), "Line 5: vector must be 6 bytes"),
        (edited(5, lambda c: c.update(type="end")), "Line 5: the line must be an object with"),
        (edited(LAST, lambda e: e.update(accesses=9)), f"Line {LAST}: there were .*last line"),
        (lambda export: export.replace(b"\n", b"\n\n", 2), "Line 2: the line must be JSON"),
        (lambda export: export[:-30], f"ends with line {LAST}: it was cut off"),
        (lambda export: export[: len(export) // 2], r"ends with line \d: it was cut off"),
        (without_line(LAST), f"ends with line {LAST - 1}: it was cut off"),
        (without_line(6), f"Line {LAST - 1}: there were .* 3 chunks"),
        (without_line(2), f"Line {LAST - 1}: there were 1 files"),
        (lambda export: export + export, f"Line {LAST + 1}: there is more after the end"),
        (lambda export: export + b"\n", f"Line {LAST + 1}: there is more after the end"),
        (lambda export: export.replace(b"a.py:m", b"a.py:\xff"), "Line 7: the line must be JSON"),
        (lambda export: export.replace(b"a.py:m", rb"a.py:\ud800"), "Line 7: the line must be"),
    ],
)  # fmt: skip
def test_what_is_not_a_whole_export_is_refused_and_changes_nothing(
    store: Store, other: Store, spoil: Callable[[bytes], bytes], told: str
) -> None:
    fill(store)
    other.maintenance.put_records([Record(make_chunk("mine", name="z"), accesses=(NOW,))])
    other.chunks.add_files([replace(FILES[0], digest="4:mine")])
    before, generation = everything(other), other.generation()

    with pytest.raises(TransferError, match=told) as caught:
        imported(other, spoil(exported(store)))

    assert caught.value.hint
    assert len(caught.value.message) < 500
    assert everything(other) == before
    assert other.generation() == generation


def test_a_disk_that_breaks_while_reading_changes_nothing(store: Store, other: Store) -> None:
    store.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(1500)])

    class Broken(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if self.tell() > len(self.getvalue()) - 1000:
                raise OSError("the disk is gone")
            return super().readline(size)

    memory = Memory(Places(other.path.parent))
    with memory, pytest.raises(OSError, match="the disk is gone"):
        memory.admin.import_(Broken(exported(store)))
    assert list(other.maintenance.iter_records()) == []


JUNK = (
    b"", b"\n", b"{", b"}", b'"', b"null", b"-1", b"1e999", b"NaN", b"[[", b"\\ud800", b"\xff",
    b",", b"99999999999999999999", b'"2025-12-15"', b"true", b"\0", b"[]", b"{}",
)  # fmt: skip


def test_lines_changed_at_random_are_refused_or_imported_and_never_break_a_memory(
    store: Store, other: Store
) -> None:
    fill(store)
    whole = exported(store)
    choice = random.Random(20251215)  # noqa: S311 - the same every time
    refused = 0
    rounds = examples(400)
    for _ in range(rounds):
        spoilt = whole
        for _ in range(choice.randint(1, 3)):
            at = choice.randrange(len(spoilt))
            until = at + choice.choice([0, 1, 1, 2, 8, 40])
            spoilt = spoilt[:at] + choice.choice(JUNK) + spoilt[until:]
        before = everything(other)
        try:
            imported(other, spoilt)
        except AuroraError:
            refused += 1
            assert everything(other) == before
        assert everything(other)[-1] == []
        other.search.dated_paths()
    assert 0.5 < refused / rounds < 1
    other.chunks.delete_chunks([chunk.id for chunk in other.chunks.iter_chunks()])
    assert other.maintenance.check() == []
