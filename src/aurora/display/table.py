"""Search results as a table that never hides what matters.

When the terminal is too narrow, paths lose their beginning and names their end, then the words
for what git does not know; the other columns stay whole. In a pipe nothing is cut. Widths are of
cells, so that CJK columns stay aligned.

Text in cells of a terminal: a wide letter takes two, an accent none.

Colour and links, for terminals that have them; without, every text stays as it is.

Plain escape sequences: a library that knows more of terminals takes longer to import than a search.

When a result was last changed, and by how many commits, in the words of seed 000, FR-5.3-5.4.

What to say when nothing was found, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.cells import cell_len, set_cell_size

from aurora.text import pluralize, printable
from aurora.types import Chunk, ChunkHistory, Kind, SearchResult, SearchResults, Tracking

__all__ = ["cell_len", "keep_end", "keep_start", "pad", "wrap"]


def pad(text: str, width: int) -> str:
    """A text that fits, followed by spaces."""
    return text + " " * max(width - cell_len(text), 0)


def keep_start(text: str, width: int) -> str:
    """A text of at most so many cells; what is cut off at its end is told by `…`."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def keep_end(text: str, width: int) -> str:
    """As `keep_start`, for what matters at its end: the file's name of a path is there."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many cells, broken between words; a longer word is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(keep_start(word, width))
    return lines or [""]


_RESET = "\033[0m"
_LINK = "\033]8;;{url}\033\\{text}\033]8;;\033\\"  # OSC 8


@dataclass(frozen=True, slots=True)
class Paint:
    """How to mark a text. `link` gives the address of the line that a chunk begins at."""

    colour: bool = False
    link: Callable[[Chunk, int], str] | None = None

    def head(self, text: str) -> str:
        return self.styled("1", text)

    def faint(self, text: str) -> str:
        return self.styled("2", text)

    def name(self, text: str) -> str:
        return self.styled("1;36", text)

    def match(self, text: str) -> str:
        return self.styled("1;31", text)  # as grep does

    def place(self, text: str, chunk: Chunk, line: int | None = None) -> str:
        """A text that leads to a line of a chunk's file, to its first one unless told."""
        if self.link is None or not chunk.path:
            return text
        first = chunk.lines.start if chunk.lines else 1
        return _LINK.format(url=self.link(chunk, line or first), text=text)

    def styled(self, code: str, text: str) -> str:
        """By the code of an SGR sequence."""
        return f"\033[{code}m{text}{_RESET}" if self.colour and text.strip() else text


PLAIN = Paint()


STALE_AFTER = timedelta(days=7)  # seed 000, 6.4

_UNITS = (
    ("year", 365 * 86400), ("month", 30 * 86400), ("week", 7 * 86400), ("day", 86400),
    ("hour", 3600), ("minute", 60),
)  # fmt: skip
_PROSE = (Kind.REASONING, Kind.KNOWLEDGE)


def is_prose(result: SearchResult) -> bool:
    """What git counts no commits of: its date is its own."""
    return result.chunk.kind in _PROSE


def commits_cell(result: SearchResult) -> str:
    """How many commits touched the lines of code; `-` for what is no code."""
    history = result.history
    if is_prose(result) or history is None:
        return "-"
    return _missing(history) or str(len(history.commits))


def modified_cell(result: SearchResult, now: datetime) -> str:
    """How long ago code was changed; the date of anything else."""
    history = result.history
    if is_prose(result):
        date = result.chunk.created_at or (history.last_modified if history else None)
        return f"{date:%Y-%m-%d}" if date else "-"
    if history is None:
        return "-"
    if history.last_modified is None:
        return _missing(history) or "- (uncommitted)"
    return relative_time(now - history.last_modified)


def is_stale(results: Iterable[SearchResult], now: datetime) -> bool:
    """True when git was asked too long ago about some of them."""
    read = (result.history.read_at for result in results if result.history)
    return any(at is not None and now - at > STALE_AFTER for at in read)


def relative_time(age: timedelta) -> str:
    """An age as a person would say it; a clock that runs ahead counts as now."""
    seconds = age.total_seconds()
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count >= 1:
            return f"{pluralize(count, unit)} ago"
    return "just now"


def _missing(history: ChunkHistory) -> str:
    return "" if history.tracking is Tracking.TRACKED else f"- ({history.tracking})"


_HEADERS = ("File", "Type", "Name", "Lines", "Score", "Commits", "Last Modified")
_FILE, _NAME, _PAST = 0, 2, 5  # columns; from the last on, what git and dates tell
_CHOICES = (range(7), range(5), (0, 2, 3, 4), (0, 2, 4))  # columns, fewer on narrower terminals
_SEPARATOR = " | "
_READABLE, _NARROWEST = 16, 10  # cells a path or name keeps while it can, and in any case
_ABBREVIATIONS = {Kind.REASONING: "reas", Kind.KNOWLEDGE: "know"}  # seed 000, FR-5.2


