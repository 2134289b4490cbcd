"""Two answers of one shape: a dictionary of a few scores, and an array of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aurora.signals.base import SparseScores, rank_rows
from aurora.signals.bm25_formula import find_place
from aurora.signals.dense_scores import DenseScores, RowPlaces
from aurora.types import Hit

# Few different values, so that there are many ties; 0 is no score.
values = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, -1.0]) | st.floats(-3, 3)
scores = st.dictionaries(st.integers(1, 60), values, max_size=40)
some_rows = st.lists(st.integers(0, 70), max_size=50)


def both(given_scores: dict[int, float]) -> tuple[SparseScores, DenseScores]:
    """The rows of the dense ones are in any order, and every second place was removed."""
    rows = np.repeat(np.array(sorted(given_scores, key=lambda row: row * 7 % 11), np.int64), 2)
    live = np.arange(0, len(rows), 2)
    values = np.zeros(len(rows))
    values[live] = [given_scores[row] for row in rows[live].tolist()]
    return SparseScores(given_scores), DenseScores(values, RowPlaces(rows, live))


@given(scores, st.integers(1, 50), some_rows)
@example({}, 3, [1, 2])
@example({1: 0.0}, 1, [1])
@example({1: 1.0, 2: 1.0, 3: 1.0}, 2, [3, 2])
@example({5: -1.0, 6: 2.0}, 1, [5])
def test_the_best_are_the_same_and_as_a_plain_sort_says(
    given_scores: dict[int, float], pool: int, rows: list[int]
) -> None:
    order = sorted(
        (row for row, score in given_scores.items() if score),
        key=lambda row: (-given_scores[row], row),
    )
    among = sorted(set(rows))
    for answer in both(given_scores):
        assert answer.best(pool) == order[:pool]
        allowed = [row for row in order if row in among]
        assert answer.best(pool, among=among) == allowed[:pool]


@given(scores, some_rows)
@example({1: 2.0, 2: 2.0, 3: 1.0}, [1, 2, 3])
@example({1: -1.0, 2: 0.0, 3: -1.0, 4: 3.0}, [1, 2, 3, 4])
def test_scores_and_ranks_are_the_same_and_as_counting_says(
    given_scores: dict[int, float], rows: list[int]
) -> None:
    wanted = list(dict.fromkeys(rows))
    scored = {row: score for row, score in given_scores.items() if score}
    expected = {
        Hit(row, scored[row], 1 + sum(other > scored[row] for other in scored.values()))
        for row in wanted
        if row in scored
    }
    for answer in both(given_scores):
        hits = answer.hits(wanted)
        assert set(hits) == expected
        assert len(hits) == len(expected)


@given(scores, some_rows, some_rows)
def test_a_hit_does_not_depend_on_what_else_is_asked(
    given_scores: dict[int, float], some: list[int], others: list[int]
) -> None:
    for answer in both(given_scores):
        alone = {hit.row: hit for hit in answer.hits(sorted(set(some)))}
        together = {hit.row: hit for hit in answer.hits(sorted({*some, *others}))}
        assert {row: together[row] for row in alone} == alone


@pytest.mark.parametrize("kind", [0, 1], ids=["sparse", "dense"])
def test_rows_that_are_not_there_are_left_out(kind: int) -> None:
    answer = both({2: 1.0, 4: 2.0})[kind]
    assert answer.hits([0, 1, 3, 5, 10**12]) == []
    assert answer.hits([]) == []
    assert answer.best(9, among=[]) == []
    assert answer.best(9, among=[1, 3, 4, 9]) == [4]


@pytest.mark.parametrize("kind", [0, 1], ids=["sparse", "dense"])
def test_rows_are_plain_numbers(kind: int) -> None:
    """No database takes numpy's numbers for whole ones."""
    answer = both({2: 1.0, 4: 2.0})[kind]
    assert {type(row) for row in answer.best(2)} == {int}
    (hit,) = answer.hits([2])
    assert tuple(map(type, hit)) == (int, float, int)


@pytest.mark.parametrize("kind", [0, 1], ids=["sparse", "dense"])
def test_a_ranking_is_best_first_with_ties_by_row(kind: int) -> None:
    answer = both({9: 1.0, 3: 1.0, 5: 2.0, 7: 0.0})[kind]
    ranking = rank_rows("x", answer, [9, 7, 5, 3, 1])
    assert ranking.hits == (Hit(5, 2.0, 1), Hit(3, 1.0, 2), Hit(9, 1.0, 2))
    assert (ranking.signal, ranking.ceiling) == ("x", 1.0)


@given(st.lists(st.integers(0, 50), unique=True).map(sorted), st.integers(-5, 55))
def test_a_place_is_where_a_number_stands(numbers: list[int], number: int) -> None:
    expected = numbers.index(number) if number in numbers else None
    assert find_place(number, numbers) == expected  # type: ignore[arg-type]
