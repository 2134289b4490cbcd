"""Vectors come after the chunks; where they cannot be made, that is told and tried again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import EmbedderMismatchError
from aurora.indexing.embedding import Embedded, embed_missing, embedding_text
from aurora.indexing.report import IndexReport
from aurora.stores.base import Embedder, Store, unpack_vector
from aurora.stores.sqlite import SQLiteStore
from tests.builders import NOW, make_chunk, write_tree
from tests.indexing.providers import VowelProvider, answering, count_vowels, failing_for

Open = Callable[[EmbeddingProvider | None], Memory]
FUNCTIONS = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(30))


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
    return SQLiteStore(memory.path)


def vectors(store: Store) -> dict[str, list[float]]:
    ids = [chunk.id for chunk in store.iter_chunks()]
    return {id_: list(unpack_vector(v)) for id_, v in store.get_embeddings(ids).items()}


def made_of(store: Store) -> dict[str, list[float]]:
    """What the vectors must be when nothing is missing and nothing is old."""
    return {chunk.id: count_vowels(embedding_text(chunk)) for chunk in store.iter_chunks()}


def about_vectors(report: IndexReport) -> list[str]:
    return [text for text in report.warnings if "conversation logs" not in text]


def test_every_chunk_gets_a_vector_of_its_name_path_and_content(
    open_memory: Open, root: Path
) -> None:
    write_tree(root, {"a.py": "def area():\n    pass\n", "b.md": "# Notes\n\nwords\n"})
    provider = VowelProvider()
    memory = open_memory(provider)
    memory.learn("use indexes")

    report = memory.index(root)

    store = store_of(memory)
    assert sorted(text for texts in provider.asked for text in texts) == [
        "Notes\nb.md\n# Notes\n\nwords", "area\na.py\ndef area():\n    pass",
        "use indexes\nuse indexes",
    ]  # fmt: skip
    assert vectors(store) == made_of(store)
    assert store.embedder() == Embedder("vowels", 5, "1")
    assert (report.embedded, report.is_partial) == (Embedded(3), False)


def test_a_second_run_asks_for_nothing(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": FUNCTIONS})
    open_memory(VowelProvider()).index(root)

    class Unloaded(VowelProvider):
        """Loading a model takes seconds: nothing of it is touched while nothing is missing."""

        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"{name} was asked for")

    memory = open_memory(None)
    generation = memory.stats().generation
    assert open_memory(Unloaded()).index(root).embedded == Embedded()
    assert memory.stats().generation == generation


def test_chunks_go_to_the_provider_in_batches(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": FUNCTIONS})
    provider = VowelProvider(batch_size=7)
    open_memory(provider).index(root)
    assert [len(texts) for texts in provider.asked] == [7, 7, 7, 7, 2]


def test_one_chunk_that_fails_is_named_found_by_keyword_and_tried_again(
    open_memory: Open, root: Path
) -> None:
    """Seed 000, FR-10.2 and Q5."""
    write_tree(root, {"a.py": FUNCTIONS + "def poison():\n    return 30\n"})
    memory = open_memory(failing_for("poison"))

    report = memory.index(root)

    warning = "Failed to generate embedding for chunk a.py:poison: model is away"
    assert (about_vectors(report), report.embedded) == ([warning], Embedded(31, 1, (warning,)))
    assert report.is_partial
    store = store_of(memory)
    assert vectors(store).keys() == made_of(store).keys() - {"a.py:poison"}
    assert memory.search("poison").results[0].chunk_id == "a.py:poison"

    assert memory.index(root).embedded == Embedded(1, 1, (warning,))
    healthy = VowelProvider()
    report = open_memory(healthy).index(root)
    assert (report.embedded, report.is_partial) == (Embedded(1), False)
    assert len(healthy.asked) == 1
    assert vectors(store) == made_of(store)


def test_a_batch_that_fails_costs_no_chunk(open_memory: Open, root: Path) -> None:
    """Too much text at once: each is then asked for alone."""
    write_tree(root, {"a.py": FUNCTIONS})

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
    write_tree(root, {"a.py": FUNCTIONS})
    away = failing_for("def")
    memory = open_memory(away)

    report = memory.index(root)

    assert about_vectors(report) == [
        *(f"Failed to generate embedding for chunk a.py:f{n}: model is away" for n in range(10)),
        "vowels failed 10 times in a row: 20 more chunks were not tried",
    ]
    assert (report.embedded.wanted, report.embedded.failed, report.is_partial) == (30, 30, True)
    assert len(away.asked) == 13  # three batches of four, two of them whole, and ten alone
    assert memory.search("f7").results[0].chunk_id == "a.py:f7"
    assert store_of(memory).embedder() is None

    other = VowelProvider(name="other", fingerprint="2")  # nothing was made: it may come in
    assert open_memory(other).index(root).embedded == Embedded(30)
    assert vectors(store_of(memory)) == made_of(store_of(memory))


def test_failures_that_end_are_no_reason_to_give_up(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": FUNCTIONS})
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
        (answering([1.0, 1e300, 0, 0, 0]), "a vector with numbers that are not finite"),
        (VowelProvider(lambda _: []), "0 vectors for 1 texts"),
        (VowelProvider(lambda _: [[0.0] * 5] * 9), "9 vectors for 1 texts"),
        (VowelProvider(lambda _: None), "object of type 'NoneType' has no len()"),  # type: ignore[arg-type,return-value]
        (VowelProvider(lambda texts: [["x"] * 5 for _ in texts]), "must be real number, not str"),  # type: ignore[arg-type,misc]
        (failing_for("f", KeyError("text")), "'text'"),
        (failing_for("f", TimeoutError()), "TimeoutError()"),
    ],
    ids=[
        "short", "long", "nan", "infinite", "beyond-float32", "none", "too-many", "no-answer",
        "words", "key-error", "error-without-words",
    ],
)  # fmt: skip
def test_what_is_no_vector_is_not_kept(
    open_memory: Open, root: Path, provider: VowelProvider, reason: str
) -> None:
    write_tree(root, {"a.py": "def f(): pass\n"})
    memory = open_memory(provider)

    report = memory.index(root)

    warning = f"Failed to generate embedding for chunk a.py:f: {reason}"
    assert about_vectors(report) == [warning]
    assert vectors(store_of(memory)) == {}
    assert memory.search("f").results[0].chunk_id == "a.py:f"
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(1)


def test_only_what_has_a_new_text_is_embedded_again(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": "def f(): pass\n\n\ndef g(): pass\n", "old.py": "def h(): pass\n"})
    memory = open_memory(VowelProvider())
    memory.index(root)
    write_tree(root, {"a.py": "import os\n\n\ndef f(): pass\n\n\ndef g(): return os\n"})
    (root / "old.py").rename(root / "new.py")

    again = VowelProvider(batch_size=100)
    open_memory(again).index(root)

    assert sorted(again.asked[0]) == [
        "a\na.py\nimport os", "g\na.py\ndef g(): return os", "h\nnew.py\ndef h(): pass",
    ]  # fmt: skip
    assert vectors(store_of(memory)) == made_of(store_of(memory))


def test_a_chunk_forgotten_meanwhile_is_no_failure(store: SQLiteStore) -> None:
    store.put_chunks([make_chunk(name=f"f{number}") for number in range(8)])

    def forget_the_rest(texts: Sequence[str]) -> list[list[float]]:
        store.delete_chunks([f"a.py:f{number}" for number in range(3, 8)])
        return [count_vowels(text) for text in texts]

    provider = VowelProvider(forget_the_rest)

    assert embed_missing(store, provider) == Embedded(4)
    assert [len(texts) for texts in provider.asked] == [4]
    assert vectors(store) == made_of(store)


def test_another_model_is_refused_and_every_word_is_found(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": "def f(): pass\n"})
    open_memory(VowelProvider()).index(root)
    write_tree(root, {"b.py": "def fresh(): pass\n"})
    other = open_memory(VowelProvider(fingerprint="2"))

    with pytest.raises(EmbedderMismatchError, match="holds vectors of vowels"):
        other.index(root)

    assert other.search("fresh").results[0].chunk_id == "b.py:fresh"
    assert vectors(store_of(other)).keys() == {"a.py:f"}
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(1)


def test_an_interrupted_embedding_keeps_the_batches_it_made(open_memory: Open, root: Path) -> None:
    write_tree(root, {"a.py": FUNCTIONS})

    def make(texts: Sequence[str]) -> list[list[float]]:
        if any("f9\n" in text for text in texts):
            raise KeyboardInterrupt
        return [count_vowels(text) for text in texts]

    memory = open_memory(VowelProvider(make))
    with pytest.raises(KeyboardInterrupt):
        memory.index(root)

    assert len(vectors(store_of(memory))) == 8
    assert memory.search("f29").results[0].chunk_id == "a.py:f29"
    assert open_memory(VowelProvider()).index(root).embedded == Embedded(22)
    assert vectors(store_of(memory)) == made_of(store_of(memory))
