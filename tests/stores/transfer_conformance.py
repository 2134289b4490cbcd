"""What every store promises of snapshots and of whole records; part of `StoreConformance`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from aurora.errors import EmbedderMismatchError, StoreError
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record, RecordCounts, Store
from aurora.types import ChunkHistory, Kind, Tracking
from tests.builders import NOW, make_chunk
from tests.threads import together

MODEL = Embedder("tiny", 3, "abc")
VECTOR = pack_vector([0.5, -1.0, 0.25])
LATER = NOW + timedelta(days=1, microseconds=5)
LESSON = make_chunk("split it in two", "", "lesson", kind=Kind.REASONING, lines=None, id="lesson")
FAILED = make_chunk(
    "guess", "", "failed", kind=Kind.REASONING, created_at=NOW, id="failed",
    metadata={"replaced_by": "lesson"},
)  # fmt: skip
RECORDS = [
    Record(make_chunk(name="z")),
    Record(make_chunk(name="a", metadata={"deep": {"x": [None, 0.5]}}), vector=VECTOR),
    Record(LESSON, Reasoning("pattern", 0.75, 3, NOW), (NOW, NOW, LATER)),
    Record(FAILED, Reasoning("pattern", 0.1, 0, LATER), vector=VECTOR),
    Record(make_chunk(name="m"), history=ChunkHistory(Tracking.TRACKED, (-5, 2**40), True)),
    Record(make_chunk(name="u"), history=ChunkHistory(Tracking.UNTRACKED), accesses=(LATER,)),
]


class TransferConformance:
    """Needs the fixtures `store` and `open_store`."""

    def test_records_are_counted_whether_they_may_be_found_or_not(self, store: Store) -> None:
        assert store.maintenance.count_records() == RecordCounts(0, 0, 0, 0)
        store.maintenance.put_records(RECORDS, embedder=MODEL)
        assert store.maintenance.count_records() == RecordCounts(
            chunks=6, accesses=4, reasoning=2, vectors=2
        )  # fmt: skip

    # Snapshots

    def test_a_snapshot_does_not_see_what_is_written_later(
        self, store: Store, open_store: Callable[[], Store]
    ) -> None:
        """Neither what its own thread writes beside it, nor what others do."""
        store.maintenance.put_records(RECORDS[:2], embedder=MODEL)
        store.chunks.replace_file(FileState("a.py", 1, 2, "x"), [make_chunk(name="z")])
        before = list(store.maintenance.iter_records())
        with store.snapshot() as still:
            records = still.maintenance.iter_records()
            first = next(records)
            store.chunks.forget_files(["a.py"])
            open_store().chunks.put_chunks([make_chunk("new", "b.py")])
            together(3, lambda: open_store().chunks.put_indexed_at(NOW))
            assert [first, *records] == before
            assert still.chunks.file_states().keys() == {"a.py"}
            assert (still.chunks.indexed_at(), still.vectors.embedder()) == (None, MODEL)
            assert still.generation() < store.generation()
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == ["b.py:f"]
        with store.snapshot() as still:
            assert [record.chunk.id for record in still.maintenance.iter_records()] == ["b.py:f"]
            assert still.chunks.indexed_at() == NOW

    def test_a_snapshot_of_many_pages_is_of_one_moment(self, store: Store) -> None:
        store.chunks.put_chunks([make_chunk("old", name=f"f{n}") for n in range(2500)])
        with store.snapshot() as still:
            seen = []
            for number, record in enumerate(still.maintenance.iter_records()):
                if number % 700 == 0:
                    store.chunks.put_chunks([make_chunk("new", name=f"f{n}") for n in range(2600)])
                    store.chunks.delete_chunks([f"a.py:f{n}" for n in range(number, 2500, 3)])
                seen.append(record.chunk.content)
        assert seen == ["old"] * 2500

    @pytest.mark.parametrize(
        "write",
        [
            lambda still: still.chunks.put_chunks([make_chunk()]),
            lambda still: still.maintenance.put_records(RECORDS),
            lambda still: still.chunks.record_access("a.py:z", NOW),
            lambda still: still.chunks.delete_chunks(["a.py:z"]),
            lambda still: still.chunks.put_indexed_at(NOW),
        ],
        ids=["chunks", "records", "access", "delete", "fact"],
    )
    def test_a_snapshot_cannot_be_written(
        self, store: Store, write: Callable[[Store], object]
    ) -> None:
        store.maintenance.put_records(RECORDS[:1])
        with store.snapshot() as still, pytest.raises(StoreError):
            write(still)
        assert list(store.maintenance.iter_records()) == RECORDS[:1]

    # Whole records

    def test_records_come_back_as_they_were_and_in_their_order(self, store: Store) -> None:
        assert store.maintenance.put_records(RECORDS, embedder=MODEL) == len(RECORDS)
        assert list(store.maintenance.iter_records()) == RECORDS
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == [
            "a.py:z", "a.py:a", "lesson", "a.py:m", "a.py:u",
        ]  # fmt: skip
        assert store.chunks.get_reasoning("failed") == RECORDS[3].reasoning
        assert store.vectors.embedder() == MODEL
        assert store.maintenance.check() == []

    def test_records_are_what_the_other_methods_wrote(self, store: Store) -> None:
        for record in RECORDS:
            id_ = record.chunk.id
            store.chunks.put_chunks([record.chunk])
            if record.reasoning is not None:
                store.chunks.put_reasoning(id_, record.reasoning)
            for at in reversed(record.accesses):
                store.chunks.record_access(id_, at)
            if record.vector is not None:
                store.vectors.put_embeddings(MODEL, [(id_, record.vector)])
            if record.history is not None:
                store.chunks.put_histories({id_: record.history})
        assert list(store.maintenance.iter_records()) == RECORDS

    def test_a_store_without_chunks_has_no_records(self, store: Store) -> None:
        assert list(store.maintenance.iter_records()) == []
        before = store.generation()
        assert store.maintenance.put_records([], embedder=MODEL) == 0
        assert (store.generation(), store.vectors.embedder()) == (before, None)

    def test_taking_in_the_same_again_changes_nothing(self, store: Store) -> None:
        store.maintenance.put_records(RECORDS, embedder=MODEL)
        generation = store.generation()
        assert store.maintenance.put_records(RECORDS, embedder=MODEL) == 0
        assert list(store.maintenance.iter_records()) == RECORDS
        assert store.generation() == generation

    def test_a_record_replaces_what_it_has_and_leaves_what_it_lacks(self, store: Store) -> None:
        store.maintenance.put_records(RECORDS, embedder=MODEL)
        used = Record(LESSON, Reasoning("other", 0.5, 9, LATER), (NOW, LATER + timedelta(1)))
        changed = Record(make_chunk("changed", name="a"), history=RECORDS[4].history)
        bare = Record(RECORDS[5].chunk)

        assert (
            store.maintenance.put_records([bare, used, changed, Record(make_chunk(path="b.py"))])
            == 1
        )

        found = {record.chunk.id: record for record in store.maintenance.iter_records()}
        united = (NOW, NOW, LATER, LATER + timedelta(1))
        assert found["lesson"] == replace(used, accesses=united)
        assert found["a.py:a"] == changed  # the vector of its old text is gone
        assert found["a.py:u"] == RECORDS[5]
        assert list(found)[-1] == "b.py:f"

    def test_without_their_embedder_vectors_are_left(self, store: Store) -> None:
        store.maintenance.put_records(RECORDS)
        assert list(store.maintenance.iter_records()) == [
            replace(record, vector=None) for record in RECORDS
        ]
        assert store.vectors.embedder() is None

    def test_records_of_another_embedder_are_refused_whole(self, store: Store) -> None:
        store.maintenance.put_records(RECORDS[:2], embedder=MODEL)
        other = Embedder("big", 1, "x")
        more = [Record(make_chunk(path="b.py"), vector=pack_vector([1.0]))]
        with pytest.raises(EmbedderMismatchError, match="tiny"):
            store.maintenance.put_records(more, embedder=other)
        assert list(store.maintenance.iter_records()) == RECORDS[:2]

    def test_records_that_break_off_leave_what_was_there(self, store: Store) -> None:
        store.maintenance.put_records(RECORDS, embedder=MODEL)
        generation = store.generation()

        def records() -> Iterator[Record]:
            yield from (Record(make_chunk("new", name=f"n{n}")) for n in range(2500))
            yield Record(make_chunk("new", name="z"), accesses=(NOW,))
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="the disk is gone"):
            store.maintenance.put_records(records())
        assert list(store.maintenance.iter_records()) == RECORDS
        assert store.generation() == generation
        assert store.maintenance.check() == []

    def test_many_records_in_order(self, store: Store) -> None:
        many = [
            Record(make_chunk(name=f"f{n}"), accesses=(NOW,) * (n % 3), vector=VECTOR)
            for n in range(2500, 0, -1)
        ]
        assert store.maintenance.put_records(iter(many), embedder=MODEL) == 2500
        assert list(store.maintenance.iter_records()) == many

    def test_records_may_come_as_a_stream(self, store: Store) -> None:
        """The first are written before the last is made."""
        written: list[int] = []

        def records() -> Iterator[Record]:
            yield from (Record(make_chunk(name=f"f{n}")) for n in range(1200))
            written.append(store.maintenance.count_records().chunks)

        assert store.maintenance.put_records(records()) == 1200
        assert written == [1000]

    # Files

    def test_states_of_files_are_added_and_replaced_without_their_chunks(
        self, store: Store
    ) -> None:
        known = FileState("a.py", 1, 2, "x")
        store.chunks.replace_file(known, [make_chunk()])
        again = replace(known, digest="y", history_stamp="abc", history_read_at=LATER)
        other = FileState("b.bin", 5, -6, "1:", left_out="binary")
        generation = store.generation()

        store.chunks.add_files([again, other])

        assert store.chunks.file_states() == {"a.py": again, "b.bin": other}
        assert [chunk.id for chunk in store.chunks.iter_chunks()] == ["a.py:f"]
        assert store.generation() == generation
