"""What every store must do. A store's own test module subclasses `StoreConformance` and says how
to open one; everything here then runs against it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aurora.errors import EmbedderMismatchError
from aurora.stores.base import Embedder, FileState, Reasoning, Store, pack_vector, unpack_vector
from aurora.types import Chunk, Kind
from tests.builders import NOW, make_chunk

MODEL = Embedder("tiny", 3, "abc")
VECTOR = pack_vector([0.5, -1.0, 0.25])
PATTERN = Reasoning("decomposition", 0.9, 2, NOW)
STATE = FileState("a.py", 10, 123, "digest")

FULL = Chunk(
    id="docs/设计.md:auth",
    kind=Kind.KNOWLEDGE,
    name="认证 ✓",
    content="用户认证流程\nwith 'quotes' and \"more\" and % and _",
    qualified_name="design.auth",
    path="docs/设计.md",
    language="markdown",
    namespace="team",
    document_type="decision",
    created_at=datetime(2025, 12, 15, 8, 30, 0, 123456, tzinfo=UTC),
    metadata={"source": "note", "tags": ["a", "b"], "score": 0.5, "deep": {"x": None}},
)


class StoreConformance:
    """Subclass it as `TestXStore` with an `open_store` fixture that opens the same store again."""

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        return open_store()

    # Chunks

    @pytest.mark.parametrize("chunk", [make_chunk(), FULL], ids=["function", "every-field"])
    def test_a_chunk_comes_back_as_it_was(self, store: Store, chunk: Chunk) -> None:
        assert store.put_chunks([chunk]) == 1
        assert store.get_chunks([chunk.id]) == [chunk]

    def test_chunks_survive_closing(self, open_store: Callable[[], Store]) -> None:
        first = open_store()
        first.put_chunks([FULL])
        before = (first.identity, first.generation())
        first.close()

        again = open_store()

        assert again.get_chunks([FULL.id]) == [FULL]
        assert (again.identity, again.generation()) == before

    def test_chunks_come_in_the_order_asked_for_without_the_missing(self, store: Store) -> None:
        a, b = make_chunk(name="a"), make_chunk(name="b")
        store.put_chunks([a, b])
        assert store.get_chunks([b.id, "nowhere", a.id, b.id]) == [b, a, b]

    def test_many_ids_at_once(self, store: Store) -> None:
        chunks = [make_chunk(name=f"f{number}") for number in range(2500)]
        assert store.put_chunks(chunks) == 2500
        assert store.get_chunks([chunk.id for chunk in chunks]) == chunks
        assert list(store.iter_chunks()) == chunks
        assert store.delete_chunks([chunk.id for chunk in chunks]) == 2500

    def test_writing_an_id_again_replaces_the_chunk(self, store: Store) -> None:
        store.put_chunks([make_chunk("old")])
        assert store.put_chunks([make_chunk("new")]) == 1
        assert [chunk.content for chunk in store.iter_chunks()] == ["new"]

    def test_writing_the_same_again_changes_nothing(self, store: Store) -> None:
        store.put_chunks([FULL])
        generation = store.generation()
        assert store.put_chunks([FULL]) == 0
        assert store.generation() == generation

    def test_deleting_counts_what_was_there(self, store: Store) -> None:
        store.put_chunks([make_chunk(name="a"), make_chunk(name="b")])
        assert store.delete_chunks(["a.py:a", "nowhere"]) == 1
        assert [chunk.name for chunk in store.iter_chunks()] == ["b"]

    def test_counts_by_kind_and_namespace(self, store: Store) -> None:
        store.put_chunks([make_chunk(name="a"), make_chunk(name="b"), FULL])
        assert store.count_chunks() == {Kind.FUNCTION: 2, Kind.KNOWLEDGE: 1}
        assert store.count_namespaces() == {"": 2, "team": 1}

    @pytest.mark.parametrize(
        ("suffix", "found"),
        [
            ("a.py:f_1", ["a.py:f_1", "b/a.py:f_1"]),
            ("b/a.py:f_1", ["b/a.py:f_1"]),
            ("f%1", []),
            ("fx1", ["a.py:fx1"]),
            ("'; DROP TABLE chunks; --", []),
            ("", []),
        ],
        ids=["two", "one", "percent", "underscore-is-plain", "injection", "empty"],
    )
    def test_ids_by_ending(self, store: Store, suffix: str, found: list[str]) -> None:
        store.put_chunks([
            make_chunk(name="f_1"), make_chunk(name="fx1"), make_chunk(path="b/a.py", name="f_1"),
        ])  # fmt: skip
        assert store.find_ids(suffix, limit=5) == found
        assert len(store.find_ids("1", limit=2)) == 2

    def test_ids_by_file_folder_and_namespace(self, store: Store) -> None:
        store.put_chunks([
            make_chunk(path="a/x.py"), make_chunk(path="a/b/y.py"), make_chunk(path="ab/z.py"),
            make_chunk(path="a_b/z.py"), FULL,
        ])  # fmt: skip
        assert store.find_below("a") == ["a/b/y.py:f", "a/x.py:f"]
        assert store.find_below("a/") == ["a/b/y.py:f", "a/x.py:f"]
        assert store.find_below("a/x.py") == ["a/x.py:f"]
        assert store.find_below("a%") == store.find_below("nowhere") == []
        assert store.find_in_namespace("team") == [FULL.id]

    def test_the_folder_of_relative_paths_holds_no_other(self, store: Store) -> None:
        paths = ["a.py", "b/c.py", "/elsewhere/d.py", "C:/windows/e.py", ""]
        store.put_chunks(make_chunk(path=path, name="f") for path in paths)
        assert store.find_below(".") == ["a.py:f", "b/c.py:f"]
        assert store.find_in_namespace("tea_") == []

    @pytest.mark.parametrize(
        "text",
        ["'; DROP TABLE chunks; --", '" OR 1=1 --', "a\0b", "%_\\", "x" * 1_000_000, "𝔘𝔫𝔦"],
        ids=["quote", "or", "nul", "wildcards", "megabyte", "astral"],
    )
    def test_hostile_text_is_only_text(self, store: Store, text: str) -> None:
        chunk = make_chunk(text, name=text[:50], metadata={"k": text[:50]})
        store.put_chunks([chunk])
        assert store.get_chunks([chunk.id]) == [chunk]
        assert store.check() == []

    # Generations and transactions

    def test_the_generation_grows_with_what_can_be_found(self, store: Store) -> None:
        seen = [store.generation()]
        for change in (
            lambda: store.put_chunks([make_chunk(), FULL]),
            lambda: store.put_chunks([make_chunk("changed")]),
            lambda: store.put_reasoning(FULL.id, PATTERN),
            lambda: store.put_embeddings(MODEL, [(FULL.id, VECTOR)]),
            lambda: store.delete_chunks([FULL.id]),
            lambda: store.replace_file(STATE, []),
        ):
            change()
            seen.append(store.generation())
        assert seen == sorted(set(seen))

    def test_an_access_or_a_file_state_is_no_new_generation(self, store: Store) -> None:
        store.put_chunks([make_chunk()])
        generation = store.generation()
        store.record_access("a.py:f", NOW)
        store.put_file_states([STATE])
        store.delete_chunks(["nowhere"])
        assert store.generation() == generation

    def test_a_transaction_is_one_generation(self, store: Store) -> None:
        before = store.generation()
        with store.transaction():
            store.put_chunks([make_chunk(name="a")])
            store.put_chunks([make_chunk(name="b")])
            assert store.generation() == before
        assert store.generation() > before

    def test_a_failed_transaction_leaves_what_was_there(self, store: Store) -> None:
        store.put_chunks([make_chunk("kept")])
        generation = store.generation()

        def change_and_fail() -> None:
            with store.transaction():
                store.put_chunks([make_chunk("lost"), FULL])
                store.delete_chunks(["a.py:f"])
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            change_and_fail()
        assert [chunk.content for chunk in store.iter_chunks()] == ["kept"]
        assert store.generation() == generation
        assert store.check() == []

    def test_threads_read_while_one_writes(self, store: Store) -> None:
        """Every reader sees whole batches only, never half of one."""
        counts: list[int] = []
        failures: list[BaseException] = []

        def read() -> None:
            try:
                counts.extend(sum(store.count_chunks().values()) for _ in range(50))
            except BaseException as exc:
                failures.append(exc)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for batch in range(10):
            store.put_chunks([make_chunk(name=f"f{batch}_{number}") for number in range(20)])
        for reader in readers:
            reader.join()

        assert failures == []
        assert {count % 20 for count in counts} <= {0}
        assert sum(store.count_chunks().values()) == 200

    # Files

    def test_a_file_is_replaced_whole(self, store: Store) -> None:
        kept, old = make_chunk(name="kept"), make_chunk(name="old")
        other = make_chunk(path="b.py")
        store.put_chunks([other])
        store.replace_file(STATE, [kept, old])
        store.record_access(kept.id, NOW)
        new_state = replace(STATE, digest="other")

        changed = store.replace_file(new_state, [kept, make_chunk(name="new")])

        assert changed == 2
        assert {chunk.id for chunk in store.iter_chunks()} == {"a.py:kept", "a.py:new", "b.py:f"}
        assert store.file_states() == {"a.py": new_state}
        assert store.get_accesses([kept.id]) == {kept.id: (NOW,)}

    def test_a_file_forgotten_takes_its_chunks_along(self, store: Store) -> None:
        store.replace_file(STATE, [make_chunk(name="a"), make_chunk(name="b")])
        store.put_chunks([make_chunk(path="b.py")])
        assert store.forget_files(["a.py", "nowhere.py"]) == 2
        assert [chunk.id for chunk in store.iter_chunks()] == ["b.py:f"]
        assert store.file_states() == {}

    # Reasoning and accesses

    def test_reasoning_comes_back_and_can_be_replaced(self, store: Store) -> None:
        store.put_chunks([make_chunk(kind=Kind.REASONING)])
        assert store.get_reasoning("a.py:f") is None
        store.put_reasoning("a.py:f", PATTERN)
        used = replace(PATTERN, usage_count=3)
        store.put_reasoning("a.py:f", used)
        assert store.get_reasoning("a.py:f") == used

    @pytest.mark.parametrize(("score", "found"), [(0.0, 0), (0.49, 0), (0.5, 1), (1.0, 1)])
    def test_failed_reasoning_is_kept_but_not_found(
        self, store: Store, score: float, found: int
    ) -> None:
        """Seed 000, FR-4.1 and FR-4.4."""
        store.put_chunks([make_chunk(kind=Kind.REASONING)])
        store.put_reasoning("a.py:f", replace(PATTERN, success_score=score))
        assert len(list(store.iter_chunks())) == found
        assert sum(store.count_chunks().values()) == found
        assert len(store.get_chunks(["a.py:f"])) == 1

    def test_accesses_are_kept_in_order(self, store: Store) -> None:
        store.put_chunks([make_chunk(), FULL])
        later = NOW + timedelta(days=1, microseconds=5)
        store.record_access("a.py:f", later)
        store.record_access("a.py:f", NOW)
        store.record_access("nowhere", NOW)
        assert store.get_accesses(["a.py:f", FULL.id, "nowhere"]) == {"a.py:f": (NOW, later)}

    def test_a_deleted_chunk_leaves_nothing_behind(self, store: Store) -> None:
        store.put_chunks([make_chunk()])
        store.record_access("a.py:f", NOW)
        store.put_reasoning("a.py:f", PATTERN)
        store.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        store.delete_chunks(["a.py:f"])
        store.put_chunks([make_chunk()])
        assert store.get_accesses(["a.py:f"]) == {}
        assert store.get_reasoning("a.py:f") is None
        assert store.get_embeddings(["a.py:f"]) == {}

    # Embeddings

    def test_vectors_come_back_bit_for_bit(self, store: Store) -> None:
        store.put_chunks([make_chunk(), FULL])
        store.put_embeddings(MODEL, [("a.py:f", VECTOR), ("nowhere", VECTOR)])
        assert store.get_embeddings(["a.py:f", FULL.id, "nowhere"]) == {"a.py:f": VECTOR}
        assert list(unpack_vector(VECTOR)) == [0.5, -1.0, 0.25]
        assert store.embedder() == MODEL

    def test_vectors_are_little_endian_float32(self) -> None:
        assert VECTOR.hex() == "0000003f" + "000080bf" + "0000803e"

    @pytest.mark.parametrize(
        "other",
        [Embedder("big", 3, "abc"), Embedder("tiny", 4, "abc"), Embedder("tiny", 3, "xyz")],
        ids=["name", "dimension", "fingerprint"],
    )
    def test_vectors_of_two_models_never_mix(self, store: Store, other: Embedder) -> None:
        store.put_chunks([make_chunk()])
        store.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        with pytest.raises(EmbedderMismatchError, match="tiny"):
            store.put_embeddings(other, [("a.py:f", pack_vector([0.0] * other.dimension))])
        assert store.get_embeddings(["a.py:f"]) == {"a.py:f": VECTOR}
        assert store.embedder() == MODEL

    def test_a_vector_of_the_wrong_length_is_refused(self, store: Store) -> None:
        store.put_chunks([make_chunk()])
        with pytest.raises(ValueError, match="has 8 bytes, tiny makes 12"):
            store.put_embeddings(MODEL, [("a.py:f", b"12345678")])
        assert store.embedder() is None

    @pytest.mark.parametrize(
        ("change", "stays"),
        [({"lines": None}, True), ({"metadata": {"x": 1}}, True), ({"content": "new"}, False)],
        ids=["moved", "metadata", "text"],
    )
    def test_a_vector_stays_while_its_text_does(
        self, store: Store, change: dict[str, object], stays: bool
    ) -> None:
        store.put_chunks([make_chunk()])
        store.put_embeddings(MODEL, [("a.py:f", VECTOR)])
        store.put_chunks([make_chunk(**change)])  # type: ignore[arg-type]
        assert store.get_embeddings(["a.py:f"]) == ({"a.py:f": VECTOR} if stays else {})

    def test_a_fresh_store_is_whole_and_empty(self, store: Store) -> None:
        assert store.check() == []
        assert list(store.iter_chunks()) == []
        assert (store.count_chunks(), store.count_namespaces(), store.file_states()) == ({}, {}, {})
        assert store.embedder() is None
