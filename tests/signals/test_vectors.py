"""The vector index kept in step with a store, and made anew when it is no use (FR-8)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.packing import pack_vector, unpack_vector
from aurora.signals.cosine_scores import Matrix
from aurora.signals.semantic import compare_one_by_one
from aurora.signals.vector_index import VectorIndex, Vectors, join_vectors
from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Kind, Note
from tests.builders import NOW, hide, make_chunk
from tests.indexing.providers import VowelProvider
from tests.properties import examples
from tests.signals.vectored import CORRUPTED, VectorBench
from tests.threads import together

A = make_chunk("aaa", "_", "_a")
E = make_chunk("eee", "_", "_e")
IA = make_chunk("iii a", "_", "_ia")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[VectorBench]:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([A, E])
    bench.embed()
    yield bench
    bench.store.close()


def contents(vectors: Vectors) -> dict[int, tuple[int, list[float]]]:
    """Row → generation and vector."""
    return {row: (generation, list(vector)) for row, generation, vector in vectors.items()}


def stored(store: SQLiteStore) -> dict[int, tuple[int, list[float]]]:
    return {
        revision.row: (revision.generation, list(unpack_vector(vector)))
        for revision, vector in store.vectors.iter_vectors()
    }


# In step

FIRST = Note("Rebuilding vector index (detected the first vectors)...")


def test_an_index_asked_for_too_early_is_made_when_there_are_vectors(tmp_path: Path) -> None:
    bench = VectorBench(tmp_path)
    bench.store.chunks.put_chunks([A])
    index = bench.index()
    assert len(index.current()) == 0
    bench.embed()
    assert contents(index.current()) == stored(bench.store)
    assert bench.events == [FIRST]
    bench.store.close()


def test_the_first_question_makes_the_index_and_its_folder(bench: VectorBench) -> None:
    assert bench.find("aa") == ["_a"]
    assert bench.path.exists()
    assert bench.events == []
    assert contents(bench.index().current()) == stored(bench.store)


def test_a_second_process_uses_the_saved_index(bench: VectorBench) -> None:
    bench.find("aa")
    stamp = bench.path.stat().st_mtime_ns
    assert bench.find("ee") == ["_e"]
    assert bench.path.stat().st_mtime_ns == stamp


def change(store: SQLiteStore) -> None:
    """The text of one, without a vector until it is embedded anew."""
    store.chunks.put_chunks([replace(A, content="uuu")])


CHANGES = {
    "new": lambda store: store.chunks.put_chunks([IA]),
    "changed": change,
    "deleted": lambda store: store.chunks.delete_chunks([A.id]),
    "hidden": lambda store: hide(store, A.id),
    "all-gone": lambda store: store.chunks.delete_chunks([A.id, E.id]),
    "another-and-less": lambda store: (
        store.chunks.put_chunks([IA]),
        store.chunks.delete_chunks([E.id]),
    ),
    "moved": lambda store: store.chunks.put_chunks([replace(A, lines=None)]),
}


@pytest.mark.parametrize("embedded", [False, True], ids=["not-yet", "embedded"])
@pytest.mark.parametrize("fresh", [True, False], ids=["new-process", "long-running"])
@pytest.mark.parametrize("what", CHANGES.values(), ids=CHANGES)
def test_the_index_follows_every_change_and_equals_one_made_anew(
    bench: VectorBench, what: Callable[[SQLiteStore], object], fresh: bool, embedded: bool
) -> None:
    index = bench.index()
    index.current()
    what(bench.store)
    if embedded:
        bench.embed()

    merged = (bench.index() if fresh else index).current()

    assert contents(merged) == stored(bench.store)
    assert bench.path.read_bytes() == bench.rebuilt()
    assert bench.events == []


def test_a_changed_chunk_is_found_by_what_it_means_now(bench: VectorBench) -> None:
    signal = bench.signal()
    assert bench.find("aa", signal) == ["_a"]
    change(bench.store)
    bench.embed()
    assert bench.find("uu", signal) == ["_a"]


def test_what_is_replaced_is_hidden_and_comes_back(bench: VectorBench) -> None:
    signal = bench.signal()
    hide(bench.store, A.id)
    assert bench.find("ae", signal) == ["_e"]
    hide(bench.store, A.id, by=None)
    assert bench.find("ae", signal) == ["_a", "_e"]


def test_what_another_process_wrote_is_found(bench: VectorBench) -> None:
    signal = bench.signal()
    bench.find("aa", signal)
    other = SQLiteStore(bench.store.path)
    other.chunks.put_chunks([make_chunk("ooo", "_", "_o")])
    own, bench.store = bench.store, other
    bench.embed()
    bench.store = own
    other.close()
    assert bench.find("oo", signal) == ["_o"]


def test_an_index_another_process_brought_up_to_date_is_taken_over(bench: VectorBench) -> None:
    index = bench.index()
    index.current()
    bench.store.chunks.put_chunks([IA])
    bench.embed()
    bench.index().current()
    stamp = bench.path.stat().st_mtime_ns
    assert contents(index.current()) == stored(bench.store)
    assert bench.path.stat().st_mtime_ns == stamp


vowels = st.text("aeiou", min_size=1, max_size=4)
kinds_of_steps = st.sampled_from(["put", "delete", "hide", "embed", "look"])
steps = st.lists(st.tuples(kinds_of_steps, st.integers(0, 4), vowels), max_size=12)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=steps)
def test_after_any_changes_merging_equals_making_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    bench = VectorBench(tmp_path_factory.mktemp("merged"))
    index = follow(bench, steps)
    assert contents(index.current()) == stored(bench.store)
    assert bench.path.read_bytes() == bench.rebuilt()
    bench.store.close()


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=steps)
def test_an_index_of_many_segments_answers_as_one_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    """Segments of at most three vectors, each a file."""
    bench = VectorBench(tmp_path_factory.mktemp("segments"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("aurora.signals.vector_index._SMALL", 0)
        patched.setattr("aurora.signals.vector_index._MOST", 3)
        patched.setattr("aurora.signals.segments._MOST_INSIDE", 0)
        index = follow(bench, steps)
        current = index.current()
    assert contents(current) == contents(bench.index()._load()) == stored(bench.store)
    assert all(segment.size <= 3 for segment in current.segments)
    other = bench.index(bench.path.with_name("one.idx")).current()
    for question in ([1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.5, 0.0, 0.1]):
        split, whole = (Matrix(vectors).compare(question) for vectors in (current, other))
        assert split.best(9) == whole.best(9)
        assert sorted(split.hits(range(30))) == sorted(whole.hits(range(30)))
        plain = compare_one_by_one(current, question)
        assert plain.best(9) == whole.best(9)
    bench.store.close()


def follow(bench: VectorBench, steps: list[tuple[str, int, str]]) -> VectorIndex:
    """The index of a store that changes, and is sometimes searched."""
    index = bench.index()
    for step, number, text in steps:
        chunk = make_chunk(text, "_", f"_{number}", kind=Kind.REASONING)
        if step == "put":
            bench.store.chunks.put_chunks([chunk])
        elif step == "delete":
            bench.store.chunks.delete_chunks([chunk.id])
        elif step == "hide" and bench.store.chunks.get_chunks([chunk.id]):
            hide(bench.store, chunk.id, by=text if len(text) > 1 else None)
        elif step == "embed":
            bench.embed()
        else:
            index.current()
    index.current()
    assert set(bench.events) <= {FIRST}
    return index


# No use

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: b"not an index",
    "empty": lambda _: b"",
    "truncated": lambda whole: whole[: len(whole) // 2],
    "one-byte-short": lambda whole: whole[:-1],
    "one-byte-more": lambda whole: whole + b"\0",
    "zeros": lambda whole: bytes(len(whole)),
    "header": lambda whole: whole.replace(b'"vectors"', b'"vectorz"', 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_index_is_made_anew_with_a_warning(
    bench: VectorBench, damage: Callable[[bytes], bytes]
) -> None:
    """FR-8.4, FR-10.4: warned, deleted, rebuilt, searched."""
    bench.find("aa")
    whole = bench.path.read_bytes()
    bench.path.write_bytes(damage(whole))
    assert bench.find("aa") == ["_a"]
    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == whole


def flip_vector(path: Path) -> None:
    """One bit of the first vector: nothing but its checksum shows it."""
    content = bytearray(path.read_bytes())
    at = content.index(pack_vector([1.0, 0.0, 0.0, 0.0, 0.0]))  # `_a` has but `a`
    content[at + 1] ^= 1
    path.write_bytes(content)


def test_a_damaged_page_shows_on_the_first_read_and_is_mended(bench: VectorBench) -> None:
    bench.find("aa")
    whole = bench.path.read_bytes()
    flip_vector(bench.path)
    signal = bench.signal()
    assert bench.find("aa", signal) == ["_a"]
    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == whole
    assert bench.find("ee", signal) == ["_e"]


def test_a_damaged_page_is_not_carried_on_by_a_merge(bench: VectorBench) -> None:
    bench.find("aa")
    flip_vector(bench.path)
    bench.store.chunks.put_chunks([IA])
    bench.embed()
    assert bench.find("aa") == ["_a", "_ia"]
    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == bench.rebuilt()


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_flipped_bit_is_ever_an_answer(bench: VectorBench, data: st.DataObject) -> None:
    if not bench.path.exists():
        bench.find("aa")
    whole = bench.path.read_bytes()
    content = bytearray(whole)
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    bench.path.write_bytes(content)
    assert bench.find("aae") == ["_a", "_e"]
    bench.path.write_bytes(whole)


def test_an_index_cut_short_while_in_use_is_mended(bench: VectorBench) -> None:
    bench.find("aa")
    signal = bench.signal()
    bench.find("aa", signal)
    os.truncate(bench.path, 100)
    bench.store.chunks.put_chunks([IA])
    bench.embed()
    assert bench.find("ii", signal) == ["_ia"]
    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == bench.rebuilt()


def test_an_index_cut_short_between_two_questions_is_mended(bench: VectorBench) -> None:
    """The matrix of the first question is mapped from the file: to touch it ends the process."""
    bench.find("aa")
    signal = bench.signal()
    bench.find("aa", signal)
    os.truncate(bench.path, 100)
    assert bench.find("aa", signal) == ["_a"]
    assert bench.events == [CORRUPTED]
    assert bench.path.read_bytes() == bench.rebuilt()


def test_a_deleted_index_is_made_again_without_alarm(bench: VectorBench) -> None:
    bench.find("aa")
    whole = bench.path.read_bytes()
    bench.path.unlink()
    assert bench.find("aa") == ["_a"]
    assert (bench.events, bench.path.read_bytes()) == ([], whole)


def test_an_index_of_another_store_is_not_used(bench: VectorBench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = VectorBench(tmp_path / "other")
    other.store.chunks.put_chunks([make_chunk("aaa", "_", "_other"), E])
    other.embed()
    other.path = bench.path
    with other.store.transaction():
        other.store.database.set_fact("generation", str(bench.store.generation()))
    other.find("aa")
    assert other.store.generation() == bench.store.generation()
    other.store.close()
    assert bench.find("aa") == ["_a"]


def test_an_index_of_another_model_is_not_used(tmp_path: Path) -> None:
    """A memory restored from before its vectors were made, and filled by another model since."""
    files = []
    for number, provider in enumerate([VowelProvider(), VowelProvider(fingerprint="2")]):
        bench = VectorBench(tmp_path)
        bench.path = tmp_path / f"{number}.idx"
        bench.store.chunks.put_chunks([A, E])
        bench.provider = provider
        with bench.store.transaction():
            bench.store.database.connection.execute("DELETE FROM embeddings")
            bench.store.database.connection.execute("DELETE FROM facts WHERE name LIKE 'embedder%'")
        assert bench.store.vectors.embedder() is None
        bench.embed()
        bench.find("aa")
        files.append(bench.path)
        bench.store.close()
    bench = VectorBench(tmp_path)
    bench.provider, bench.path = VowelProvider(fingerprint="2"), files[0]
    assert bench.find("aa") == ["_a"]
    assert bench.events == [Note("Rebuilding vector index (vectors of another model)...")]
    assert bench.path.read_bytes() == files[1].read_bytes()
    bench.store.close()


def test_an_index_of_another_layout_is_made_anew_without_alarm(
    bench: VectorBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of before: its vectors were of any length."""
    with monkeypatch.context() as before:
        before.setattr("aurora.signals.vector_index._LAYOUT", 1)
        bench.find("aa")
    assert bench.find("aa") == ["_a"]
    assert bench.events == [Note("Rebuilding vector index (made by another version)...")]
    assert bench.path.read_bytes() == bench.rebuilt()


