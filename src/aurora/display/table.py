"""Search results as a table that never hides what matters.

When the terminal is too narrow, paths lose their beginning and names their end, then the words
for what git does not know; the other columns stay whole. In a pipe nothing is cut. Widths are of
cells, so that CJK columns stay aligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from aurora.display.cells import cell_len, keep_end, keep_start, pad
from aurora.display.paint import PLAIN, Paint
from aurora.display.past import commits_cell, modified_cell
from aurora.text import printable
from aurora.types import Chunk, Kind, SearchResult

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
