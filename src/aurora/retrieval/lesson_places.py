"""Places for lessons and decisions: up to two of the first three rows, if they fit the question.

A lesson is a sentence or two, in other words than the question. Among thousands of chunks of code
some always match better, and the lesson is on no page. So lessons and added documents are compared
with the best chunk of the memory. The numbers are fitted on benchmarks/questions/lessons;
docs/concepts/ranking.md shows what they are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import takewhile

from aurora.retrieval.confidence import coverages
from aurora.signals.base import SignalScores
from aurora.signals.exact import leads
from aurora.types import Ranking

LESSONS_UNTIL = 3  # the last place that may be for a lesson
_MOST = 2  # places for lessons
_COMPARED = 10  # lessons of one search: the cost does not grow with their number
# What fits, as a share of the best chunk's. Of lessons, 90 % can have a place with 0.8, with 0.9
# 71 %; of questions about code, 16 and 8 % then have a lesson among the first three rows, mostly
# third. Words say less: with 0.8 the gain is a sixth of that with 0.6.
_BY_MEANING, _BY_WORDS = 0.8, 0.6


def place_lessons(
    rows: Sequence[int],
    lessons: Set[int],
    scores: Mapping[str, SignalScores],
    rankings: Mapping[str, Ranking],
) -> tuple[list[int], frozenset[int]]:
    """Move lessons that fit up to the last of the first places; also returns the moved rows.

    The first row stays first, and so do definitions that the query names. Lessons keep their order
    among each other.
    """
    levels = {hit.row: hit.score for hit in rankings["exact"].hits} if "exact" in rankings else {}
    led = sum(1 for _ in takewhile(lambda row: leads(levels.get(row, 0.0)), rows))
    room = min(_MOST, LESSONS_UNTIL - max(led, 1))
    compared = [row for row in rows if row in lessons][:_COMPARED]
    fits = _fitting(compared, rows, scores, rankings) if room > 0 and compared else set()
    chosen = [at for at, row in enumerate(rows) if row in fits][:room]
    placed = [row for at, row in enumerate(rows) if at not in chosen]
    moved = set()
    for target, at in enumerate(chosen, LESSONS_UNTIL - len(chosen)):
        placed.insert(min(at, target), rows[at])
        if at > target:
            moved.add(rows[at])
    return placed, frozenset(moved)


def _fitting(
    lessons: Sequence[int],
    rows: Sequence[int],
    scores: Mapping[str, SignalScores],
    rankings: Mapping[str, Ranking],
) -> set[int]:
    """The lessons that are almost as near to the question as the best chunk of all: by meaning, and
    without a model by words."""
    if "semantic" in rankings and (hits := rankings["semantic"].hits):
        least, values = _BY_MEANING * hits[0].score, {hit.row: hit.score for hit in hits}
    else:
        compared = [*lessons, *rows[:LESSONS_UNTIL]]
        values = dict(zip(compared, coverages(compared, scores, rankings)[0], strict=True))
        least = _BY_WORDS * max(values.values())
    return {row for row in lessons if values.get(row, 0.0) >= least > 0.0}