def test_a_folder_that_cannot_be_written_still_answers(bench: VectorBench) -> None:
    bench.folder.joinpath("indexes").write_text("a file where the folder should be")
    index = bench.index()
    assert contents(index.current()) == stored(bench.store)
    assert not index.saved
    assert bench.find("aa") == ["_a"]
    assert all("Cannot save the vector index" in str(event) for event in bench.events)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_still_answers(bench: VectorBench) -> None:
    bench.path.parent.mkdir()
    bench.path.parent.chmod(0o500)
    assert bench.find("aa") == ["_a"]
    bench.path.parent.chmod(0o700)
    assert "Cannot save the vector index" in str(bench.events[0])


def test_threads_that_meet_one_damage_mend_it_once(bench: VectorBench) -> None:
    bench.find("aa")
    flip_vector(bench.path)
    signal = bench.signal()
    assert together(5, lambda: bench.find("aa", signal)) == [["_a"]] * 5
    assert bench.events == [CORRUPTED]


# The file


three = st.lists(st.floats(-65504.0, 65504.0, width=16), min_size=3, max_size=3)


@settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(values=st.dictionaries(st.integers(1, 50), three))
def test_vectors_come_back_as_they_were_written(
    bench: VectorBench, values: dict[int, list[float]]
) -> None:
    """As the file gives them: by ascending row, float32, with the generations."""
    parts = {row: (7 * row, pack_vector(vector)) for row, vector in values.items()}
    owner = Embedder("three", 3, "x")
    made = join_vectors(parts, owner)
    made.save_index(bench.path, {"store": "x"})
    for vectors in (made, bench.index()._load()):
        assert (len(vectors), vectors.dimension) == (len(values), 3)
        assert vectors.embedder == owner
        assert contents(vectors) == {row: (7 * row, vector) for row, vector in values.items()}
        assert vectors.facts["store"] == "x"


def test_a_store_without_a_model_has_an_empty_index(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks([A])
    index = VectorIndex(store, tmp_path / "vectors.idx", now=lambda: NOW)
    assert (len(index.current()), store.vectors.embedder()) == (0, None)
    assert len(VectorIndex(store, tmp_path / "vectors.idx", now=lambda: NOW).current()) == 0
    store.close()
