"""Which chunks a condition selects. No server is needed: a condition is read as Python."""

from __future__ import annotations

import re
from itertools import combinations, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.stores.base import WeighedTerm, WordsAsked
from aurora.stores.postgres.selection import probes, select, select_all
from tests.properties import examples


def ask(*weights: float, chunks: tuple[int, ...] = ()) -> WordsAsked:
    counts = chunks or (1,) * len(weights)
    named = enumerate(zip(weights, counts, strict=True))
    terms = tuple(WeighedTerm(f"t{n}", weight, count) for n, (weight, count) in named)
    return WordsAsked(terms, k1=0.0, b=0.75, average_length=100.0)


def selects(query: str, terms: frozenset[str]) -> bool:
    """Whether a chunk with these terms fits a tsquery."""
    written = re.sub(r"'(\w+)'", lambda match: str(match[1] in terms), query)
    return bool(eval(written))  # noqa: S307 - our own text


def every_set(words: WordsAsked) -> list[frozenset[WeighedTerm]]:
    terms = words.terms
    return [frozenset(some) for n in range(len(terms) + 1) for some in combinations(terms, n)]


@settings(max_examples=examples(200))
@given(
    weights=st.lists(st.floats(-1, 5, allow_nan=False), min_size=1, max_size=9),
    share=st.floats(0.05, 1),
)
def test_every_chunk_that_can_reach_the_score_is_selected(
    weights: list[float], share: float
) -> None:
    words = ask(*weights)
    score = share * sum(max(weight, 0) for weight in weights)
    if score <= 0:
        return
    query = select(words, score)
    for some in every_set(words):
        if sum(max(term.weight, 0) for term in some) >= score:
            assert selects(query, frozenset(term.text for term in some))


@pytest.mark.parametrize(
    ("weights", "score", "query"),
    [
        ((3, 2, 1), 6, "'t0' & ('t1' & ('t2'))"),
        ((3, 2, 1), 4, "'t0' & ('t1' | 't2')"),
        ((3, 2, 1), 3, "'t0' | 't1' & ('t2')"),
        ((1, 2, 3), 3, "'t2' | 't1' & ('t0')"),
        ((3, 2, 1), 1, "'t0' | 't1' | 't2'"),
    ],
)
def test_common_words_are_looked_up_beside_rare_ones(
    weights: tuple[float, ...], score: float, query: str
) -> None:
    assert select(ask(*weights), score) == query


def test_a_condition_of_many_words_is_short_and_still_selects_enough() -> None:
    words = ask(*[1.0] * 64)
    query = select(words, 32)
    assert query.count("'") // 2 <= 64
    assert selects(query, frozenset(f"t{n}" for n in range(32, 64)))


def test_probes_begin_with_the_rarest_words() -> None:
    words = ask(5, 4, 1, chunks=(10, 2_000, 50_000))
    rare, everything = "'t0' | 't1'", "'t0' | 't1' | 't2'"
    assert list(probes(words)) == [rare, everything, rare, everything]
    common = ask(4, 3, 3, chunks=(40_000, 50_000, 60_000))
    assert list(islice(probes(common), 2)) == [
        "'t0' & ('t1' | 't2')",
        "'t0' & ('t1' | 't2') | 't1' & ('t2')",
    ]
    assert select_all(common) == everything
