"""Search results as a table that never hides what matters.

When the terminal is too narrow, paths lose their beginning and names their end; the other
columns stay whole. In a pipe nothing is cut. Widths are of cells, so that CJK columns stay aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from aurora.display.past import commits_cell, modified_cell
from aurora.text import printable
from aurora.types import Chunk, Kind, SearchResult

_HEADERS = ("File", "Type", "Name", "Lines", "Score", "Commits", "Last Modified")
_FILE, _NAME, _PAST = 0, 2, 5  # columns; from the last on, what git and dates tell
_SEPARATOR = " | "
_NARROWEST = 10  # cells a path or name keeps however narrow the terminal
_ABBREVIATIONS = {Kind.REASONING: "reas", Kind.KNOWLEDGE: "know"}  # seed 000, FR-5.2


def render_table(
    results: Sequence[SearchResult], *, now: datetime, width: int | None = None
) -> str:
    """Lines of a table at most `width` cells wide; as wide as needed without a width."""
    rows = [_HEADERS, *(_cells(result, now) for result in results)]
    wanted = [max(cell_len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    widths = wanted if width is None else _fit(wanted, width)
    if width is not None and _total(widths) > width:
        widths = _fit(wanted[:_PAST], width)  # without a past rather than wider than the terminal
    lines = [_line(row, widths) for row in rows]
    rule = "-+-".join("-" * column for column in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(result: SearchResult, now: datetime) -> tuple[str, ...]:
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


def _fit(widths: list[int], width: int) -> list[int]:
    """Take what is too much from the file column and the name column, the wider one first."""
    widths = list(widths)
    excess = _total(widths) - width
    while excess > 0:
        wider = max((_FILE, _NAME), key=widths.__getitem__)
        if widths[wider] <= _NARROWEST:
            break
        widths[wider] -= 1
        excess -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_SEPARATOR) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        _elide_start(text, width) if column == _FILE else _elide_end(text, width)
        for column, (text, width) in enumerate(zip(row, widths, strict=False))
    ]
    return _SEPARATOR.join(cells).rstrip()


def _elide_end(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)


def _elide_start(text: str, width: int) -> str:
    """Keep the end of a path: the file's name is there."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    while cell_len(text) > width - 1:
        text = text[1:]
    return set_cell_size("…" + text, width)
