"""The brief form of an answer: places, names, confidences and lines, and nothing else.

Every result has a head line, such as `1. src/app.py:12-30 method App.run 93%`. Below it stand its
lines, first those that match; the first line of each run has its number. What is left of the
tokens goes to more lines of the best results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from threading import Lock

from aurora.display.snippet import Line, numbered_lines
from aurora.mcp.answers import cost
from aurora.types import SearchResult

_MATCHING = 3  # lines of each result, before any gets more
_SHARE = 2  # of what is left, a result takes a half, until all have had their turn
_LINE_END = 3  # tokens of a line's end and its number or indentation
_GAP, _BODY = " ...", "..."  # what stands for a body in an outline
_KEPT = 200_000  # lines that are known to be sent; more, and all are forgotten


class SentLines:
    """What one client has been sent. Of lines, only a number is kept."""

    def __init__(self) -> None:
        self._sent: set[int] = set()
        self._lock = Lock()

    def of(self, keys: Sequence[int]) -> set[int]:
        """Which of the lines were sent, by index."""
        with self._lock:
            return {at for at, key in enumerate(keys) if key in self._sent}

    def add(self, keys: Iterable[int]) -> None:
        with self._lock:
            if len(self._sent) > _KEPT:
                self._sent.clear()
            self._sent.update(keys)


@dataclass(slots=True)
class Row:
    """A result on its way into an answer. `shown` are the indexes of its lines that fit."""

    head: str
    lines: Sequence[Line]
    matching: Sequence[int]
    keys: Sequence[int]  # one for each line, equal for equal lines of the same chunk
    sent: Set[int]
    hidden: Set[int]  # not to be shown
    shown: set[int]

    def show(self, wanted: Iterable[int], tokens: float) -> float:
        """Show lines as long as they fit; the tokens that they take."""
        taken = 0.0
        for at in wanted:
            if at in self.shown or at in self.hidden:
                continue
            price = cost(self.lines[at].text) + _LINE_END
            if taken + price > tokens:
                break
            taken += price
            self.shown.add(at)
        return taken

    def nearest_first(self) -> list[int]:
        """All lines, those near the best match first."""
        best = self.matching[0] if self.matching else 0
        return sorted(range(len(self.lines)), key=lambda at: abs(at - best))

    def shown_keys(self) -> list[int]:
        return [self.keys[at] for at in self.shown]

    def text(self) -> str:
        head = f"{self.head} (sent before)" if self.sent and not self.shown else self.head
        return "\n".join([head, *self._runs()])

    def _runs(self) -> Iterator[str]:
        """The shown lines. A number stands at the first of neighbouring lines."""
        indent, before = "", -1
        for at in sorted(self.shown):
            line = self.lines[at]
            sign = f"{line.number}:" if at != before + 1 or before < 0 else ""
            if sign and line.number is None:
                sign = "-"
            indent, before = " " * len(sign) if sign else indent, at
            yield f"{sign or indent}{line.text}".rstrip()


def line_keys(chunk_id: str, lines: Iterable[str]) -> list[int]:
    """A number for each line of a chunk, without its indentation: a method is stored without it."""
    return [hash((chunk_id, at, line.strip())) for at, line in enumerate(lines)]


def make_row(result: SearchResult, head: str, sent: SentLines | None) -> Row:
    """The row of a result. With `sent`, lines that were sent are left out."""
    lines, matching = numbered_lines(result)
    if result.chunk.is_outline:  # an ellipsis for a body looks like a stub
        lines = [replace(line, text=line.text.removesuffix(_GAP)) for line in lines]
    keys = line_keys(result.chunk_id, (line.text for line in lines))
    known = sent.of(keys) if sent else set()
    bodies = {at for at, line in enumerate(lines) if line.text.strip() == _BODY}
    return Row(head, lines, matching, keys, known, hidden=bodies | known, shown=set())


def fill(rows: Sequence[Row], tokens: float) -> list[Row]:
    """The rows of which the heads fit, at least one, with as many lines as fit besides."""
    left, kept = tokens, list[Row]()
    for row in rows:
        left -= cost(row.head) + _LINE_END
        if kept and left < 0:
            break
        kept.append(row)
    for row in kept:
        left -= row.show(row.matching[:_MATCHING], left)
    for share in (_SHARE, 1, 1):
        left = tokens - cost("\n".join(row.text() for row in kept))  # prices are the highest
        for row in kept:
            left -= row.show(row.nearest_first(), left / share)
    return kept
