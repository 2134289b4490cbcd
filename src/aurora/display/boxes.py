"""`--show-scores`: a box for each result with what its score is made of (seed 000, FR-6.1 and 6.3).

A box is as wide as the terminal, 120 cells at the most; in a pipe 80, and up to 120 where a title
needs it. What does not fit in a line goes on below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from aurora.display.cells import cell_len, keep_end, keep_start, pad, wrap
from aurora.display.paint import PLAIN, Paint
from aurora.display.past import is_prose, modified_cell
from aurora.display.reasons import Reason, commits_of, reasons, sum_of
from aurora.display.snippet import render_snippet, snippet
from aurora.display.table import result_cells, table_lines
from aurora.types import SearchResult, SearchResults, Tracking

_USUAL, _WIDEST, _NARROWEST = 80, 120, 36  # cells of a box
_TITLE_EDGES = len("┌─  ─┐")
_ROOM = 16  # cells below which a reason stands in a line of its own


def render_boxes(
    answer: SearchResults,
    *,
    now: datetime,
    width: int | None = None,
    past: bool = True,
    context: int | None = None,
    paint: Paint = PLAIN,
) -> str:
    """One box below the other, all of one width; below each its snippet, with a `context`."""
    if width is None:
        wanted = (cell_len(_title(result, now)) + _TITLE_EDGES for result in answer.results)
        width = max(_USUAL, *wanted)
    width = max(min(width, _WIDEST), _NARROWEST)
    lines: list[str] = []
    for result in answer.results:
        lines += _box(answer, result, now=now, width=width, past=past, paint=paint)
        lines += _snippet(result, context, paint)
    return "\n".join(lines)


def render_legacy_scores(
    answer: SearchResults,
    *,
    now: datetime,
    width: int | None = None,
    context: int | None = None,
    paint: Paint = PLAIN,
) -> str:
    """FR-6.5: the table of FR-5.5, and below each of its rows what the score is made of."""
    head, rule, *rows = table_lines(answer.results, now=now, width=width, past=False, paint=paint)
    lines = [head, rule]
    for row, result in zip(rows, answer.results, strict=True):
        found = reasons(answer, result, now=now)
        lines += [row, *_tree(found, width=width or _WIDEST), *_snippet(result, context, paint)]
    return "\n".join(lines)


def _box(
    answer: SearchResults,
    result: SearchResult,
    *,
    now: datetime,
    width: int,
    past: bool,
    paint: Paint,
) -> Iterator[str]:
    inner = width - len("│  │")
    title = _title(result, now, at_most=width - _TITLE_EDGES)
    rest = "─" * (width - _TITLE_EDGES - cell_len(title))
    yield f"┌─ {paint.place(paint.name(title), result.chunk)} {rest}─┐"
    made_of = f" ({answer.fusion}: {total})" if (total := sum_of(result)) else ""
    body = [
        *wrap(f"Final Score: {result.score:.3f}{made_of}", inner),
        *_tree(reasons(answer, result, now=now), width=inner),
        *(wrap(told, inner) if past and (told := _past(result, now)) else ()),
    ]
    yield from (f"│ {pad(line, inner)} │" for line in body)
    yield f"└{'─' * (width - 2)}┘"


def _snippet(result: SearchResult, context: int | None, paint: Paint) -> Iterator[str]:
    if context is not None:
        yield from render_snippet(snippet(result.chunk, result.terms, context=context), paint)


def _title(result: SearchResult, now: datetime, *, at_most: int | None = None) -> str:
    """`auth.py | function | login (Lines 45-67)`; when it is too long, the path loses its start."""
    file, kind, name, lines, *_ = result_cells(result, now)
    rest = f" | {kind} | {name}" + (f" (Lines {lines})" if lines != "-" else "")
    if at_most is None:
        return file + rest
    room = max(at_most - cell_len(rest), 12)
    return keep_start(keep_end(file, room) + rest, at_most)


def _tree(found: Sequence[Reason], *, width: int) -> Iterator[str]:
    """`├─ BM25: 0.950 ⭐ (…)`, the last one with `└─`; a long reason goes on below."""
    longest = max(len(reason.label) for reason in found) + 1
    for reason in found:
        last = reason is found[-1]
        score = (
            f"{reason.label + ':':<{longest}} {reason.score:.3f} {'⭐' if reason.star else '  '}"
        )
        line = f"  {'└─' if last else '├─'} {score} "
        below = f"  {' ' if last else '│'}"
        room = width - cell_len(line)
        if room >= _ROOM:
            first, *more = wrap(f"({reason.text})", room)
            yield line + first
            yield from (pad(below, cell_len(line)) + words for words in more)
        else:
            yield line.rstrip()
            yield from (f"{below}    {words}" for words in wrap(f"({reason.text})", width - 7))


def _past(result: SearchResult, now: datetime) -> str:
    """What git knows of code; the date of what is no code."""
    modified, history = modified_cell(result, now), result.history
    if is_prose(result):
        return "" if modified == "-" else f"Date: {modified}"
    if history is None:
        return ""
    if history.tracking is not Tracking.TRACKED or not history.commits:
        return f"Git: {modified}"
    return f"Git: {commits_of(result)}, last modified {modified}"
