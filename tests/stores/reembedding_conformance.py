"""What every store promises while one model takes over from another; part of `StoreConformance`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from aurora.errors import EmbedderMismatchError, StoreError
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Record, Store
from tests.builders import hide, make_chunk
from tests.threads import together

OLD = Embedder("tiny", 3, "abc")
NEW = Embedder("large", 4, "xyz")
THIRDS = [Embedder("third", 4, "xyz"), Embedder("large", 3, "xyz"), Embedder("large", 4, "next")]
F, G = make_chunk(), make_chunk(name="g")
LATE = make_chunk(name="late")
STATE = FileState("a.py", 10, 123, "digest")


def old(number: float) -> bytes:
    return pack_vector([number, 0.0, 0.25])


def new(number: float) -> bytes:
    return pack_vector([number, 0.5, 0.0, -1.0])


OLD_VECTORS = {F.id: old(1), G.id: old(2)}
NEW_VECTORS = {F.id: new(1), G.id: new(2)}


def seen(store: Store) -> object:
    """All that a search, an export or an index can see of vectors."""
    return (
        store.vectors.embedder(),
        store.generation(),
        store.vectors.get_embeddings([F.id, G.id]),
        list(store.vectors.iter_vectors()),
        store.vectors.vector_revisions(),
        store.vectors.find_unembedded(),
        list(store.maintenance.iter_records()),
    )


class ReembeddingConformance:
    """Needs the fixtures `store` and `open_store`."""

    @pytest.fixture
    def embedded(self, store: Store) -> Store:
        """Two chunks that have vectors."""
        store.chunks.put_chunks([F, G])
        store.vectors.put_embeddings(OLD, OLD_VECTORS.items())
        return store

    # Beside those in use

    def test_what_the_next_embedder_makes_changes_nothing_that_can_be_found(
        self, embedded: Store
    ) -> None:
        before = seen(embedded)
        embedded.vectors.start_reembedding(NEW)
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

        embedded.vectors.put_embeddings(NEW, [(F.id, new(1)), ("nowhere", new(3))])

        assert seen(embedded) == before
        assert (embedded.vectors.embedder(), embedded.vectors.next_embedder()) == (OLD, NEW)
        assert embedded.vectors.find_unembedded(by_next=True) == [G.id]
        assert embedded.maintenance.check() == []

    def test_nobody_is_next_until_a_change_is_started(self, store: Store) -> None:
        assert store.vectors.next_embedder() is None
        store.chunks.put_chunks([F])
        store.vectors.put_embeddings(OLD, [(F.id, old(1))])
        assert store.vectors.next_embedder() is None

    def test_meanwhile_new_chunks_get_vectors_of_the_one_in_use(self, embedded: Store) -> None:
        embedded.vectors.start_reembedding(NEW)
        embedded.chunks.put_chunks([LATE])
        embedded.vectors.put_embeddings(OLD, [(LATE.id, old(3))])
        assert embedded.vectors.get_embeddings([LATE.id]) == {LATE.id: old(3)}
        assert embedded.vectors.find_unembedded() == []
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id, LATE.id]

    def test_only_what_may_be_found_waits_for_a_vector_of_the_next(self, embedded: Store) -> None:
        embedded.chunks.put_chunks([LATE])
        hide(embedded, LATE.id)
        embedded.vectors.start_reembedding(NEW)
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

    @pytest.mark.parametrize("third", THIRDS, ids=["name", "dimension", "fingerprint"])
    def test_a_third_embedder_is_refused(self, embedded: Store, third: Embedder) -> None:
        embedded.vectors.start_reembedding(NEW)
        before = seen(embedded)
        with pytest.raises(EmbedderMismatchError, match="tiny"):
            embedded.vectors.put_embeddings(third, [(F.id, pack_vector([0.0] * third.dimension))])
        with pytest.raises(EmbedderMismatchError, match="tiny"):
            embedded.vectors.put_embeddings(third, ())
        assert seen(embedded) == before
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

    @pytest.mark.parametrize(
        ("embedder", "vector", "message"),
        [(NEW, old(1), "has 6 bytes, large makes 8"), (OLD, new(1), "has 8 bytes, tiny makes 6")],
        ids=["next", "in-use"],
    )
    def test_a_vector_must_have_the_width_of_its_own_embedder(
        self, embedded: Store, embedder: Embedder, vector: bytes, message: str
    ) -> None:
        embedded.vectors.start_reembedding(NEW)
        before = seen(embedded)
        with pytest.raises(ValueError, match=message):
            embedded.vectors.put_embeddings(embedder, [(F.id, vector)])
        assert seen(embedded) == before
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

    # Starting and stopping

    def test_nobody_is_next_where_there_is_nothing_to_replace(self, store: Store) -> None:
        store.chunks.put_chunks([F])
        with pytest.raises(StoreError, match="no vectors that large could replace"):
            store.vectors.start_reembedding(NEW)
        store.vectors.put_embeddings(NEW, [(F.id, new(1))])
        with pytest.raises(StoreError, match="no vectors that large could replace"):
            store.vectors.start_reembedding(NEW)
        assert store.vectors.next_embedder() is None

    def test_a_change_that_is_started_again_goes_on_where_it_was(
        self, embedded: Store, open_store: Callable[[], Store]
    ) -> None:
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, [(F.id, new(1))])
        embedded.close()
        again = open_store()
        assert again.vectors.next_embedder() == NEW
        again.vectors.start_reembedding(NEW)
        assert again.vectors.find_unembedded(by_next=True) == [G.id]
        again.vectors.put_embeddings(NEW, [(G.id, new(2))])
        again.vectors.finish_reembedding()
        assert again.vectors.get_embeddings([F.id, G.id]) == NEW_VECTORS

    @pytest.mark.parametrize("third", THIRDS, ids=["name", "dimension", "fingerprint"])
    def test_a_change_to_yet_another_drops_what_was_made(
        self, embedded: Store, third: Embedder
    ) -> None:
        before = seen(embedded)
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        embedded.vectors.start_reembedding(third)
        assert embedded.vectors.next_embedder() == third
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]
        with pytest.raises(EmbedderMismatchError):
            embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        assert seen(embedded) == before

    def test_a_change_that_is_stopped_leaves_what_was_there(self, embedded: Store) -> None:
        before = seen(embedded)
        embedded.vectors.stop_reembedding()  # of none
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        embedded.vectors.stop_reembedding()
        assert embedded.vectors.next_embedder() is None
        assert seen(embedded) == before
        with pytest.raises(EmbedderMismatchError):
            embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        embedded.vectors.start_reembedding(NEW)
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

    # A vector stays while its text does

    @pytest.mark.parametrize(
        ("change", "missing"),
        [
            (lambda store: store.chunks.put_chunks([replace(F, content="other")]), [F.id]),
            (
                lambda store: store.maintenance.put_records([Record(replace(F, content="other"))]),
                [F.id],
            ),
            (lambda store: store.chunks.put_chunks([replace(F, lines=None)]), []),
            (lambda store: store.chunks.delete_chunks([F.id]), []),
            (lambda store: store.chunks.move_file("a.py", "b.py"), ["b.py:f", "b.py:g"]),
            (lambda store: store.chunks.forget_files(["a.py"]), []),
            (lambda store: store.chunks.replace_file(STATE, [replace(F, content="x"), G]), [F.id]),
            (
                lambda store: (store.chunks.delete_chunks([F.id]), store.chunks.put_chunks([F])),
                [F.id],
            ),
        ],
        ids=[
            "text", "record", "lines", "deleted", "moved", "forgotten", "replaced",
            "deleted-and-back",
        ],
    )  # fmt: skip
    def test_what_a_chunk_was_is_no_vector_of_what_it_is(
        self, embedded: Store, change: Callable[[Store], object], missing: list[str]
    ) -> None:
        """Of either embedder, and also after the one took over from the other."""
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        change(embedded)
        assert embedded.vectors.find_unembedded() == missing
        assert embedded.vectors.find_unembedded(by_next=True) == missing
        there = {chunk.id for chunk in embedded.chunks.iter_chunks()} - set(missing)

        embedded.vectors.finish_reembedding()

        assert embedded.vectors.find_unembedded() == missing
        found = embedded.vectors.get_embeddings([F.id, G.id, "b.py:f", "b.py:g"])
        assert found == {id_: NEW_VECTORS[id_] for id_ in there}
        assert embedded.maintenance.check() == []

    # Taking over

    def test_the_next_embedder_takes_over_all_at_once(
        self, embedded: Store, open_store: Callable[[], Store]
    ) -> None:
        generation, revisions = embedded.generation(), embedded.chunks.revisions()
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())

        embedded.vectors.finish_reembedding()

        for store in (embedded, open_store()):
            assert (store.vectors.embedder(), store.vectors.next_embedder()) == (NEW, None)
            assert store.vectors.get_embeddings([F.id, G.id]) == NEW_VECTORS
            assert [vector for _, vector in store.vectors.iter_vectors()] == [new(1), new(2)]
            assert [record.vector for record in store.maintenance.iter_records()] == [
                new(1),
                new(2),
            ]
            assert store.generation() > generation
            assert store.chunks.revisions() == revisions  # the texts are what they were
            assert store.maintenance.check() == []
        with pytest.raises(EmbedderMismatchError, match="large"):
            embedded.vectors.put_embeddings(OLD, OLD_VECTORS.items())

    def test_what_the_next_could_not_embed_has_no_vector_then(self, embedded: Store) -> None:
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, [(G.id, new(2))])
        embedded.vectors.finish_reembedding()
        assert embedded.vectors.get_embeddings([F.id, G.id]) == {G.id: new(2)}
        assert embedded.vectors.find_unembedded() == [F.id]
        embedded.vectors.put_embeddings(NEW, [(F.id, new(1))])
        assert embedded.vectors.find_unembedded() == []

    def test_there_and_back_again(self, embedded: Store) -> None:
        """What is kept beside is made anew every time; nothing of the last change is left."""
        for embedder, vectors in ((NEW, NEW_VECTORS), (OLD, OLD_VECTORS), (NEW, NEW_VECTORS)):
            embedded.vectors.start_reembedding(embedder)
            assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]
            embedded.vectors.put_embeddings(embedder, vectors.items())
            embedded.vectors.finish_reembedding()
            assert embedded.vectors.embedder() == embedder
            assert embedded.vectors.get_embeddings([F.id, G.id]) == vectors
        embedded.chunks.delete_chunks([F.id])
        assert [vector for _, vector in embedded.vectors.iter_vectors()] == [new(2)]
        assert embedded.maintenance.check() == []

    def test_nobody_takes_over_who_was_not_to_come(self, embedded: Store) -> None:
        before = seen(embedded)
        with pytest.raises(StoreError, match="No other model"):
            embedded.vectors.finish_reembedding()
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.stop_reembedding()
        with pytest.raises(StoreError, match="No other model"):
            embedded.vectors.finish_reembedding()
        assert seen(embedded) == before

    def test_a_takeover_that_fails_leaves_both(self, embedded: Store) -> None:
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        before = seen(embedded)

        def take_over_and_fail() -> None:
            with embedded.transaction():
                embedded.vectors.finish_reembedding()
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            take_over_and_fail()
        assert seen(embedded) == before
        assert embedded.vectors.find_unembedded(by_next=True) == []
        embedded.vectors.finish_reembedding()
        assert embedded.vectors.get_embeddings([F.id, G.id]) == NEW_VECTORS

    # Others meanwhile

    def test_a_snapshot_taken_before_still_reads_the_old_ones(self, embedded: Store) -> None:
        before = seen(embedded)
        with embedded.snapshot() as still:
            records = still.maintenance.iter_records()
            first = next(records)
            embedded.vectors.start_reembedding(NEW)
            embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
            assert still.vectors.next_embedder() is None
            embedded.vectors.finish_reembedding()
            assert [record.vector for record in (first, *records)] == [old(1), old(2)]
            assert seen(still) == before
        with embedded.snapshot() as still:
            assert (still.vectors.embedder(), still.vectors.get_embeddings([F.id])) == (
                NEW,
                {F.id: new(1)},
            )

    @pytest.mark.parametrize(
        "write",
        [
            lambda still: still.vectors.start_reembedding(THIRDS[0]),
            lambda still: still.vectors.stop_reembedding(),
            lambda still: still.vectors.finish_reembedding(),
            lambda still: still.vectors.put_embeddings(NEW, NEW_VECTORS.items()),
        ],
        ids=["start", "stop", "finish", "vectors"],
    )
    def test_in_a_snapshot_nothing_changes_hands(
        self, embedded: Store, write: Callable[[Store], object]
    ) -> None:
        embedded.vectors.start_reembedding(NEW)
        before = seen(embedded)
        with embedded.snapshot() as still, pytest.raises(StoreError):
            write(still)
        assert (seen(embedded), embedded.vectors.next_embedder()) == (before, NEW)
        assert embedded.vectors.find_unembedded(by_next=True) == [F.id, G.id]

    def test_who_has_the_store_open_goes_on_with_the_new_ones(
        self, embedded: Store, open_store: Callable[[], Store]
    ) -> None:
        """Another connection and another thread, both with questions they asked before."""
        other, asked, done = open_store(), threading.Event(), threading.Event()
        assert (other.vectors.embedder(), other.vectors.get_embeddings([F.id])) == (
            OLD,
            {F.id: old(1)},
        )
        found = []

        def read() -> None:
            found.append(embedded.vectors.get_embeddings([F.id, G.id]))
            asked.set()
            done.wait()
            found.append(embedded.vectors.get_embeddings([F.id, G.id]))

        reader = threading.Thread(target=read)
        reader.start()
        asked.wait()
        embedded.vectors.start_reembedding(NEW)
        embedded.vectors.put_embeddings(NEW, NEW_VECTORS.items())
        embedded.vectors.finish_reembedding()
        done.set()
        reader.join()

        assert found == [OLD_VECTORS, NEW_VECTORS]
        assert (other.vectors.embedder(), other.vectors.get_embeddings([F.id, G.id])) == (
            NEW,
            NEW_VECTORS,
        )
        other.chunks.put_chunks([LATE])
        other.vectors.put_embeddings(NEW, [(LATE.id, new(3))])
        other.vectors.start_reembedding(OLD)
        other.vectors.put_embeddings(OLD, OLD_VECTORS.items())
        other.chunks.delete_chunks([G.id])
        assert embedded.vectors.get_embeddings([F.id, G.id, LATE.id]) == {
            F.id: new(1),
            LATE.id: new(3),
        }
        assert embedded.vectors.find_unembedded(by_next=True) == [LATE.id]

    def test_vectors_that_are_just_being_read_are_read_to_the_end(self, store: Store) -> None:
        """Page by page, in the thread that lets the next take over: no lock is in its way."""
        ids = [f"a.py:f{n}" for n in range(2500)]
        store.chunks.put_chunks([make_chunk(name=f"f{n}") for n in range(2500)])
        store.vectors.put_embeddings(OLD, ((id_, old(1)) for id_ in ids))
        store.vectors.start_reembedding(NEW)
        store.vectors.put_embeddings(NEW, ((id_, new(2)) for id_ in ids))
        vectors = store.vectors.iter_vectors()
        first = next(vectors)
        store.vectors.finish_reembedding()
        read = [vector for _, vector in (first, *vectors)]
        assert len(read) == 2500
        assert set(read) <= {old(1), new(2)}

    def test_readers_see_the_one_or_the_other_but_never_both(
        self, embedded: Store, open_store: Callable[[], Store]
    ) -> None:
        """Whoever reads at one moment: what is told of the embedder fits every vector."""
        changed = threading.Event()
        widths = {OLD: 6, NEW: 8}

        def read() -> bool:
            other = open_store()
            while not changed.is_set():
                with other.snapshot() as still:
                    owner, vectors = (
                        still.vectors.embedder(),
                        still.vectors.get_embeddings([F.id, G.id]),
                    )
                    if {len(vector) for vector in vectors.values()} != {widths[owner]}:  # type: ignore[index]
                        return False
            return True

        def change() -> bool:
            try:
                for embedder, vectors in [(NEW, NEW_VECTORS), (OLD, OLD_VECTORS)] * 10:
                    embedded.vectors.start_reembedding(embedder)
                    embedded.vectors.put_embeddings(embedder, vectors.items())
                    embedded.vectors.finish_reembedding()
            finally:
                changed.set()
            return True

        parts = iter([change, read, read])

        def take_part() -> bool:
            return next(parts)()

        assert together(3, take_part) == [True] * 3
