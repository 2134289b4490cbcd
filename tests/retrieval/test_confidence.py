"""When a search is sure of its first result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.retrieval.rerank import PLACES, SURE, is_sure
from aurora.signals.exact import ASSUMED, NAMED
from aurora.types import Contribution, SearchResult
from tests.builders import make_chunk


def scored(*scores: float, exact: float = 0.0) -> list[SearchResult]:
    """Results with these scores; the first one's name counts as given."""
    name = (Contribution("exact", 1, exact, exact, exact),) if exact else ()
    return [
        SearchResult(make_chunk(name=f"f{place}"), score, name if place == 0 else ())
        for place, score in enumerate(scores)
    ]


def test_a_definition_asked_for_by_name_is_sure() -> None:
    assert is_sure(scored(0.5, 0.5, exact=ASSUMED))
    assert not is_sure(scored(*[0.5] * 10, exact=NAMED))


def test_nothing_is_not_sure() -> None:
    assert not is_sure([])


@pytest.mark.parametrize(("others", "sure"), [(0.59, True), (0.61, False), (1.0, False)])
def test_the_first_must_stand_above_the_mean_of_the_next(others: float, sure: bool) -> None:
    assert is_sure(scored(1.0, *[others] * (PLACES - 1))) is sure
    mixed = [others - 0.2, others + 0.2] * 4 + [others]
    assert is_sure(scored(1.0, *mixed)) is sure


def test_few_results_are_compared_with_each_other() -> None:
    assert is_sure(scored(0.4))
    assert is_sure(scored(0.4, 0.2))
    assert not is_sure(scored(0.4, 0.39))
    assert not is_sure(scored(0.0, 0.0))


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20), st.floats(0.01, 10.0))
def test_the_scale_of_the_scores_says_nothing(scores: list[float], factor: float) -> None:
    """Nor do results beyond the tenth: it is the same however many are asked for."""
    scores.sort(reverse=True)
    others = scores[1:PLACES]
    if others and abs(scores[0] * (1 - SURE) - sum(others) / len(others)) < 1e-9:
        return  # on the edge rounding decides
    plain = is_sure(scored(*scores))
    assert is_sure(scored(*(score * factor for score in scores))) is plain
    assert is_sure(scored(*scores[:PLACES])) is plain
