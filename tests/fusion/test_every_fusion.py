"""What is true of every fusion, whatever the memory. A new one is one line here."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aurora.fusion.auto import Auto
from aurora.fusion.base import NO_CONTEXT, Fusion, uses_context
from aurora.fusion.cascade import Cascade
from aurora.fusion.rrf import ReciprocalRank
from aurora.fusion.staged import Staged
from aurora.fusion.weighted import Weighted
from aurora.types import Fused, Hit, Ranking
from tests.fusion.rankings import CEILINGS, Memory, checked, levels, memories, rank, rankings_of
from tests.fusion.rankings import rows as any_row

TOP = {"rrf": 3 / 61}  # the best score there is, where it is not 1
FUSIONS: list[Fusion] = [
    Auto(),
    Weighted(),
    Weighted(0.4, 0.6, nudge=0.1),
    ReciprocalRank(),
    Staged(),
    Staged({"bm25": 0.0, "semantic": 0.5, "activation": 0.5}),
    Staged(top_k=3),
    Cascade(),
]

any_fusion = st.sampled_from(FUSIONS)
any_memory = memories("bm25", "semantic", "activation")


def heard(memory: Memory, fusion: Fusion) -> Memory:
    """What a search would ask for this fusion."""
    return {signal: found for signal, found in memory.items() if signal in fusion.signals}


@checked
@given(fusion=any_fusion, memory=any_memory)
def test_scores_are_in_range_in_order_and_the_sum_of_their_contributions(
    fusion: Fusion, memory: Memory
) -> None:
    outcomes = fusion(rankings_of(heard(memory, fusion)))
    words = memory.get("bm25", {}) if fusion.name == "staged" else {}  # there, words decide ties
    assert list(outcomes) == sorted(
        outcomes, key=lambda one: (-one.score, -words.get(one.row, 0.0), one.row)
    )
    assert len({one.row for one in outcomes}) == len(outcomes)
    for one in outcomes:
        assert 0.0 <= one.score <= TOP.get(fusion.name, 1.0) + 1e-12
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score, abs=1e-12)
        assert all(0.0 <= part.normalised <= 1.0 for part in one.contributions)


@checked
@given(fusion=any_fusion, memory=any_memory)
def test_contributions_tell_the_raw_score_and_the_rank(fusion: Fusion, memory: Memory) -> None:
    rankings = rankings_of(heard(memory, fusion))
    told = {(r.signal, h.row): (h.score, h.rank) for r in rankings for h in r.hits}
    for one in fusion(rankings):
        for part in one.contributions:
            assert (part.raw, part.rank) == told.get((part.signal, one.row), (0.0, 0))


@pytest.mark.parametrize("fusion", [Auto(), Weighted(), Cascade()], ids=lambda one: one.name)
def test_where_nothing_can_be_scored_the_raw_score_is_what_can_be_compared(fusion: Fusion) -> None:
    """A ceiling of 0: by `idf: robertson` every word of the question counts against a match."""
    (outcome,) = fusion([Ranking("bm25", (Hit(1, 0.5, 1),), ceiling=0.0)])
    assert [part.normalised for part in outcome.contributions if part.signal == "bm25"] == [0.5]


@checked
@given(fusion=any_fusion, memory=any_memory, data=st.data())
def test_it_does_not_matter_who_speaks_first(
    fusion: Fusion, memory: Memory, data: st.DataObject
) -> None:
    rankings = rankings_of(heard(memory, fusion))
    turned = data.draw(st.permutations(rankings))
    assert [(one.row, one.score) for one in fusion(turned)] == [
        (one.row, one.score) for one in fusion(rankings)
    ]


@checked
@given(fusion=any_fusion, memory=any_memory, allowed=st.sets(any_row))
def test_a_filter_neither_reorders_nor_changes_a_score(
    fusion: Fusion, memory: Memory, allowed: set[int]
) -> None:
    """The best are always told: they are what `staged` and `auto` measure by."""
    memory = heard(memory, fusion)
    first = getattr(fusion, "top_k", 3)
    hits = [
        rank(signal, memory[signal]).hits[:first] for signal in fusion.proposers & memory.keys()
    ]
    best = frozenset(hit.row for some in hits for hit in some)
    assume(best)  # without a proposer that found something there are no candidates
    told = allowed | best

    def fuse(rankings: Sequence[Ranking]) -> list[Fused]:
        if uses_context(fusion):
            return list(fusion(rankings, NO_CONTEXT._replace(best=best)))
        return list(fusion(rankings))

    outcomes = fuse(rankings_of(memory))
    assert fuse(rankings_of(memory, among=told)) == [one for one in outcomes if one.row in told]


@checked
@given(fusion=any_fusion, memory=any_memory, row=any_row, level=levels, data=st.data())
def test_a_better_score_never_costs_a_place(
    fusion: Fusion, memory: Memory, row: int, level: float, data: st.DataObject
) -> None:
    """One chunk becomes better for one signal: whatever it was before stays behind it."""
    memory = heard(memory, fusion)
    signal = data.draw(st.sampled_from(sorted(memory) or ["bm25"]))
    if signal == "bm25" and not _is_candidate(fusion, memory, row):
        return  # it would take the place of another candidate, and stage 2 measure by others
    found = memory.get(signal, {})
    better = max(found.get(row, 0.0), level * CEILINGS[signal])
    before = fusion(rankings_of(memory))
    after = fusion(rankings_of({**memory, signal: {**found, row: better}}))
    assert _behind(row, before) <= _behind(row, after)


def _is_candidate(fusion: Fusion, memory: Memory, row: int) -> bool:
    hits = rank("bm25", memory.get("bm25", {})).hits
    top_k = getattr(fusion, "top_k", None)
    return top_k is None or len(hits) < top_k or row in {hit.row for hit in hits[:top_k]}


def _behind(row: int, outcomes: list[Fused]) -> set[int]:
    """All rows that a chunk comes before; scores that differ by rounding are the same."""
    places = {one.row: (-round(one.score, 12), one.row) for one in outcomes}
    if row not in places:
        return set()
    return {other for other in range(1, 13) if places.get(other, (1.0, 0)) > places[row]}
