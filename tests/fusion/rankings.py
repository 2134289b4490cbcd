"""Honest rankings of random memories: what signals would say of them, ranks and ties included."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hypothesis import settings
from hypothesis import strategies as st

from aurora.fusion.base import Order, Part
from aurora.types import Fused, Hit, Ranking
from tests.properties import examples

Memory = Mapping[str, Mapping[int, float]]  # raw scores: by signal, by row

CEILINGS = {"bm25": 8.0, "fulltext": 1.0, "semantic": 1.0, "activation": 1.0}

checked = settings(max_examples=examples(800), deadline=None, derandomize=True, database=None)

rows = st.integers(1, 12)
levels = st.integers(1, 16).map(lambda sixteenths: sixteenths / 16)  # so few that many are alike


def scores_of(signal: str) -> st.SearchStrategy[dict[int, float]]:
    """Scores of some of the memory's chunks, or of none."""
    return st.dictionaries(rows, levels.map(lambda level: level * CEILINGS[signal]))


def memories(*signals: str) -> st.SearchStrategy[Memory]:
    """Each signal has something on some chunks, or cannot be asked at all."""
    return st.fixed_dictionaries({}, optional={signal: scores_of(signal) for signal in signals})


def rank(signal: str, scores: Mapping[int, float], among: Collection[int] | None = None) -> Ranking:
    """Ranks are those in the whole memory, even where only some of its chunks are asked about."""
    hits = [
        Hit(row, score, 1 + sum(other > score for other in scores.values()))
        for row, score in scores.items()
        if among is None or row in among
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.row))
    return Ranking(signal, tuple(hits), CEILINGS[signal])


def rankings_of(memory: Memory, among: Collection[int] | None = None) -> list[Ranking]:
    return [rank(signal, scores, among) for signal, scores in memory.items()]


def order_of(outcomes: Collection[Fused]) -> Order:
    """An order of chunks that have these contributions."""
    parts = [
        Part(part.signal, {one.row: part.value}, {one.row: hit}, {hit: part.normalised}.__getitem__)
        for one in outcomes
        for part in one.contributions
        for hit in [Hit(one.row, part.raw, part.rank)]
    ]
    return Order(rows_of(outcomes), {one.row: one.score for one in outcomes}, tuple(parts))


def scores(outcomes: Iterable[Fused]) -> dict[int, float]:
    return {outcome.row: outcome.score for outcome in outcomes}


def rows_of(outcomes: Iterable[Fused]) -> list[int]:
    return [outcome.row for outcome in outcomes]
