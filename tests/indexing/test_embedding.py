"""Vectors come after the chunks; where they cannot be made, that is told and tried again."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Memory, Places
from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import EmbeddingError
from aurora.indexing.embedding import (
    Embedded,
    embed,
    embed_missing,
    embedding_text,
    pack_rows,
    unit_rows,
)
from aurora.indexing.indexer import IndexReport
from aurora.packing import VECTOR_WIDTH, pack_vector, unit_vector, unpack_vector
from aurora.stores.base import Embedder, Store
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Lines
from tests.builders import NOW, make_chunk, write_tree
from tests.indexing.providers import VowelProvider, answering, count_vowels, failing_for

Open = Callable[[EmbeddingProvider | None], Memory]
FUNCTIONS = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(30))
A, E = [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def open_memory(tmp_path: Path, root: Path) -> Iterator[Open]:
    """The memory of the folder with another provider, as after a change of settings."""
    opened: list[Memory] = []

    def open_(provider: EmbeddingProvider | None) -> Memory:
        opened.append(Memory(Places(tmp_path / "home", root), now=lambda: NOW, embedder=provider))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


def store_of(memory: Memory) -> SQLiteStore:
    return SQLiteStore(memory.admin.path)


def vectors(store: Store) -> dict[str, list[float]]:
    ids = [chunk.id for chunk in store.chunks.iter_chunks()]
    return {id_: list(unpack_vector(v)) for id_, v in store.vectors.get_embeddings(ids).items()}


def made_of(store: Store) -> dict[str, list[float]]:
    """What the vectors must be when nothing is missing and nothing is old."""
    return {chunk.id: kept(made(*embedding_text(chunk))) for chunk in store.chunks.iter_chunks()}


def made(text: str, label: str) -> Sequence[float]:
    vector = unit_vector(count_vowels(text))
    if not label:
        return vector
    return [a + 0.5 * b for a, b in zip(vector, unit_vector(count_vowels(label)), strict=True)]


def kept(vector: Sequence[float]) -> list[float]:
    """What a memory keeps of a vector: its direction, in float16."""
    return list(unpack_vector(pack_vector(unit_vector(vector))))


def about_vectors(report: IndexReport) -> list[str]:
    return [text for text in report.warnings if "conversation logs" not in text]


def test_every_chunk_gets_a_vector_of_its_name_and_content(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": "def area():\n    pass\n", "2.md": "# Notes\n\nwords\n"})
    provider = VowelProvider()
    memory = open_memory(provider)
    memory.learn("use indexes")
    assert provider.asked == [["use indexes"]]  # at once, not with the next run

    report = memory.index(root)

    store = store_of(memory)
    assert sorted(text for texts in provider.asked for text in texts) == [
        "# Notes\n\nwords", "Notes", "area\ndef area():\n    pass", "use indexes",
    ]  # fmt: skip
    assert vectors(store) == made_of(store)
    assert store.vectors.embedder() == Embedder("vowels", 5, "1")
    assert (report.embedded, report.is_partial) == (Embedded(2), False)


def test_a_vector_has_half_as_much_of_the_words_of_its_path(store: SQLiteStore) -> None:
    """However long the text is: `src/HTTPUtil_v2.py` says `src HTTP Util v`."""
    store.chunks.put_chunks(
        [make_chunk("a" * 90, "src/HTTPUtil_v2.py", "x"), make_chunk("e", "1.py")]
    )
    provider = VowelProvider()
    embed_missing(store, provider)
    assert provider.asked == [["x\n" + "a" * 90, "f\ne"], ["src HTTP Util v"]]
    with_path = [a + 0.5 * p for a, p in zip(A, unit_vector([0, 0, 1, 0, 1]), strict=True)]
    assert vectors(store) == {"src/HTTPUtil_v2.py:x": kept(with_path), "1.py:f": kept(E)}


def test_a_path_is_asked_for_once_for_all_chunks_of_a_file(store: SQLiteStore) -> None:
    """Their batches come one after the other."""
    for path in ("area.py", "unit.py"):
        store.chunks.put_chunks([make_chunk("e", path, f"f{n}") for n in range(10)])
    provider = VowelProvider(batch_size=4)
    embed_missing(store, provider)
    asked = [text for texts in provider.asked for text in texts if "\n" not in text]
    assert asked == ["area", "unit"]
    paths = {path: unit_vector(count_vowels(path)) for path in asked}
    assert vectors(store) == {
        f"{path}.py:f{n}": kept([e + 0.5 * p for e, p in zip(E, of_path, strict=True)])
        for path, of_path in paths.items()
        for n in range(10)
    }


def test_a_second_run_asks_for_nothing(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": FUNCTIONS})
    open_memory(VowelProvider()).index(root)

    class Unloaded(VowelProvider):
        """Loading a model takes seconds: only who it is may be asked while nothing is missing."""

        def __getattribute__(self, name: str) -> object:
            if name != "name":
                raise AssertionError(f"{name} was asked for")
            return "vowels"

    memory = open_memory(None)
    generation = memory.stats().generation
    assert open_memory(Unloaded()).index(root).embedded == Embedded()
    assert memory.stats().generation == generation


def test_chunks_go_to_the_provider_in_batches(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": FUNCTIONS})
    provider = VowelProvider(batch_size=7)
    open_memory(provider).index(root)
    assert [len(texts) for texts in provider.asked] == [7, 7, 7, 7, 2]


def test_one_chunk_that_fails_is_named_found_by_keyword_and_tried_again(
    open_memory: Open, root: Path
) -> None:
    """Seed 000, FR-10.2 and Q5."""
    write_tree(root, {"1.py": FUNCTIONS + "def poison():\n    return 30\n"})
    memory = open_memory(failing_for("poison"))

    report = memory.index(root)

    warning = "Failed to generate embedding for chunk 1.py:poison: model is away"
    assert (about_vectors(report), report.embedded) == ([warning], Embedded(31, 1, (warning,)))
    assert report.is_partial
    store = store_of(memory)
    assert vectors(store).keys() == made_of(store).keys() - {"1.py:poison"}
    assert memory.search("poison").results[0].chunk_id == "1.py:poison"

    assert memory.index(root).embedded == Embedded(1, 1, (warning,))
    healthy = VowelProvider()
    report = open_memory(healthy).index(root)
    assert (report.embedded, report.is_partial) == (Embedded(1), False)
    assert len(healthy.asked) == 1
    assert vectors(store) == made_of(store)


def test_a_batch_that_fails_costs_no_chunk(open_memory: Open, root: Path) -> None:
    """Too much text at once: each is then asked for alone."""
    write_tree(root, {"1.py": FUNCTIONS})

    def one_at_a_time(texts: Sequence[str]) -> list[list[float]]:
        if len(texts) > 1:
            raise MemoryError
        return [count_vowels(texts[0])]

    memory = open_memory(VowelProvider(one_at_a_time))
    report = memory.index(root)

    assert (report.embedded, about_vectors(report)) == (Embedded(30), [])
    assert vectors(store_of(memory)) == made_of(store_of(memory))


def test_a_provider_that_is_away_is_not_asked_for_every_chunk(
    open_memory: Open, root: Path
) -> None:
    write_tree(root, {"1.py": FUNCTIONS})
    away = failing_for("def")
    memory = open_memory(away)

    report = memory.index(root)

    assert about_vectors(report) == [
        *(f"Failed to generate embedding for chunk 1.py:f{n}: model is away" for n in range(10)),
        "vowels failed 10 times in a row: 20 more chunks were not tried",
    ]
    assert (report.embedded.wanted, report.embedded.failed, report.is_partial) == (30, 30, True)
    assert len(away.asked) == 13  # three batches of four, two of them whole, and ten alone
    assert memory.search("f7").results[0].chunk_id == "1.py:f7"
    assert store_of(memory).vectors.embedder() is None

    other = VowelProvider(name="other", fingerprint="2")  # nothing was made: it may come in
    assert open_memory(other).index(root).embedded == Embedded(30)
    assert vectors(store_of(memory)) == made_of(store_of(memory))


def test_failures_that_end_are_no_reason_to_give_up(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": FUNCTIONS})
    down_for = iter(range(12))  # the first batches and calls

    def make(texts: Sequence[str]) -> list[list[float]]:
        if next(down_for, None) is not None:
            raise TimeoutError("slow")
        return [count_vowels(text) for text in texts]

    memory = open_memory(VowelProvider(make))
    report = memory.index(root)
    assert (report.embedded.wanted, report.embedded.failed) == (30, 9)
    assert len(about_vectors(report)) == 9
    assert memory.index(root).embedded == Embedded(9)


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        (answering([1.0, 2.0]), "a vector of 2 numbers, not 5"),
        (answering([1.0] * 6), "a vector of 6 numbers, not 5"),
        (answering([1.0, math.nan, 0, 0, 0]), "a vector with numbers that are not finite"),
        (answering([1.0, -math.inf, 0, 0, 0]), "a vector with numbers that are not finite"),
        (VowelProvider(lambda _: []), "0 vectors for 1 texts"),
        (VowelProvider(lambda _: [[0.0] * 5] * 9), "9 vectors for 1 texts"),
        (VowelProvider(lambda _: None), "object of type 'NoneType' has no len()"),  # type: ignore[arg-type,return-value]
        (VowelProvider(lambda _: ["words"]), "could not convert string to float: 'words'"),  # type: ignore[arg-type,list-item,return-value]
        (failing_for("f", KeyError("text")), "'text'"),
        (failing_for("f", TimeoutError()), "TimeoutError()"),
    ],
    ids=[
        "short", "long", "nan", "infinite", "none", "too-many", "no-answer",
        "words", "key-error", "error-without-words",
    ],
)  # fmt: skip
def test_what_is_no_vector_is_not_kept(
    open_memory: Open, root: Path, provider: VowelProvider, reason: str
) -> None:
    write_tree(root, {"1.py": "def f(): pass\n"})
    memory = open_memory(provider)

    report = memory.index(root)

    warning = f"Failed to generate embedding for chunk 1.py:f: {reason}"
    assert about_vectors(report) == [warning]
    assert vectors(store_of(memory)) == {}
    assert memory.search("f").results[0].chunk_id == "1.py:f"
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(1)


def test_only_what_has_a_new_text_is_embedded_again(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": "def f(): pass\n\n\ndef g(): pass\n", "3.py": "def h(): pass\n"})
    memory = open_memory(VowelProvider())
    memory.index(root)
    write_tree(root, {"1.py": "import os\n\n\ndef f(): pass\n\n\ndef g(): return os\n"})
    (root / "3.py").rename(root / "4.py")

    again = VowelProvider(batch_size=100)
    open_memory(again).index(root)

    # The text of h is as before, in a file of another name.
    assert sorted(again.asked[0]) == ["1\nimport os", "g\ndef g(): return os"]
    assert vectors(store_of(memory)) == made_of(store_of(memory))


def test_a_chunk_forgotten_meanwhile_is_no_failure(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk(name=f"f{number}", path="1.py") for number in range(8)])

    def forget_the_rest(texts: Sequence[str]) -> list[list[float]]:
        store.chunks.delete_chunks([f"1.py:f{number}" for number in range(3, 8)])
        return [count_vowels(text) for text in texts]

    provider = VowelProvider(forget_the_rest)

    assert embed_missing(store, provider) == Embedded(3)
    assert [len(texts) for texts in provider.asked] == [4]
    assert vectors(store) == made_of(store)


@pytest.mark.parametrize(
    "change", [{"content": "audio"}, {"qualified_name": "queue"}, {"path": "io.py"}]
)
def test_a_text_changed_meanwhile_gets_no_vector_of_the_old_one(
    store: SQLiteStore, change: dict[str, str]
) -> None:
    """As by another process, which has kept the right one before the wrong one comes."""
    chunk = make_chunk()
    changed = replace(chunk, **change)  # type: ignore[arg-type]

    def change_it(texts: Sequence[str]) -> list[list[float]]:
        store.chunks.put_chunks([changed])
        assert embed(store, VowelProvider(), [changed.id]) == Embedded(1)
        return [count_vowels(text) for text in texts]

    store.chunks.put_chunks([chunk, make_chunk("a i", "b.py", "g")])
    assert embed(store, VowelProvider(change_it), [chunk.id, "b.py:g"]) == Embedded(1)
    assert vectors(store) == made_of(store)


def test_a_chunk_that_only_moved_meanwhile_keeps_its_vector(store: SQLiteStore) -> None:
    chunk = make_chunk()

    def move_it(texts: Sequence[str]) -> list[list[float]]:
        store.chunks.put_chunks([replace(chunk, lines=Lines(7, 8))])
        return [count_vowels(text) for text in texts]

    store.chunks.put_chunks([chunk])
    assert embed(store, VowelProvider(move_it), [chunk.id]) == Embedded(1)
    assert vectors(store) == made_of(store)


@pytest.mark.parametrize("size", [1e300, 65_520.0, 1e-300, 5e-324], ids=str)
def test_a_vector_of_any_length_is_kept_at_length_1(
    open_memory: Open, root: Path, size: float
) -> None:
    """Also one with numbers that neither float16 nor float32 could be."""
    write_tree(root, {"1.py": "def f(): pass\n"})
    memory = open_memory(answering([0.0, -size, 0.0, size, 0.0]))
    assert memory.index(root).embedded == Embedded(1)
    half = struct.unpack("<e", struct.pack("<e", math.sqrt(0.5)))[0]
    assert vectors(store_of(memory)) == {"1.py:f": [0.0, -half, 0.0, half, 0.0]}


def test_a_text_without_meaning_has_a_vector_that_points_nowhere(
    open_memory: Open, root: Path
) -> None:
    """So that it is not asked for again with every run."""
    write_tree(root, {"1.py": "def f(): pass\n"})
    memory = open_memory(answering([0.0] * 5))
    assert memory.index(root).embedded == Embedded(1)
    assert vectors(store_of(memory)) == {"1.py:f": [0.0] * 5}
    assert memory.index(root).embedded == Embedded()


some_vectors = st.integers(1, 9).flatmap(
    lambda size: st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=size, max_size=size),
        min_size=1,
    )
)


@given(some_vectors)
def test_many_at_once_are_packed_as_one_alone_is(many: list[list[float]]) -> None:
    """By numpy and by Python: they differ by no more than the last bit that is kept."""
    size = len(many[0])
    at_once = pack_rows(unit_rows(many, count=len(many), dimension=size))
    for vector, bytes_ in zip(many, at_once, strict=True):
        assert len(bytes_) == VECTOR_WIDTH * size
        assert list(unpack_vector(bytes_)) == pytest.approx(kept(vector), rel=2**-10, abs=2**-24)


OTHERS = [
    VowelProvider(name="other"),
    VowelProvider(lambda texts: [[1.0] * 6] * len(texts), dimension=6),
    VowelProvider(fingerprint="2"),
]


@pytest.mark.parametrize("other", OTHERS, ids=["name", "dimension", "fingerprint"])
def test_vectors_of_another_model_are_not_made_and_that_is_told(
    store: SQLiteStore, other: VowelProvider
) -> None:
    store.chunks.put_chunks([make_chunk(path="1.py")])
    assert embed_missing(store, VowelProvider()) == Embedded(1)
    store.chunks.put_chunks([make_chunk(name="fresh", path="1.py")])
    before = vectors(store)

    embedded = embed_missing(store, other)

    (warning,) = embedded.warnings
    assert warning.startswith(
        f"This memory holds vectors of vowels (5 dimensions), not of {other.name}"
    )
    assert "`aur mem reembed`" in warning
    assert embedded == Embedded(1, 1, (warning,), gave_up=True)
    assert (other.asked, vectors(store)) == ([], before)
    assert embed_missing(store, VowelProvider()) == Embedded(1)


def test_with_another_version_of_the_model_every_word_is_found(
    open_memory: Open, root: Path
) -> None:
    write_tree(root, {"1.py": "def f(): pass\n"})
    open_memory(VowelProvider()).index(root)
    write_tree(root, {"2.py": "def fresh(): pass\n"})
    other = open_memory(VowelProvider(fingerprint="2"))

    report = other.index(root)

    (warning,) = about_vectors(report)
    assert "not of vowels (5) as it is now: 2, not 1" in warning
    assert (report.embedded, report.is_partial) == (Embedded(1, 1, (warning,), True), True)
    answer = other.search("fresh")
    assert answer.results[0].chunk_id == "2.py:fresh"
    assert ("semantic" in answer.signals, [note.text for note in answer.notes]) == (
        False,
        [warning],
    )
    assert vectors(store_of(other)).keys() == {"1.py:f"}
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(1)


@pytest.mark.parametrize("part", ["name", "dimension", "fingerprint", "batch_size"])
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (EmbeddingError("No model is here", hint="get one"), "No model is here: get one"),
        (OSError("disk"), "The embedding provider failed: OSError('disk')"),
    ],
    ids=["ours", "any"],
)
def test_a_provider_that_cannot_even_say_what_it_is_makes_no_vectors(
    store: SQLiteStore, part: str, error: Exception, told: str
) -> None:
    """Some models are loaded for it, and that may fail in any way."""

    class Failing(VowelProvider):
        def __getattribute__(self, name: str) -> object:
            if name == part:
                raise error
            return super().__getattribute__(name)

    store.chunks.put_chunks([make_chunk(path="1.py"), make_chunk(name="g", path="1.py")])
    assert embed_missing(store, Failing()) == Embedded(2, 2, (told,), gave_up=True)
    assert (vectors(store), store.vectors.embedder()) == ({}, None)


def test_a_provider_that_wants_no_text_at_once_gets_one(store: SQLiteStore) -> None:
    store.chunks.put_chunks([make_chunk(path="1.py"), make_chunk(name="g", path="1.py")])
    provider = VowelProvider(batch_size=0)
    assert embed_missing(store, provider) == Embedded(2)
    assert [len(texts) for texts in provider.asked] == [1, 1]


def test_an_interrupted_embedding_keeps_the_batches_it_made(open_memory: Open, root: Path) -> None:
    write_tree(root, {"1.py": FUNCTIONS})

    def make(texts: Sequence[str]) -> list[list[float]]:
        if any("f9\n" in text for text in texts):
            raise KeyboardInterrupt
        return [count_vowels(text) for text in texts]

    memory = open_memory(VowelProvider(make))
    with pytest.raises(KeyboardInterrupt):
        memory.index(root)

    assert len(vectors(store_of(memory))) == 8
    assert memory.search("f29").results[0].chunk_id == "1.py:f29"
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(22)
    assert vectors(store_of(memory)) == made_of(store_of(memory))
