"""Metrics are those of trec_eval: compared with ir-measures, and by hand."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from aurora.evaluation.metrics import ndcg, recall, reciprocal_rank, score

MEASURES = [nDCG @ 10, RR @ 10, R @ 1, R @ 5, R @ 10, R @ 100]
DOCUMENTS = [f"d{n}" for n in range(130)]


def test_by_hand() -> None:
    grades = {"a": 2.0, "b": 1.0, "c": 0.0}
    best = 2 + 1 / math.log2(3)
    assert ndcg(["c", "a"], grades, at=10) == pytest.approx(2 / math.log2(3) / best)
    assert ndcg(["c", "a"], grades, at=1) == 0.0
    assert reciprocal_rank(["c", "x", "b"], grades, at=10) == 1 / 3
    assert reciprocal_rank(["c", "x", "b"], grades, at=2) == 0.0
    assert recall(["c", "a"], grades, at=10) == 0.5
    assert score([], grades) == (0.0,) * 6


def expected(found: list[str], grades: dict[str, float]) -> list[float]:
    """What ir-measures says of the one question."""
    judged = [ir_measures.Qrel("q", document, int(grade)) for document, grade in grades.items()]
    # Scores fall with the places. The other question keeps an empty answer from being no run.
    run = [ir_measures.ScoredDoc("q", document, -place) for place, document in enumerate(found)]
    run.append(ir_measures.ScoredDoc("other", "d0", 1.0))
    judged.append(ir_measures.Qrel("other", "d0", 1))
    values = ir_measures.iter_calc(MEASURES, judged, run)
    by_measure = {value.measure: value.value for value in values if value.query_id == "q"}
    return [by_measure[measure] for measure in MEASURES]


@given(
    found=st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=120),
    grades=st.dictionaries(
        st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0]), min_size=1
    ),
)
def test_as_ir_measures_has_it(found: list[str], grades: dict[str, float]) -> None:
    grades["d0"] = 1.0  # questions without an answer are not asked
    assert score(found, grades) == pytest.approx(expected(found, grades))


@given(found=st.lists(st.sampled_from(DOCUMENTS[:20]), unique=True), answer=st.integers(0, 25))
def test_with_one_answer_as_ir_measures_has_it(found: list[str], answer: int) -> None:
    grades = {f"d{answer}": 1.0}
    assert score(found, grades) == pytest.approx(expected(found, grades))


def test_a_grade_below_zero_is_no_loss() -> None:
    assert ndcg(["a", "b"], {"a": -1.0, "b": 1.0}, at=10) == ndcg(["x", "b"], {"b": 1.0}, at=10)
