"""`--context`: each result as `path:line`, what it is, and the lines that matched."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from aurora.display.paint import PLAIN, Paint
from aurora.display.past import is_prose
from aurora.display.reasons import commits_of
from aurora.display.snippet import render_snippet, snippet
from aurora.display.table import result_cells
from aurora.types import SearchResult, SearchResults


def render_blocks(
    answer: SearchResults,
    *,
    now: datetime,
    context: int,
    past: bool = True,
    paint: Paint = PLAIN,
) -> str:
    """A block for each result, with an empty line between two."""
    return "\n\n".join(
        "\n".join(_block(result, now=now, context=context, past=past, paint=paint))
        for result in answer.results
    )


def _block(
    result: SearchResult, *, now: datetime, context: int, past: bool, paint: Paint
) -> Iterator[str]:
    chunk = result.chunk
    lines = snippet(chunk, result.terms, context=context)
    matched = next((line.number for line in lines if line.spans and line.number), None)
    number = matched or (chunk.lines.start if chunk.lines else None)
    file, kind, name, _, score, _, modified = result_cells(result, now)
    where = f"{file}:{number}" if number else file
    told = [paint.place(where, chunk, number), kind, paint.name(name), score]
    if past:
        told += [commits_of(result) if not is_prose(result) else "", modified]
    yield " | ".join(word for word in told if word not in ("", "-"))
    yield from render_snippet(lines, paint)
