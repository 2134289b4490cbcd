"""Meaning: the same answer with numpy and without, to the last bit and the last tie."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aurora
from aurora.errors import AuroraError, EmbedderMismatchError, EmbeddingError
from aurora.packing import pack_vector
from aurora.signals.base import Question
from aurora.signals.cosine_scores import Matrix
from aurora.signals.semantic import SemanticSignal, compare_one_by_one, cosine
from aurora.stores.base import Embedder
from tests.builders import NOW, make_chunk
from tests.embedders import TableProvider
from tests.signals.vectored import VectorBench, vectors_of, without_numpy

# In a language of its own each: vowels a, e, i, o, u are the five dimensions.
A = make_chunk("aaa", "_", "_a")
E = make_chunk("ee", "_", "_e")
AE = make_chunk("aaaaaa eeeeee", "_", "_ae")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[VectorBench]:
    bench = VectorBench(tmp_path)
    yield bench
    bench.store.close()


# Both ways give one answer


def check_alike(
    values: Sequence[Sequence[float]], asked: Sequence[float], among: Sequence[int] | None
) -> None:
    vectors = vectors_of(values)
    plain, quick = compare_one_by_one(vectors, asked), Matrix(vectors).compare(asked)
    rows = [row for row, _, _ in vectors.items()]
    allowed = None if among is None else sorted({rows[n % len(rows)] for n in among} | {1, 10**6})
    for pool in (1, 2, 3, len(rows), len(rows) + 5):
        assert plain.best(pool) == quick.best(pool)
        assert plain.best(pool, among=allowed) == quick.best(pool, among=allowed)
    exact = {hit.row: hit.score for hit in plain.hits(rows)}
    assert {hit.row: hit.score for hit in quick.hits(rows)} == exact


def matrices(
    number: st.SearchStrategy[float],
) -> st.SearchStrategy[tuple[list[list[float]], list[float]]]:
    """Some vectors of one dimension, and a question of the same; many may be alike."""

    def of(dimension: int) -> st.SearchStrategy[tuple[list[list[float]], list[float]]]:
        vector = st.lists(number, min_size=dimension, max_size=dimension)
        few = st.lists(vector, min_size=1, max_size=4).flatmap(
            lambda some: st.lists(st.sampled_from(some), min_size=1, max_size=25)
        )
        many = st.lists(vector, min_size=1, max_size=25)
        return st.tuples(few | many, vector)

    return st.integers(1, 6).flatmap(of)


amongs = st.none() | st.lists(st.integers(0, 30), max_size=20)
small = st.integers(-3, 3).map(float)
ordinary = st.floats(-2, 2, width=16)
any_finite = st.floats(-65504.0, 65504.0, width=16)


@settings(deadline=None)
@given(matrices(small), amongs)
@example(([[1.0], [2.0], [-1.0], [0.0]], [3.0]), [0, 1])  # one dimension: all alike or opposite
@example(([[0.0, 0.0]] * 3, [1.0, 0.0]), None)  # nothing points anywhere
@example(([[1.0, 2.0]] * 5, [0.0, 0.0]), None)  # nor does the question
@example(([[-1.0, 0.0], [0.0, -1.0]], [1.0, 1.0]), None)  # all point away
@example(([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [1.0, 0.0]), [2, 1])  # alike but for their length
def test_small_whole_numbers_with_many_ties_rank_alike(
    matrix: tuple[list[list[float]], list[float]], among: list[int] | None
) -> None:
    check_alike(*matrix, among)


@settings(deadline=None)
@given(matrices(ordinary), amongs)
def test_fractions_rank_alike(
    matrix: tuple[list[list[float]], list[float]], among: list[int] | None
) -> None:
    check_alike(*matrix, among)


@settings(deadline=None)
@given(matrices(any_finite), amongs)
@example(([[65504.0] * 6, [-65504.0] * 6, [6e-8] * 6, [1.0] * 6], [1e-30] * 6), None)
def test_numbers_of_any_size_rank_alike(
    matrix: tuple[list[list[float]], list[float]], among: list[int] | None
) -> None:
    check_alike(*matrix, among)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_all_but_right_angles_rank_alike(seed: int, dimension: int) -> None:
    """Rounding alone decides on which side it lies: the two ways would not agree."""
    asked, *others = np.random.default_rng(seed).standard_normal((9, dimension)).astype(np.float32)
    right = [(one - (one @ asked) / (asked @ asked) * asked).tolist() for one in others]
    check_alike(right, asked.tolist(), None)


def test_a_right_angle_is_no_answer_and_a_little_less_is_one() -> None:
    values = [[0.0, 1.0], [-1e-3, 1.0], [9e-5, 1.0], [1.1e-4, 1.0], [2e-4, 1.0]]
    check_alike(values, [1.0, 0.0], None)
    assert compare_one_by_one(vectors_of(values), [1.0, 0.0]).best(9) == [22, 19]


def test_cosines_too_close_for_float32_are_told_apart() -> None:
    """The 1e-8 between them is lost in a float32 product, but not in the answer."""
    near = [[1.0, 0.001 + 1e-6 * n] for n in range(200)]
    check_alike(near, [1.0, 0.0], list(range(0, 200, 7)))
    assert Matrix(vectors_of(near)).compare([1.0, 0.0]).best(3) == [10, 13, 16]


def test_thousands_that_are_alike_all_have_the_same_cosine() -> None:
    """More than are compared at once."""
    vectors = vectors_of([[1.0, 2.0], *[[3.0, 4.0]] * 2500])
    rows = [row for row, _, _ in vectors.items()]
    answer = Matrix(vectors).compare([3.0, 4.0])
    assert answer.best(2501) == [*rows[1:], 10]
    assert {hit.score for hit in answer.hits(answer.best(2500))} == {1.0}


def test_the_best_of_many_are_those_of_a_full_sort() -> None:
    values = [[math.sin(7 * n), math.cos(11 * n), math.sin(13 * n + 1)] for n in range(3000)]
    check_alike(values, [0.3, -0.2, 0.9], list(range(0, 3000, 17)))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([3.0, 4.0], [1.0, 0.0], 0.6),
        ([300.0, 400.0], [0.001, 0.0], 0.6),
        ([1.0, 1.0], [-1.0, -1.0], -1.0),
        ([1.0, 0.0], [0.0, 1.0], 0.0),
        ([0.0, 0.0], [1.0, 0.0], 0.0),
        ([5.0], [7.0], 1.0),
    ],
)
def test_cosine_is_the_angle_whatever_the_length(
    first: list[float], second: list[float], expected: float
) -> None:
    assert cosine(first, second) == cosine(second, first) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "values", [[[6e4, 0.0], [6e4, 6e4]], [[6e-8, 0.0], [6e-8, 6e-8]]], ids=["huge", "tiny"]
)
def test_vectors_far_from_unit_length_rank_by_angle(values: list[list[float]]) -> None:
    """The largest and the smallest that a store keeps."""
    check_alike(values, [1.0, 0.0], None)
    answer = Matrix(vectors_of(values)).compare([1.0, 0.0])
    assert answer.best(9) == [10, 13]
    assert [hit.score for hit in answer.hits([10, 13])] == pytest.approx([1.0, math.sqrt(0.5)])


# Asking


def test_what_means_the_same_is_first_and_what_points_elsewhere_is_no_answer(
    bench: VectorBench,
) -> None:
    bench.store.chunks.put_chunks([A, E, AE])
    bench.embed()
    assert bench.find("eeeeeeee") == ["_e", "_ae"]
    answer = bench.signal().score(Question("eeeeeeee", NOW))
    assert answer.ceiling == 1.0
    scores = {hit.row: hit.score for hit in answer.hits([1, 2, 3])}
    assert scores == {2: 1.0, 3: pytest.approx(6 / math.hypot(7, 7) * 7 / 6)}
    assert {hit.row: hit.rank for hit in answer.hits([1, 2, 3])} == {2: 1, 3: 2}


def test_a_filter_changes_neither_score_nor_rank(bench: VectorBench) -> None:
    bench.store.chunks.put_chunks([A, E, AE])
    bench.embed()
    answer = bench.signal().score(Question("ee", NOW))
    assert answer.best(9, among=[1, 3]) == [3]
    assert answer.best(9, among=[]) == []
    assert [hit.rank for hit in answer.hits([3])] == [2]


def test_without_numpy_the_signal_answers_alike(
    bench: VectorBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.store.chunks.put_chunks([A, E, AE])
    bench.embed()
    quick = bench.signal().score(Question("aee", NOW))
    monkeypatch.setitem(sys.modules, "aurora.signals.cosine_scores", None)
    plain = bench.signal().score(Question("aee", NOW))
    assert plain.best(9) == quick.best(9)
    assert sorted(plain.hits([1, 2, 3])) == sorted(quick.hits([1, 2, 3]))


SEARCH = """
from pathlib import Path
from aurora.retrieval.retriever import HybridRetriever
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Mode, Query
from tests.builders import NOW
from tests.indexing.providers import VowelProvider
folder = Path(sys.argv[1])
store = SQLiteStore(folder / "memory.db")
retriever = HybridRetriever(
    store, index_folder=folder / sys.argv[2], now=lambda: NOW, embedders=lambda _: VowelProvider()
)
answer = retriever.retrieve(Query("aee", mode=Mode.SEMANTIC))
print(*((r.chunk.name, r.semantic_score.hex()) for r in answer.results))
store.close()
"""


@pytest.mark.parametrize("folder", ["indexes", "fresh"])
def test_a_python_without_numpy_searches_by_meaning(bench: VectorBench, folder: str) -> None:
    """Neither reading the vector index nor making it needs numpy, and nothing else is asked."""
    bench.store.chunks.put_chunks([A, E, AE])
    bench.embed()
    answer = bench.signal().score(Question("aee", NOW))
    rows = answer.best(9)
    expected = [
        (bench.store.chunks.get_rows([r])[r].name, answer.hits([r])[0].score.hex()) for r in rows
    ]
    top = Path(__file__).parents[2]
    source = Path(aurora.__file__).parents[1]

    done = subprocess.run(
        [*without_numpy(SEARCH), str(bench.folder), folder],
        capture_output=True, text=True, cwd=top, check=False,
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{top}"},
    )  # fmt: skip

    assert (done.stderr, done.stdout.strip()) == ("", " ".join(map(str, expected)))
    assert not (bench.folder / folder / "bm25.idx").exists()


# What can go wrong


def test_no_vectors_is_said_with_the_next_step(bench: VectorBench) -> None:
    bench.store.chunks.put_chunks([A])
    with pytest.raises(EmbeddingError, match="No chunk has a vector") as caught:
        bench.signal().score(Question("aee", NOW))
    assert "aur mem index" in caught.value.hint


def _raising(error: Exception) -> Callable[[str], list[float]]:
    def ask(_: str) -> list[float]:
        raise error

    return ask


@pytest.mark.parametrize(
    "ask",
    [
        _raising(ConnectionError("model is away")),
        _raising(KeyError("x")),
        lambda _: [1.0],
        lambda _: [1.0, 2.0, 3.0],
        lambda _: [],
        lambda _: [math.nan, 1.0],
        lambda _: [math.inf, 1.0],
        lambda _: [1.0, -math.inf],
        lambda _: None,
        lambda _: ["x", "y"],
        lambda _: "ab",
    ],
    ids=[
        "raises", "key-error", "short", "long", "empty", "nan", "infinite", "minus-infinite",
        "none", "words", "text",
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_embedded_is_one_kind_of_error(
    bench: VectorBench, ask: Callable[[str], list[float]]
) -> None:
    bench.provider = TableProvider({"a": [1.0, 2.0]}, asked=ask)
    bench.store.chunks.put_chunks([A])
    bench.embed()
    with pytest.raises(EmbeddingError):
        bench.signal().score(Question("aee", NOW))


@pytest.mark.parametrize("size", [1e300, 1e38, 1.0, 1e-38, 5e-324])
def test_a_question_of_any_length_has_a_direction(bench: VectorBench, size: float) -> None:
    """Also one that float32 could not hold."""
    bench.provider = TableProvider({"a": [1.0, 0.0], "e": [0.0, 1.0]}, asked=lambda _: [0.0, size])
    bench.store.chunks.put_chunks([A, E])
    bench.embed()
    answer = bench.signal().score(Question("?", NOW))
    assert [(hit.row, hit.score) for hit in answer.hits([1, 2])] == [(2, 1.0)]


def test_a_question_without_meaning_is_no_question_to_it(bench: VectorBench) -> None:
    """So that a search goes by words alone, with all of their weight."""
    bench.store.chunks.put_chunks([A, E])
    bench.embed()
    with pytest.raises(EmbeddingError, match="vowels knows none of these words"):
        bench.find("zzz")


def test_vectors_of_another_model_are_not_compared(bench: VectorBench) -> None:
    bench.store.chunks.put_chunks([A])
    other = Embedder("vowels", 5, "2")
    bench.store.vectors.put_embeddings(other, [(A.id, pack_vector([1.0, 0, 0, 0, 0]))])
    with pytest.raises(EmbedderMismatchError, match="holds vectors of vowels") as caught:
        bench.signal().score(Question("aee", NOW))
    assert isinstance(caught.value, AuroraError)
    assert "aur mem reembed" in caught.value.hint


def test_creating_a_signal_opens_nothing(bench: VectorBench) -> None:
    bench.store.close()
    SemanticSignal(bench.index(), lambda _: bench.provider)
    assert not bench.path.exists()
