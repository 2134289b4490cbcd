"""The brief form of an answer: places, names, confidences and lines, and nothing else.

Every result has a head line, such as `1. src/app.py:12-30 method App.run 93%`. Below it stand its
lines, first those that match; the first line of each run has its number. What is left of the
tokens goes to more lines of the best results, and then to the lines around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from threading import Lock

from aurora.display.snippet import Line, numbered_lines
from aurora.engine import Memory
from aurora.engine.entries import EntryVersion
from aurora.engine.own_lines import number_outline
from aurora.indexing.provenance import provenance_of
from aurora.mcp.answers import cost
from aurora.text import printable
from aurora.types import Chunk, Kind, Lines, SearchResult, SearchResults

_MATCHING = 1  # lines of each result, before any gets more
_SHARE = 0.6  # of what is left goes to a result, until all have had their turn
_AROUND, _ALL_AROUND = 30, 1_000_000  # lines around a result: some for each, all for the best
_LINE_END = 3  # tokens of a line's end and its number or indentation
_WORTH_READING = 60  # tokens: for fewer, no file is read
_LONGEST_NAME = 100  # characters
_KEPT = 200_000  # lines that are known to be sent; more, and all are forgotten


class SentLines:
    """What one client has been sent. Of lines, only a number is kept."""

    def __init__(self) -> None:
        self._sent: set[int] = set()
        self._lock = Lock()

    def of(self, keys: Iterable[int]) -> set[int]:
        """Those of the lines that were sent."""
        with self._lock:
            return self._sent.intersection(keys)

    def add(self, keys: Iterable[int]) -> None:
        with self._lock:
            if len(self._sent) > _KEPT:
                self._sent.clear()
            self._sent.update(keys)


def line_key(place: str, number: int, text: str) -> int:
    """A number for a line of a file or chunk, the same with and without its indentation."""
    return hash((place, number, text.strip()))


@dataclass(slots=True)
class Row:
    """A result on its way into an answer. `shown` are the indexes of its lines that fit."""

    result: SearchResult
    head: str
    lines: Sequence[Line]
    matching: Sequence[int]  # indexes of lines, the best first
    span: Lines  # indexes of the first and last line of the result
    shown: set[int] = field(default_factory=set)
    was_sent: bool = False  # some of its lines were sent before

    def key(self, at: int) -> int:
        line, chunk = self.lines[at], self.result.chunk
        if chunk.path and line.number is not None:
            return line_key(chunk.path, line.number, line.text)
        return line_key(chunk.id, -at, line.text)

    def show(self, wanted: Iterable[int], tokens: float, known: set[int]) -> float:
        """Show lines that are not known yet, as long as they fit; the tokens that they take."""
        taken = 0.0
        for at in wanted:
            if at in self.shown or (key := self.key(at)) in known:
                continue
            price = cost(self.lines[at].text) + _LINE_END
            if taken + price > tokens:
                break
            taken += price
            self.shown.add(at)
            known.add(key)
        return taken

    def nearest_first(self, around: int) -> list[int]:
        """Of the result the lines near its best match first, then so many lines around it."""
        first, last = self.span
        best = self.matching[0] if self.matching else first

        def distance(at: int) -> tuple[int, int]:
            return max(first - at, at - last, 0), abs(at - best)

        start, end = max(first - around, 0), min(last + around + 1, len(self.lines))
        return sorted(range(start, end), key=distance)

    def widen(self, texts: Sequence[str]) -> None:
        """Take the lines of the whole file instead of those of the stored chunk."""
        lines = self.result.chunk.lines
        shown = [self.lines[at].number for at in self.shown]
        if lines is None or lines.end > len(texts) or None in shown:
            return
        matching = [self.lines[at].number for at in self.matching]
        self.lines = [Line(printable(text), at, ()) for at, text in enumerate(texts, start=1)]
        self.shown = {number - 1 for number in shown if number}
        self.matching = [number - 1 for number in matching if number]
        self.span = Lines(lines.start - 1, lines.end - 1)

    def text(self) -> str:
        lines = list(self._runs())
        is_known = self.was_sent and not lines
        return "\n".join([f"{self.head} (sent before)" if is_known else self.head, *lines])

    def _runs(self) -> Iterator[str]:
        """The shown lines. A number stands at the first of neighbouring lines."""
        indent, before, number = "", -2, None
        for at in sorted(self.shown):
            line = self.lines[at]
            if not line.text.strip() and not {at - 1, at + 1} <= self.shown:
                continue
            is_next = at == before + 1 and (number is None or line.number == number + 1)
            sign = indent if is_next else "-" if line.number is None else f"{line.number}:"
            indent, before, number = " " * len(sign), at, line.number
            yield f"{sign}{line.text}".rstrip()


ReadLines = Callable[[SearchResult], Sequence[str]]


def make_row(result: SearchResult, head: str, outline: Sequence[Line] = ()) -> Row:
    """The row of a result; `outline` has its lines if it is stored without inner bodies."""
    lines, matching = numbered_lines(result)
    return Row(result, head, outline or lines, matching, Lines(0, len(lines) - 1))


def fill(rows: Sequence[Row], tokens: float, sent: Set[int], read_lines: ReadLines) -> list[Row]:
    """The rows of which the heads fit, at least one, with as many lines as fit besides.

    Without lines that were sent. If all lines of the results fit, more are read from their files.
    """
    left, kept, known = tokens, list[Row](), set(sent)
    for row in rows:
        left -= cost(row.head) + _LINE_END
        if kept and left < 0:
            break
        kept.append(row)
    for row in kept:
        row.was_sent = any(row.key(at) in sent for at in row.matching)
        left -= row.show(row.matching[:_MATCHING], left, known)
    for share in (_SHARE, 1, 1):
        left = _grow(kept, tokens, known, share)
    if left > _WORTH_READING:
        _read_on(kept, left, known, read_lines)
        _grow(kept, tokens, known, 1, around=_ALL_AROUND)
    return kept


def _grow(
    rows: Sequence[Row], tokens: float, known: set[int], share: float, around: int = 0
) -> float:
    """Show more lines of each row, the best row first; the tokens that are left."""
    left = tokens - cost("\n".join(row.text() for row in rows))  # prices are the highest
    for row in rows:
        left -= row.show(row.nearest_first(around), left * share, known)
    return left


def _read_on(rows: Sequence[Row], left: float, known: set[int], read_lines: ReadLines) -> None:
    """Show the inner bodies of classes, and lines around the results, from as few files as do."""
    files: dict[str, Sequence[str]] = {}
    for row in rows:
        path = row.result.chunk.path
        if path not in files:
            files[path] = read_lines(row.result)
        row.widen(files[path])
        left -= row.show(row.nearest_first(0), left * _SHARE, known)
        left -= row.show(row.nearest_first(_AROUND), left, known)
        if left < _WORTH_READING:
            return


def head_line(result: SearchResult, rank: int, label: str) -> str:
    """Such as `1. src/app.py:12-30 method App.run 93%`; what has no file has its id.

    What was said in a session has its form and title, and the session: `(codex 2026-11-12; session
    3fa85f64)`.
    """
    chunk, symbol = result.chunk, result.symbol
    name = symbol.name if symbol else chunk.qualified_name or chunk.name
    if chunk.kind is Kind.REASONING:  # its name is the beginning of its text
        name = ""
    elsewhere = f" in memory {result.memory}" if result.memory not in ("", label) else ""
    place, kind = place_of(chunk, result.lines), symbol.kind if symbol else chunk.kind
    if session := chunk.session:
        kind, name = session.form or kind, session.title or name
    head = " ".join(filter(None, [place, kind, one_line(name), f"{result.score:.0%}"]))
    written = provenance_of(chunk).when_and_who if chunk.is_recorded else ""
    facts = printable("; ".join(filter(None, [written, session_words(chunk), *result.remarks])))
    said = f" ({facts})" if facts else ""
    return f"{rank}. {head}{one_line(elsewhere)}{said}"


def session_words(chunk: Chunk) -> str:
    """Such as `codex 2026-11-12; session 3fa85f64`; empty for what is of no session."""
    session = chunk.session
    if session is None:
        return ""
    date = f"{chunk.created_at:%Y-%m-%d}" if chunk.created_at else ""
    return "; ".join(
        filter(None, [" ".join(filter(None, [session.agent, date])), f"session {session.short_id}"])
    )


def place_of(chunk: Chunk, lines: Lines | None) -> str:
    if not chunk.path or lines is None:
        return printable(chunk.id)
    start, end = lines
    return printable(f"{chunk.path}:{start}" + (f"-{end}" if end > start else ""))


def one_line(name: str) -> str:
    return printable(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def note_lines(notes: Sequence[str] | None) -> list[str]:
    return [f"note: {printable(note)}" for note in notes or ()]


def nothing_found(results: SearchResults) -> list[str]:
    weak = results.weak
    lines = ["Nothing relevant found."]
    if weak:
        place = f"{place_of(weak.chunk, weak.lines)} {one_line(weak.name)} {weak.score:.0%}"
        lines.append(f"Best weak match: {place}")
    if results.nearest:
        lines.append(f"Names like it: {printable(', '.join(results.nearest))}")
    return lines


def outline_lines(memory: Memory, result: SearchResult) -> list[Line]:
    """The lines of an outline without ellipses, which look like stubs; none for other chunks."""
    chunk = result.chunk
    if not chunk.is_outline:
        return []
    texts = [line.text for line in numbered_lines(result)[0]]
    numbers = number_outline(memory, chunk, texts)
    shown = [text.rstrip().removesuffix("...").rstrip() for text in texts]
    return [Line(text, numbers.get(at), ()) for at, text in enumerate(shown)]


def more_line(cursor: str) -> str:
    return f"more: cursor={cursor}"


def version_text(version: EntryVersion) -> str:
    """A version of an entry, as the history tells it."""
    facts = "; ".join(filter(None, [version.state, version.provenance.words]))
    return f"{printable(version.id)} ({printable(facts)})\n{version.text}"
