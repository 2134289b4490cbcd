"""From answers to one order: the limit cuts it, a filter thins it, and neither changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.auto import Auto
from aurora.fusion.base import (
    DEFINITION_SHARE,
    NAMED_SHARE,
    WORDS_AND_MEANING,
    ContextFusion,
    Fusion,
)
from aurora.fusion.cascade import Cascade
from aurora.fusion.rrf import ReciprocalRank
from aurora.fusion.staged import Staged
from aurora.fusion.weighted import Weighted
from aurora.retrieval.candidates import SearchRequest, Selection, select_candidates
from aurora.signals.base import Question, SignalScores, SparseScores
from aurora.signals.exact import ASSUMED, FOLDED, NAMED, SPELT
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Fused, Hit, Mode
from tests.builders import NOW
from tests.fusion.rankings import CEILINGS, checked, levels, rows_of, scores

POOL = 3
EVERYTHING = 1000
FOLDER = TemporaryDirectory()
STORE = SQLiteStore(Path(FOLDER.name) / "memory.db")  # empty: no row has a place
AUTO = Auto()
FUSIONS: list[Fusion] = [
    AUTO,
    Weighted(),
    Weighted(nudge=0.05),
    ReciprocalRank(),
    Staged(top_k=POOL),
    Cascade(),
]

Answers = Mapping[str, SignalScores]


def answer(signal: str, scores: Mapping[int, float]) -> SparseScores:
    return SparseScores(scores, ceiling=CEILINGS.get(signal, 1.0))


def answers(**found: Mapping[int, float]) -> Answers:
    return {signal: answer(signal, scores) for signal, scores in found.items()}


def select(
    answers: Answers,
    fusion: Fusion,
    needed: int = EVERYTHING,
    *,
    pool: int = POOL,
    min_score: float = 0.0,
    eligible: Sequence[int] | None = None,
) -> Selection:
    """With no more answers than a search would ask for this fusion."""
    asked = {name: one for name, one in answers.items() if name in {*fusion.signals, "exact"}}
    proposing = [one for name, one in asked.items() if name in WORDS_AND_MEANING]
    best = frozenset(row for one in proposing for row in one.best(POOL))  # whatever the pool is
    question = Question("words", NOW)
    request = SearchRequest(question, Mode.HYBRID, fusion, pool, needed, min_score, eligible)
    return select_candidates(STORE, request, asked, best=best)


def choose(
    answers: Answers,
    fusion: Fusion,
    needed: int = EVERYTHING,
    *,
    pool: int = POOL,
    min_score: float = 0.0,
    eligible: Sequence[int] | None = None,
) -> list[Fused]:
    chosen = select(answers, fusion, needed, pool=pool, min_score=min_score, eligible=eligible)
    return chosen.fused


rows = st.integers(1, 40)
some = st.fixed_dictionaries(
    {"bm25": st.dictionaries(rows, levels.map(lambda level: 8.0 * level), max_size=30)},
    optional={
        "semantic": st.dictionaries(rows, levels, max_size=30),
        "activation": st.dictionaries(rows, levels, max_size=10),
        "recency": st.dictionaries(rows, levels, max_size=10),
        "exact": st.dictionaries(
            rows, st.sampled_from([NAMED, ASSUMED, FOLDED, SPELT]), max_size=POOL
        ),
    },
).map(lambda found: answers(**found))
any_fusion = st.sampled_from(FUSIONS)
filters = st.lists(rows, unique=True).map(sorted)
cuts = st.sampled_from([0.0, 0.1, 0.3])


@checked
@given(some, any_fusion, st.none() | filters, cuts, st.integers(0, 50))
def test_the_first_n_of_m_are_the_n_of_n(
    found: Answers, fusion: Fusion, eligible: list[int] | None, cut: float, few: int
) -> None:
    first = choose(found, fusion, few, eligible=eligible, min_score=cut)
    assert first == choose(found, fusion, eligible=eligible, min_score=cut)[:few]
    assert len(set(rows_of(first))) == len(first)


@checked
@given(some, st.none() | filters)
def test_fill_ups_come_after_all_that_words_find(
    found: Answers, eligible: list[int] | None
) -> None:
    """So it does not matter for the first places whether meaning was asked at all."""
    words = {"bm25": found["bm25"]}
    both = {name: found[name] for name in ("bm25", "semantic") if name in found}
    first = choose(words, Cascade(), eligible=eligible)
    assert choose(both, Cascade(), eligible=eligible)[: len(first)] == first


@checked
@given(some, any_fusion, cuts, filters)
def test_a_filter_neither_changes_a_score_nor_reorders_what_was_there_without_it(
    found: Answers, fusion: Fusion, cut: float, eligible: list[int]
) -> None:
    """Compared with the order of the whole memory: all of it is candidates at once."""
    whole = choose(found, fusion, pool=EVERYTHING, min_score=cut)
    kept = choose(found, fusion, eligible=eligible, min_score=cut)
    known = {one.row: one for one in whole if one.row in eligible}
    assert kept == [known[row] for row in rows_of(kept)]

    pool = {row for name in fusion.proposers & found.keys() for row in found[name].best(POOL)}
    inside = [row for row in known if row in pool]
    assert [row for row in rows_of(kept) if row in inside] == inside


@checked
@given(some, any_fusion, filters)
def test_with_candidates_enough_a_filter_gives_the_whole_order_less_the_others(
    found: Answers, fusion: Fusion, eligible: list[int]
) -> None:
    whole = choose(found, fusion, pool=EVERYTHING)
    kept = choose(found, fusion, pool=EVERYTHING, eligible=eligible)
    assert kept == [one for one in whole if one.row in eligible]


@checked
@given(some, any_fusion, st.none() | filters, st.integers(1, 50))
def test_the_limit_is_filled_when_there_are_enough(
    found: Answers, fusion: Fusion, eligible: list[int] | None, limit: int
) -> None:
    whole = rows_of(choose(found, fusion, pool=EVERYTHING))
    there = [row for row in whole if eligible is None or row in eligible]
    first = choose(found, fusion, limit, eligible=eligible)
    assert len(first) == min(limit, len(there))
    assert set(rows_of(first)) <= set(there)


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.name)
def test_chunks_far_behind_the_best_fill_the_limit_if_only_they_pass(fusion: Fusion) -> None:
    falling = {row: 1.0 - row / 1000 for row in range(1, 500)}
    found = answers(bm25=falling, semantic=falling)
    first = choose(found, fusion, 10, eligible=range(400, 500))
    assert rows_of(first) == list(range(400, 410))


def test_what_passes_a_filter_is_compared_at_once_not_pool_by_pool() -> None:
    """Chunk 9 is among the best of neither signal, but better than 3, which is so of one."""
    found = answers(
        bm25={5: 8.0, 6: 8.0, 7: 8.0, 9: 4.0}, semantic={1: 1.0, 2: 1.0, 3: 0.5, 9: 0.49}
    )
    assert rows_of(choose(found, Weighted(), 2, eligible=[3, 9])) == [9, 3]


def test_a_faint_meaning_does_not_end_the_search_by_words() -> None:
    """What is cut off for one signal says nothing about what another has still to offer."""
    found = answers(bm25=dict.fromkeys(range(1, 21), 8.0), semantic=dict.fromkeys((30, 31), 0.01))
    assert rows_of(choose(found, Weighted(), 20, min_score=0.1)) == list(range(1, 21))


@checked
@given(some, any_fusion, st.none() | filters)
def test_only_signals_that_found_something_took_part(
    found: Answers, fusion: Fusion, eligible: list[int] | None
) -> None:
    chosen = select(found, fusion, 5, eligible=eligible)
    assert list(chosen.signals) == [name for name in found if name in chosen.signals]
    assert {name for name in chosen.signals if not found[name].best(1)} == set()
    words = fusion.proposers - fusion.fill_ups
    proposing = words if found["bm25"].best(1) else {*fusion.proposers, "semantic"}
    asked = {name for name in proposing & found.keys() if found[name].best(1)}
    assert asked <= set(chosen.signals)
    everything = select(found, fusion, eligible=eligible)
    parts = {part.signal for one in everything.fused for part in one.contributions if part.value}
    assert parts <= set(everything.signals)


def test_a_low_score_is_cut_before_it_fades() -> None:
    """An old note that answers well stays, however old; a bad answer of today does not."""
    found = answers(bm25={1: 4.0, 2: 0.4}, recency={1: 0.01, 2: 1.0})
    (left,) = choose(found, Weighted(), 10, min_score=0.1)
    assert (left.row, left.score) == (1, pytest.approx(0.5 * 0.01))


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.name)
def test_a_cut_leaves_a_definition_the_score_it_has_without(fusion: Fusion) -> None:
    found = answers(bm25={1: 4.0, 2: 0.4}, semantic={1: 0.9, 2: 0.05}, exact={2: 1.0})
    whole = {one.row: one for one in choose(found, fusion, 10)}
    (left,) = choose(found, fusion, 10, min_score=1.1)
    assert left == whole[2]


def test_a_definition_is_never_cut() -> None:
    found = answers(bm25={1: 4.0, 2: 0.4, 3: 0.4}, exact={2: SPELT, 7: ASSUMED})
    assert rows_of(choose(found, Weighted(), 10, min_score=0.1)) == [2, 7, 1]


@checked
@given(some, any_fusion, cuts)
def test_definitions_come_first_and_are_not_cut(found: Answers, fusion: Fusion, cut: float) -> None:
    levels = {hit.row: hit.score for hit in _hits(found, "exact")}
    whole = choose(found, fusion, min_score=cut)
    assert levels.keys() <= scores(whole).keys()
    leading = [row for row, level in levels.items() if level >= ASSUMED]
    assert set(rows_of(whole[: len(leading)])) == set(leading)


def _left_by(levels: Sequence[float]) -> float:
    """What a score keeps beside names that were found."""
    if not levels:
        return 1.0
    return 1.0 - (DEFINITION_SHARE if max(levels) >= ASSUMED else NAMED_SHARE)


@checked
@given(some, st.sampled_from([one for one in FUSIONS if not isinstance(one, ContextFusion)]), cuts)
def test_everything_else_is_worth_the_least_score_before_it_fades(
    found: Answers, fusion: Fusion, cut: float
) -> None:
    for one in choose(found, fusion, min_score=cut):
        parts = {part.signal: part.value for part in one.contributions}
        if "exact" not in parts:
            share = _left_by([hit.score for hit in _hits(found, "exact")])
            assert (sum(parts.values()) - parts.get("recency", 0.0)) / share >= cut - 1e-12
        assert sum(parts.values()) == pytest.approx(one.score, abs=1e-12)


@checked
@given(some, st.none() | filters, cuts)
def test_what_is_no_answer_is_told_by_the_evidence(
    found: Answers, eligible: list[int] | None, cut: float
) -> None:
    """Where scores say how far a chunk stands out, they do not say how good it is."""
    told = [
        choose(found, fusion, min_score=cut, eligible=eligible) for fusion in (AUTO, AUTO.evidence)
    ]
    assert set(rows_of(told[0])) == set(rows_of(told[1]))


def _hits(found: Answers, name: str) -> list[Hit]:
    return found[name].hits(range(1, 41)) if name in found else []
