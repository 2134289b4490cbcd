"""Search results as a table that never hides what matters.

When the terminal is too narrow, paths lose their beginning and names their end; type, lines and
score stay whole. In a pipe nothing is cut. Widths are of cells, so that CJK columns stay aligned.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from aurora.text import printable
from aurora.types import Chunk, Kind, SearchResult

_HEADERS = ("File", "Type", "Name", "Lines", "Score")
_FILE, _NAME = 0, 2
_SEPARATOR = " | "
_NARROWEST = 12  # cells a path or name keeps however narrow the terminal
_ABBREVIATIONS = {Kind.REASONING: "reas", Kind.KNOWLEDGE: "know"}  # seed 000, FR-5.2


def render_table(results: Sequence[SearchResult], *, width: int | None = None) -> str:
    """Lines of a table at most `width` cells wide; as wide as needed without a width."""
    rows = [_HEADERS, *map(_cells, results)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    if width is not None:
        widths = _fit(widths, width)
    lines = [_line(row, widths) for row in rows]
    rule = "-+-".join("-" * column for column in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(result: SearchResult) -> tuple[str, ...]:
    chunk = result.chunk
    return (
        printable(chunk.path or chunk.id),
        _ABBREVIATIONS.get(chunk.kind, str(chunk.kind)),
        printable(_name(chunk)),
        f"{chunk.lines.start}-{chunk.lines.end}" if chunk.lines else "-",
        f"{result.score:.3f}",
    )


def _name(chunk: Chunk) -> str:
    """What follows the path in the id, so that FILE:NAME of a row is what `aur mem get` takes."""
    name = chunk.id.removeprefix(f"{chunk.path}:")
    return name if name != chunk.id else chunk.qualified_name or chunk.name


def _fit(widths: list[int], width: int) -> list[int]:
    """Take what is too much from the file column and the name column, the wider one first."""
    widths = list(widths)
    excess = sum(widths) + len(_SEPARATOR) * (len(widths) - 1) - width
    while excess > 0:
        wider = max((_FILE, _NAME), key=widths.__getitem__)
        if widths[wider] <= _NARROWEST:
            break
        widths[wider] -= 1
        excess -= 1
    return widths


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        _elide_start(text, width) if column == _FILE else _elide_end(text, width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
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
