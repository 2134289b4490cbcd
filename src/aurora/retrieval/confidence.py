"""The confidence of results: of those shown with 0.8, about eight in ten are right.

A second number, the relevance, says how sure it is that the memory answers the question at all: an
answer may be among the first results while no single one is sure.

A fusion orders chunks; its scores mean something else in every memory. So the score of a result is
a logistic function of evidence that means the same everywhere: how much of the question a chunk
covers, how far its cosine stands out, whether the question names it. The numbers
below are fitted by benchmarks/quality/calibration.py; docs/concepts/ranking.md shows how reliable
they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate, pairwise
from math import exp, fsum, log
from operator import mul

from aurora.fusion.base import Order, Part
from aurora.quick_classes import NamedTuple, replace
from aurora.signals.base import SignalScores, counts_words
from aurora.signals.exact import has_identifier, is_inside, is_mentioned, is_named, leads
from aurora.text import is_stop_word, tokenize
from aurora.types import LESSON, Fused, Ranking

MIN_RELEVANCE = 0.1  # of the first result: below it, nothing is relevant
_PLACES = 10  # later places count alike, so that a filter, which reads fewer of them, changes none
_FIRST = 5  # results that tell whether there is an answer at all
_NEAR = 100  # chunks with the highest cosines, the measure of a cosine that stands out
_LEAST_KNOWN = 0.05  # share of the words: below it, coverage of the known ones says little
_WIDEST = 0.3  # distance of a cosine from the mean of the nearest
_FEW = 20  # in a memory of fewer chunks, the rest counts as unrelated


class Evidence(NamedTuple):
    """What speaks for one chunk as the answer to a question. Missing evidence is 0."""

    coverage: float = 0.0  # share of the question's words in the chunk, rare words more
    meaning: float = 0.0  # cosine, above the mean of the nearest chunks
    both: float = 0.0  # product of the two
    best_coverage: float = 0.0  # of the first results
    best_meaning: float = 0.0  # of all chunks
    is_named: float = 0.0  # 1: the question is the name of this definition
    is_inside: float = 0.0  # 1: the question contains it
    is_mentioned: float = 0.0  # 1: the chunk contains an identifier of the question
    is_unknown: float = 0.0  # 1: the question has identifiers, and no chunk contains one
    words: float = 0.0  # logarithm of the number of words in the question
    place: float = 0.0  # logarithm of the place in the order
    known: float = 0.0  # share of the question's words that any chunk contains
    of_known: float = 0.0  # coverage as a share of it
    best_of_known: float = 0.0
    coverage_words: float = 0.0  # coverage · words: half of a long question is more than of a short
    best_words: float = 0.0


class Calibration(NamedTuple):
    """Weights of the evidence, and what is added to their sum."""

    weights: Evidence
    base: float

    def confidence(self, evidence: Evidence) -> float:
        total = self.base + sum(map(mul, self.weights, evidence))
        return 1.0 / (1.0 + exp(-total))


# By words and meaning, by words, by meaning: fitted by benchmarks/quality/calibration.py.
CALIBRATIONS: Mapping[tuple[bool, bool], Calibration] = {
    (True, True): Calibration(
        Evidence(
            meaning=11.80,
            both=-7.87,
            best_meaning=1.02,
            coverage=-0.42,
            best_coverage=0.31,
            is_named=2.17,
            is_inside=1.79,
            is_mentioned=-0.99,
            is_unknown=-2.54,
            words=1.05,
            place=-0.76,
            known=2.29,
            of_known=0.59,
            best_of_known=1.40,
            coverage_words=2.62,
            best_words=-1.65,
        ),
        -7.21,
    ),
    (True, False): Calibration(
        Evidence(
            coverage=-0.39,
            best_coverage=0.26,
            is_named=2.30,
            is_inside=1.67,
            is_mentioned=-1.16,
            is_unknown=-2.19,
            words=1.25,
            place=-0.83,
            known=2.59,
            of_known=0.75,
            best_of_known=1.26,
            coverage_words=2.49,
            best_words=-1.53,
        ),
        -7.27,
    ),
    (False, True): Calibration(
        Evidence(meaning=11.43, best_meaning=2.16, words=0.69, place=-0.61), -4.30
    ),
}
# How sure it is that the memory answers the question, by the evidence for its first result.
RELEVANCE: Mapping[tuple[bool, bool], Calibration] = {
    (True, True): Calibration(
        Evidence(
            meaning=7.72,
            both=-12.25,
            best_meaning=8.43,
            coverage=1.91,
            best_coverage=-0.51,
            is_named=-0.21,
            is_inside=1.99,
            is_mentioned=-1.18,
            is_unknown=-3.64,
            words=0.72,
            known=0.92,
            of_known=-1.58,
            best_of_known=0.89,
            coverage_words=2.23,
            best_words=2.06,
        ),
        -7.08,
    ),
    (True, False): Calibration(
        Evidence(
            coverage=2.31,
            best_coverage=-1.18,
            is_named=0.28,
            is_inside=2.49,
            is_mentioned=-1.17,
            is_unknown=-3.48,
            words=1.05,
            known=1.38,
            of_known=-0.33,
            best_of_known=0.51,
            coverage_words=2.12,
            best_words=1.52,
        ),
        -6.97,
    ),
    (False, True): Calibration(Evidence(meaning=0.39, best_meaning=19.74, words=1.12), -5.44),
}


def judge(
    order: Order,
    text: str,
    scores: Mapping[str, SignalScores],
    rankings: Mapping[str, Ranking],
    *,
    unfiltered: Set[int],
    most: int,
    moved: Mapping[int, str] = {},
) -> Order:
    """Give the first `most` chunks their confidence as score; the contributions still sum to it.

    No chunk is surer than the one before it. `unfiltered` are the rows that count as places.
    Rows that were `moved` to their places are raised to the score of the row after them, so that
    they lower none, by a contribution of the given name.
    """
    keyword = scores.get("bm25", scores.get("fulltext"))
    mode = keyword is not None, "semantic" in scores
    right, relevant = CALIBRATIONS[mode], RELEVANCE[mode]
    rows = order.rows[: max(most, _FIRST)]
    evidence = gather(rows, text, scores, rankings, unfiltered=unfiltered)
    judged = dict(zip(rows[:most], evidence, strict=False))
    order = order.with_rows(rows[:most])
    order = order.with_scores({row: right.confidence(each) for row, each in judged.items()})
    relevance = {row: relevant.confidence(each) for row, each in judged.items()}
    order = _raise(replace(order, relevance=relevance), moved)
    lowest = accumulate([order.scores[row] for row in order.rows], min, initial=1.0)
    lowered = zip(order.rows, list(lowest)[1:], strict=True)
    return order.with_scores({r: score for r, score in lowered if score < order.scores[r]})


def _raise(order: Order, moved: Mapping[int, str]) -> Order:
    """Raise moved rows to the score of the row after them, the last one first. A lesson is shown
    by its own relevance."""
    if not moved:
        return order
    scores, relevance = dict(order.scores), dict(order.relevance)
    gains: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for row, after in reversed([*pairwise(order.rows)]):
        name = moved.get(row)
        if name is not None:
            gain = scores[after] - scores[row]
            if gain > 0.0:
                gains[name][row] = gain
                scores[row] += gain
            if name != LESSON:
                relevance[row] = max(relevance[row], relevance[after])
    for name, values in gains.items():
        order = order.plus(Part(name, values))
    return replace(order, relevance=relevance)


def never_rising(fused: Iterable[Fused]) -> list[Fused]:
    """Lower the scores above that of an earlier chunk."""
    lowest, lowered = 1.0, []
    for chunk in fused:
        lowest = min(lowest, chunk.score)
        lowered.append(chunk if chunk.score == lowest else with_score(chunk, lowest))
    return lowered


def with_score(chunk: Fused, score: float) -> Fused:
    """A chunk with another score. A score of 0 stays."""
    return chunk.scaled(score / chunk.score)._replace(score=score) if chunk.score > 0.0 else chunk


def gather(
    rows: Sequence[int],
    text: str,
    scores: Mapping[str, SignalScores],
    rankings: Mapping[str, Ranking],
    *,
    unfiltered: Set[int],
) -> list[Evidence]:
    """The evidence for each chunk. It depends neither on the limit nor on a filter."""
    levels = {hit.row: hit.score for hit in rankings["exact"].hits} if "exact" in rankings else {}
    cosines = (
        {r: score for r, score, _ in rankings["semantic"].hits} if "semantic" in rankings else {}
    )
    semantic = scores.get("semantic")
    near = [hit.score for hit in semantic.hits(semantic.best(_NEAR))] if semantic else []
    mean = fsum(near) / max(len(near), _FEW)
    covered, known = coverages(rows, scores, rankings)
    is_unknown = has_identifier(text) and not any(map(leads, levels.values()))
    best, share = max(covered[:_FIRST], default=0.0), max(known, _LEAST_KNOWN)
    words = log(1 + sum(not is_stop_word(token) for token in tokenize(text)))
    found, place = [], 0
    for row, coverage in zip(rows, covered, strict=True):
        place += row in unfiltered
        meaning = _stands_out(cosines[row], mean) if row in cosines else 0.0
        level = levels.get(row, 0.0)
        found.append(
            Evidence(
                coverage,
                meaning,
                coverage * meaning,
                best,
                _stands_out(max(near, default=mean), mean),
                float(is_named(level)),
                float(is_inside(level)),
                float(is_mentioned(level)),
                float(is_unknown),
                words,
                log(min(max(place, 1), _PLACES)),
                known,
                coverage / share,
                best / share,
                coverage * words,
                best * words,
            )
        )
    return found


def _stands_out(cosine: float, mean: float) -> float:
    """How far, within what the fit has seen: cosines of other models may be spread wider."""
    return min(cosine - mean, _WIDEST)


def coverages(
    rows: Sequence[int], scores: Mapping[str, SignalScores], rankings: Mapping[str, Ranking]
) -> tuple[list[float], float]:
    """The share of the question's words in each chunk, and in any."""
    keyword = scores.get("bm25")
    if counts_words(keyword):
        return [keyword.coverage(row) for row in rows], keyword.known
    hits = rankings["fulltext"].hits if "fulltext" in rankings else ()
    shares = {hit.row: hit.score for hit in hits}
    return [shares.get(row, 0.0) for row in rows], max(shares.values(), default=0.0)
