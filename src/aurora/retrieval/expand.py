"""A second search with more words beside the first, and one order of both.

Somebody else names the words, and takes its time: it is asked before the first search begins, and
waited for when that is done. What it says never replaces the query, and what goes wrong with it
leaves the first search as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from aurora.errors import LlmError
from aurora.fusion.base import in_order
from aurora.retrieval.candidates import CandidateSelection
from aurora.types import Contribution, Fused, Listener, Note

if TYPE_CHECKING:
    from aurora.concurrency import BackgroundTask


# Terms to search for beside some words, within a time of its own. Raises `LlmError`.
Expand = Callable[[str], Sequence[str]]

SHARE = 0.3  # of the search with more words: what was asked for in so many words stays ahead
DEPTH = 100  # results of each search that are put together, however few are wanted


def no_expander(words: str) -> Sequence[str]:  # noqa: ARG001
    raise LlmError("There is nobody here who expands queries")


class Expansion:
    """One search's, if it is wanted: the terms are asked for at once."""

    def __init__(self, expand: Expand, words: str, *, wanted: bool, listen: Listener) -> None:
        self._words, self._listen = words, listen
        self._asked = _begin(expand, words) if wanted else None
        self.notes: list[Note] = []

    @property
    def depth(self) -> int:
        """How many results it wants to see, however few are asked for."""
        return DEPTH if self._asked else 0

    def over(self, found: list[Fused], search: Callable[[str], CandidateSelection]) -> list[Fused]:
        """What was found by the words alone, together with what is found by more of them."""
        terms = self._terms()
        if not terms:
            return found
        return merge(found, search(" ".join((self._words, *terms))).first(DEPTH))

    def _terms(self) -> Sequence[str]:
        try:
            terms = self._asked.result() if self._asked else ()
        except LlmError as exc:
            self._tell(Note(f"Not expanded: {exc.in_one_line}", warning=True))
            return ()
        if terms:
            self._tell(Note(f"Expanded with: {', '.join(terms)}"))
        return terms

    def _tell(self, note: Note) -> None:
        self.notes.append(note)
        self._listen(note)


def _begin(expand: Expand, words: str) -> BackgroundTask[Sequence[str]]:
    from aurora.concurrency import BackgroundTask  # noqa: PLC0415 - few searches have use for threads

    return BackgroundTask(lambda: expand(words))


def merge(first: Sequence[Fused], second: Sequence[Fused]) -> list[Fused]:
    """One order: (1 − SHARE) of a chunk's score in the first search and SHARE of the second's.

    Only the first DEPTH of each take part in it; what the first search has beyond comes after.
    """
    places = {one.row: (rank, one) for rank, one in enumerate(second[:DEPTH], start=1)}
    merged = [_merged(one, places) for one in first[:DEPTH]]
    known = {one.row for one in merged}
    merged += [_merged(Fused(row, 0.0, ()), places) for row in places if row not in known]
    known.update(places)
    rest = [_merged(one, {}) for one in first[DEPTH:] if one.row not in known]
    return [*in_order(merged), *rest]


def _merged(one: Fused, places: Mapping[int, tuple[int, Fused]]) -> Fused:
    kept = 1.0 - SHARE
    score = one.score * kept
    parts = tuple([part._replace(value=part.value * kept) for part in one.contributions])
    if one.row in places:
        rank, again = places[one.row]
        gain = Contribution("expansion", rank, again.score, again.score, SHARE * again.score)
        score, parts = score + gain.value, (*parts, gain)
    return Fused(one.row, score, parts)
