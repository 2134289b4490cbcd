"""From answers to one order: the limit cuts it, a filter thins it, and neither changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.fusion.auto import Auto
from aurora.fusion.base import WORDS_AND_MEANING, Fusion
from aurora.fusion.cascade import Cascade
from aurora.fusion.rrf import ReciprocalRank
from aurora.fusion.staged import Staged
from aurora.fusion.weighted import Weighted
from aurora.retrieval.candidates import SearchRequest, Selection, select_candidates
from aurora.signals.base import Question, SignalScores, SparseScores
from aurora.signals.exact import ASSUMED, FOLDED, HEADED, INSIDE, MENTIONED, SPELT, leads
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
    eligible: Sequence[int] | None = None,
) -> Selection:
    """With no more answers than a search would ask for this fusion."""
    asked = {name: one for name, one in answers.items() if name in {*fusion.signals, "exact"}}
    proposing = [one for name, one in asked.items() if name in WORDS_AND_MEANING]
    best = frozenset(row for one in proposing for row in one.best(POOL))  # whatever the pool is
    question = Question("words", NOW)
    request = SearchRequest(question, Mode.HYBRID, fusion, pool, needed, needed, eligible)
    return select_candidates(STORE, request, asked, best=best)


def choose(
    answers: Answers,
    fusion: Fusion,
    needed: int = EVERYTHING,
    *,
    pool: int = POOL,
    eligible: Sequence[int] | None = None,
) -> list[Fused]:
    return [*select(answers, fusion, needed, pool=pool, eligible=eligible).fused]


rows = st.integers(1, 40)
some = st.fixed_dictionaries(
    {"bm25": st.dictionaries(rows, levels.map(lambda level: 8.0 * level), max_size=30)},
    optional={
        "semantic": st.dictionaries(rows, levels, max_size=30),
        "activation": st.dictionaries(rows, levels, max_size=10),
        "recency": st.dictionaries(rows, levels, max_size=10),
        "exact": st.dictionaries(
            rows,
            st.sampled_from([HEADED, MENTIONED, INSIDE, ASSUMED, FOLDED, SPELT]),
            max_size=POOL,
        ),
    },
).map(lambda found: answers(**found))
any_fusion = st.sampled_from(FUSIONS)
filters = st.lists(rows, unique=True).map(sorted)


@checked
@given(some, any_fusion, st.none() | filters, st.integers(0, 50))
def test_the_first_n_of_m_are_the_n_of_n(
    found: Answers, fusion: Fusion, eligible: list[int] | None, few: int
) -> None:
    """With the same scores."""
    first = choose(found, fusion, few, eligible=eligible)
    assert first == choose(found, fusion, eligible=eligible)[:few]
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
@given(some, any_fusion, filters)
def test_a_filter_neither_changes_a_reason_nor_reorders_what_was_there_without_it(
    found: Answers, fusion: Fusion, eligible: list[int]
) -> None:
    """Compared with the order of the whole memory: all of it is candidates at once.

    A chunk from far down in the memory has at least the confidence that it has there.
    """
    whole = choose(found, fusion, pool=EVERYTHING)
    kept = choose(found, fusion, eligible=eligible)
    known = {one.row: one for one in whole if one.row in eligible}
    assert [reasons(one) for one in kept] == [reasons(known[one.row]) for one in kept]

    pool = {row for name in fusion.proposers & found.keys() for row in found[name].best(POOL)}
    inside = [row for row in known if row in pool]
    assert [row for row in rows_of(kept) if row in inside] == inside


def reasons(chunk: Fused) -> list[tuple[str, float, float, float]]:
    """The contributions without the scale of the score."""
    total = chunk.score or 1.0
    return [
        (part.signal, part.raw, part.normalised, round(part.value / total, 9))
        for part in chunk.contributions
    ]


@checked
@given(some, any_fusion, st.none() | filters, st.sampled_from([POOL, EVERYTHING]))
def test_scores_never_rise_and_their_parts_sum_to_them(
    found: Answers, fusion: Fusion, eligible: list[int] | None, pool: int
) -> None:
    """However many rounds it takes to find the chunks."""
    chosen = choose(found, fusion, eligible=eligible, pool=pool)
    confidences = [one.score for one in chosen]
    assert confidences == sorted(confidences, reverse=True)
    for one in chosen:
        assert 0.0 <= one.score <= 1.0
        assert sum(part.value for part in one.contributions) == pytest.approx(one.score, abs=1e-12)


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
    """One signal at its end says nothing about what another has still to offer."""
    found = answers(bm25=dict.fromkeys(range(1, 21), 8.0), semantic=dict.fromkeys((30, 31), 0.01))
    assert sorted(rows_of(choose(found, Weighted(), 22))) == [*range(1, 21), 30, 31]


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


def test_an_old_note_comes_behind_a_new_one_however_well_it_answers() -> None:
    found = answers(bm25={1: 4.0, 2: 0.4}, recency={1: 0.01, 2: 1.0})
    assert rows_of(choose(found, Weighted(), 10)) == [2, 1]
    undated = answers(bm25={1: 4.0, 2: 0.4})
    assert rows_of(choose(undated, Weighted(), 10)) == [1, 2]


@checked
@given(some, any_fusion)
def test_chunks_with_a_level_come_first_in_the_order_of_their_levels(
    found: Answers, fusion: Fusion
) -> None:
    levels = {hit.row: hit.score for hit in _hits(found, "exact")}
    whole = choose(found, fusion, pool=EVERYTHING)
    assert levels.keys() <= scores(whole).keys()
    leading = sorted((level for level in levels.values() if leads(level)), reverse=True)
    assert [levels.get(row) for row in rows_of(whole)[: len(leading)]] == leading


def _hits(found: Answers, name: str) -> list[Hit]:
    return found[name].hits(range(1, 41)) if name in found else []
