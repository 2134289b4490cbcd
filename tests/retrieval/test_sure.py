"""When a search is sure of its first result."""

from __future__ import annotations

import pytest

from aurora.retrieval.rerank import SURE, is_sure
from aurora.signals.exact import ASSUMED, INSIDE
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
    assert not is_sure(scored(*[0.5] * 10, exact=INSIDE))


def test_nothing_is_not_sure() -> None:
    assert not is_sure([])


@pytest.mark.parametrize(("first", "sure"), [(SURE, True), (SURE - 0.01, False), (0.1, False)])
def test_the_first_result_must_have_a_high_confidence(first: float, sure: bool) -> None:
    """Whatever the others have: a score means the same in every memory and fusion."""
    for others in (0.0, first / 2, first):
        assert is_sure(scored(first, *[others] * 9)) is sure


def test_a_single_result_has_no_competitor() -> None:
    assert is_sure(scored(0.2))
