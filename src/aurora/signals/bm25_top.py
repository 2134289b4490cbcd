"""The best chunks for a keyword question, without reading all postings of common words.

Terms are added from the rarest to the most common. As soon as the terms that are left cannot lift a
chunk without the rare ones among the best, they are only looked up for the chunks that may still be
(MaxScore: Turtle and Flood, *Query Evaluation: Strategies and Optimizations*, 1995). The scores are
those of `sum_dense`, to the last bit: the same additions in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from aurora.signals.bm25_formula import COUNTED, BM25Parameters, Match, saturate
from aurora.signals.dense_scores import (
    DenseScores,
    Floats,
    Places,
    RowPlaces,
    best_places,
    nth_best,
    sum_dense,
)
from aurora.types import Hit

_MARGIN = 1.0 + 1e-9  # of a sum of bounds: it is rounded
_MANY = 5_000  # chunks: it is quicker to score all


class TopScores:
    """`RankedScores` of the documents of all segments, one after the other."""

    def __init__(
        self,
        matches: Sequence[Match],
        discounts: Sequence[Floats],
        places: RowPlaces,
        *,
        parameters: BM25Parameters,
        ceiling: float,
    ) -> None:
        """`matches` with rare terms first; `discounts` of each segment, by place."""
        self._matches, self._discounts, self._places = matches, discounts, places
        self._parameters, self.ceiling = parameters, ceiling
        self._starts = np.cumsum([0, *map(len, discounts)])
        self._tops: dict[int, tuple[Places, Floats]] = {}

    def best(self, pool: int, *, among: Sequence[int] | None = None) -> list[int]:
        rows = self._places.rows
        if among is None:
            found: list[int] = rows[self._top(max(pool, COUNTED))[0][:pool]].tolist()
            return found
        if len(among) > _MANY:
            return self._all.best(pool, among=among)
        allowed = self._places.find(np.asarray(among, np.int64))
        order = best_places(self._score(allowed), pool, rows=rows[allowed])
        best: list[int] = rows[allowed[order]].tolist()
        return best

    def hits(self, rows: Collection[int]) -> list[Hit]:
        places = self._places.find(np.fromiter(rows, np.int64, len(rows)))
        scores = self._score(places)
        places, scores = places[scores != 0.0], scores[scores != 0.0]
        found = self._places.rows[places].tolist(), scores.tolist()
        ranked = zip(*found, self.above(found[1]), strict=True)
        return [Hit(row, score, 1 + above) for row, score, above in ranked]

    def above(self, scores: Sequence[float]) -> list[int]:
        """For each number, how many chunks have a higher score, of the best `COUNTED`."""
        ascending = self._top(COUNTED)[1][COUNTED - 1 :: -1]
        counts: list[int] = (
            len(ascending) - np.searchsorted(ascending, scores, side="right")
        ).tolist()
        return counts

    @cached_property
    def _all(self) -> DenseScores:
        return sum_dense(
            self._matches,
            self._discounts,
            self._places,
            parameters=self._parameters,
            ceiling=self.ceiling,
        )

    def _top(self, count: int) -> tuple[Places, Floats]:
        """The places and the scores of the best, in order."""
        if count not in self._tops:
            places, scores = self._candidates(count)
            best = best_places(scores, count, rows=self._places.rows[places])
            self._tops[count] = places[best], scores[best]
        return self._tops[count]

    def _candidates(self, count: int) -> tuple[Places, Floats]:
        """Places that include the best `count`, and their scores."""
        scores = np.zeros(self._starts[-1])
        parts = [scores[start:stop] for start, stop in pairwise(self._starts.tolist())]
        left = self._most_of_rest()
        reached = seen = 0.0
        for number, match in enumerate(self._matches):
            for part, lengths, posting in zip(parts, self._discounts, match.postings, strict=True):
                at = np.asarray(posting[0]).astype(np.int64)
                np.add.at(part, at, self._weigh(match, np.asarray(posting[1]), lengths[at]))
            seen += len(match)
            reached += left[number] - left[number + 1]
            rest = self._matches[number + 1 :]
            # Looking takes as long as adding up a quarter of the postings so far.
            if rest and seen >= count and reached > left[number + 1] and 4 * len(rest[0]) > seen:
                places, values = _scored(scores)
                if len(places) >= count and nth_best(values, count) > left[number + 1]:
                    return self._narrow(count, rest, places, values, left[number + 1 :])
        places, values = _scored(scores)
        if len(places) > count and (cut := nth_best(values, count)) > 0.0:
            return places[values >= cut], values[values >= cut]
        return places, values

    def _narrow(
        self,
        count: int,
        matches: Sequence[Match],
        places: Places,
        scores: Floats,
        left: Sequence[float],
    ) -> tuple[Places, Floats]:
        """Add the terms that are left, for the places that can still be among the best."""
        for number, match in enumerate(matches):
            may_be = scores >= nth_best(scores, count) - left[number]
            places = places[may_be]
            scores = self._add([match], places, scores[may_be])
        return places, scores

    def _most_of_rest(self) -> list[float]:
        """For each number of terms, how much the terms after them can change a score."""
        most = [
            match.factor * abs(match.idf) * (self._parameters.k1 + 1.0) for match in self._matches
        ]
        return [*(_MARGIN * sum(most[number:]) for number in range(len(most))), 0.0]

    def _weigh(self, match: Match, frequencies: Places, lengths: Floats) -> Floats:
        weights: Floats = saturate(frequencies.astype(np.float64), lengths, self._parameters)
        weights *= match.idf
        if match.factor != 1.0:
            weights *= match.factor
        return weights

    def _score(self, places: Places) -> Floats:
        order = np.argsort(places, kind="stable")
        scores = np.empty(len(places))
        scores[order] = self._add(self._matches, places[order], np.zeros(len(places)))
        return scores

    def _add(self, matches: Sequence[Match], places: Places, scores: Floats) -> Floats:
        """Look up ascending places in the postings of terms, and add the weights."""
        bounds = np.searchsorted(places, self._starts).tolist()
        parts = [
            (scores[low:high], places[low:high] - start, lengths)
            for (low, high), start, lengths in zip(
                pairwise(bounds), self._starts.tolist(), self._discounts, strict=False
            )
        ]
        for match in matches:
            for (part, wanted, lengths), posting in zip(parts, match.postings, strict=True):
                documents = np.asarray(posting[0])
                if not len(wanted) or not len(documents):
                    continue
                at = np.searchsorted(documents, wanted.astype(documents.dtype))
                np.minimum(at, len(documents) - 1, out=at)
                there = np.flatnonzero(documents[at] == wanted)
                frequencies = np.asarray(posting[1])[at[there]]
                part[there] += self._weigh(match, frequencies, lengths[wanted[there]])
        return scores


def _scored(scores: Floats) -> tuple[Places, Floats]:
    """The places that have a score, and their scores."""
    places: Places = np.flatnonzero(scores != 0.0)  # numpy is slow with floats
    return places, scores[places]