def render_table(
    results: Sequence[SearchResult],
    *,
    now: datetime,
    width: int | None = None,
    past: bool = True,
    paint: Paint = PLAIN,
) -> str:
    """Lines of a table at most `width` cells wide; as wide as needed without a width.

    Without a `past` it has the five columns of FR-5.5.
    """
    return "\n".join(table_lines(results, now=now, width=width, past=past, paint=paint))


def table_lines(
    results: Sequence[SearchResult],
    *,
    now: datetime,
    width: int | None = None,
    past: bool = True,
    paint: Paint = PLAIN,
) -> list[str]:
    """The head, the rule below it, and a line for each result."""
    rows = [result_cells(result, now) for result in results]
    wanted = [max(map(cell_len, column)) for column in zip(_HEADERS, *rows, strict=True)]
    widths = _choose(wanted, width, _CHOICES if past else _CHOICES[1:])
    head = _SEPARATOR.join(pad(_HEADERS[column], cells) for column, cells in widths.items())
    found = zip(rows, results, strict=True)
    return [
        paint.head(head.rstrip()),
        paint.faint("-+-".join("-" * cells for cells in widths.values())),
        *(_line(row, widths, result.chunk, paint) for row, result in found),
    ]


def result_cells(result: SearchResult, now: datetime) -> tuple[str, ...]:
    """What the columns show of a result, in full."""
    chunk = result.chunk
    return (
        printable(chunk.path or chunk.id),
        _ABBREVIATIONS.get(chunk.kind, str(chunk.kind)),
        printable(_name(chunk)),
        f"{chunk.lines.start}-{chunk.lines.end}" if chunk.lines else "-",
        f"{result.score:.3f}",
        commits_cell(result),
        modified_cell(result, now),
    )


def _name(chunk: Chunk) -> str:
    """What follows the path in the id, so that FILE:NAME of a row is what `aur mem get` takes."""
    name = chunk.id.removeprefix(f"{chunk.path}:")
    return name if name != chunk.id else _with_origin(chunk)


def _with_origin(chunk: Chunk) -> str:
    """A document is asked for by its id, so where it comes from stands beside its name."""
    name, origin = chunk.qualified_name or chunk.name, str(chunk.metadata.get("origin", ""))
    return origin if origin.endswith(name) else f"{name} ({origin})" if origin else name


def _choose(
    wanted: Sequence[int], width: int | None, choices: Sequence[Sequence[int]]
) -> dict[int, int]:
    """Columns and their widths: as many as there is room for, rather than wider than it."""
    for columns in choices:
        widths = _fit({column: wanted[column] for column in columns}, width)
        if width is None or _total(widths) <= width:
            break
    return widths


def _fit(widths: dict[int, int], width: int | None) -> dict[int, int]:
    """Take what is too much from the columns that can be cut, of two the wider one first."""
    past = {column: len(_HEADERS[column]) for column in widths if column >= _PAST}
    for least in (
        dict.fromkeys((_FILE, _NAME), _READABLE),
        past,
        dict.fromkeys((_FILE, _NAME), _NARROWEST),
    ):
        while width is not None and _total(widths) > width:
            wide = [column for column in least if widths[column] > least[column]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + len(_SEPARATOR) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Mapping[int, int], chunk: Chunk, paint: Paint) -> str:
    """The cells side by side. Marked is the text alone, so that no link or colour has a tail."""
    line = []
    for column, width in widths.items():
        shown = keep_end(row[column], width) if column == _FILE else keep_start(row[column], width)
        marked = shown
        if column == _FILE:
            marked = paint.place(shown, chunk)
        elif column == _NAME:
            marked = paint.name(shown)
        line.append(marked + " " * (width - cell_len(shown)))
    return _SEPARATOR.join(line).rstrip()


_SUGGESTIONS = (
    "use fewer or other words: every word counts, none is required",
    "check that the files are indexed: aur mem stats",
    "read new files first: aur mem index .",
)


def render_nothing(answer: SearchResults) -> str:
    suggestions = list(_SUGGESTIONS)
    if answer.filtered:
        suggestions.insert(0, "ask for more: without a filter, or with a wider one")
    if answer.nearest:
        suggestions.insert(0, f"did you mean {', '.join(answer.nearest)}?")
    lines = "\n".join(f"  - {suggestion}" for suggestion in suggestions)
    return f"No relevant results found\n\nSuggestions:\n{lines}"
