"""Query expansion: a second search with related words, merged with the first one.

A language model names the words. The call starts before the first search and runs beside it. The
related words never replace the query, and a failed call leaves the first search as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aurora.concurrency import BackgroundTask
from aurora.errors import LlmError
from aurora.fusion.base import add_part, in_order, scaled
from aurora.types import Fused, Note

# Returns words to search for beside the query, within its own time limit. Raises `LlmError`.
Expand = Callable[[str], Sequence[str]]

SHARE = 0.3  # of the second search: results of the query itself stay ahead
DEPTH = 100  # results of each search that are merged, whatever the limit


def no_expander(words: str) -> Sequence[str]:  # noqa: ARG001
    raise LlmError("No language model is set up to expand queries")


class Expansion:
    """The related words of one search. The model is called at once, in the background."""

    def __init__(self, expand: Expand, words: str) -> None:
        self._call: BackgroundTask[Sequence[str]] = BackgroundTask(lambda: expand(words))

    def terms(self) -> tuple[Sequence[str], tuple[Note, ...]]:
        """Wait for the related words. Returns them, and a note about them."""
        try:
            terms = self._call.result()
        except LlmError as exc:
            return (), (Note(f"Not expanded: {exc.in_one_line}", warning=True),)
        return terms, (Note(f"Expanded with: {', '.join(terms)}"),) if terms else ()


def merge(first: Sequence[Fused], second: Sequence[Fused]) -> list[Fused]:
    """One order: (1 − SHARE) of a chunk's score in the first search and SHARE of the second's.

    Only the first DEPTH of each take part; further chunks of the first search come after them.
    """
    places = {chunk.row: (rank, chunk) for rank, chunk in enumerate(second[:DEPTH], start=1)}
    merged = [_merged(chunk, places) for chunk in first[:DEPTH]]
    rows = {chunk.row for chunk in merged}
    merged += [_merged(Fused(row, 0.0, ()), places) for row in places if row not in rows]
    rows.update(places)
    rest = [scaled(chunk, 1.0 - SHARE) for chunk in first[DEPTH:] if chunk.row not in rows]
    return [*in_order(merged), *rest]


def _merged(chunk: Fused, places: Mapping[int, tuple[int, Fused]]) -> Fused:
    kept = scaled(chunk, 1.0 - SHARE)
    if chunk.row not in places:
        return kept
    rank, again = places[chunk.row]
    return add_part(kept, "expansion", SHARE * again.score, raw=again.score, rank=rank)
