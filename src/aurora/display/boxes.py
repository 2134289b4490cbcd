"""`--show-scores`: a box for each result with what its score is made of (seed 000, FR-6.1 and 6.3).

A box is as wide as the terminal, 120 cells at the most; in a pipe 80, and up to 120 where a title
needs it. What does not fit in a line goes on below it.

Why a result has its score, in the words of seed 000, FR-6.2 to 6.4.

`--context`: each result as `path:line`, what it is, and the lines that matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from aurora.display.snippet import render_snippet, snippet
from aurora.display.table import (
    PLAIN,
    Paint,
    cell_len,
    is_prose,
    keep_end,
    keep_start,
    modified_cell,
    pad,
    relative_time,
    result_cells,
    table_lines,
    wrap,
)
from aurora.text import has_cjk, pluralize, printable, tokenize
from aurora.types import Contribution, SearchResult, SearchResults, Tracking

NO_PART = "took no part"
_SEMANTIC = ((0.9, "very high"), (0.8, "high"), (0.7, "moderate"))  # FR-6.3; below, low
_WORD = re.compile(r"\w(?:.*\w)?")  # a word as typed, without what surrounds it
_OTHERS = {
    "fulltext": "Text",
    "exact": "Name",
    "recency": "Recency",
    "rerank": "Rerank",
    "expansion": "Expansion",
}


class Reason(NamedTuple):
    """One line below a score. A star marks a word of the query that is there to the letter."""

    label: str
    score: float
    text: str
    star: bool = False


def reasons(answer: SearchResults, result: SearchResult, *, now: datetime) -> list[Reason]:
    """The three of FR-6.1, whether they took part or not, then any other signal that did."""
    others = (part for part in result.contributions if part.signal in _OTHERS)
    return [
        _bm25(answer, result),
        _semantic(answer, result),
        Reason("Activation", result.activation_score, _activation(answer, result, now)),
        *(Reason(_OTHERS[part.signal], part.normalised, _other(part)) for part in others),
    ]


def _other(part: Contribution) -> str:
    match part.signal:
        case "exact":
            return "the query is its name" if part.raw >= 0.5 else "the query holds its name"
        case "rerank":
            return f"place {part.rank} in the second look"
        case "expansion":
            return f"place {part.rank} by the words that were added"
        case "recency":
            return "an older note counts less"
        case _:
            return "found by the database's text search"


def sum_of(result: SearchResult) -> str:
    """What the signals gave, as the sum that the score is."""
    parts = [
        f"{'-' if part.value < 0 else '+'} {abs(part.value):.3f} {part.signal}"
        for part in result.contributions
        if round(part.value, 3)
    ]
    return " ".join(parts).removeprefix("+ ")


def _bm25(answer: SearchResults, result: SearchResult) -> Reason:
    """FR-6.2: to the letter, at least half of the terms, or fewer."""
    score = result.bm25_score
    if "bm25" not in answer.signals:
        return Reason("BM25", score, NO_PART)
    if (word := verbatim(answer, result)) is not None:
        return Reason("BM25", score, f'exact keyword match on "{printable(word)}"', star=True)
    asked = set(tokenize(answer.words))
    if not result.terms:
        return Reason("BM25", score, "no term of the query")
    strong = 2 * len(asked.intersection(result.terms)) >= len(asked)
    return Reason("BM25", score, "strong term overlap" if strong else "partial match")


def verbatim(answer: SearchResults, result: SearchResult) -> str | None:
    """The longest word of the query that stands in the chunk as it was typed, in any case."""
    chunk = result.chunk
    text = "\n".join((chunk.qualified_name, chunk.name, chunk.path, chunk.content))
    typed = (match[0] for match in map(_WORD.search, answer.words.split()) if match)
    terms, words, folded = set(result.terms), set(tokenize(text)), text.casefold()
    there = [word for word in typed if _matched(word, terms) and _stands_in(folded, word, words)]
    return max(there, key=len, default=None)


def _matched(word: str, terms: set[str]) -> bool:
    return not terms.isdisjoint(tokenize(word))


def _stands_in(text: str, word: str, words: set[str]) -> bool:
    """As a word, or between the edges of words: `get_cookie` is none of `get_cookie_name`.

    CJK has no such edges.
    """
    folded = word.casefold()
    if has_cjk(folded):
        return folded in text
    if folded in words:
        return True
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None


def _semantic(answer: SearchResults, result: SearchResult) -> Reason:
    """FR-6.3, by the score as it is shown."""
    score = result.semantic_score
    if "semantic" not in answer.signals:
        return Reason("Semantic", score, NO_PART)
    return Reason("Semantic", score, f"{_level(score)} conceptual relevance")


def _level(score: float) -> str:
    return next((word for least, word in _SEMANTIC if round(score, 3) >= least), "low")


def _activation(answer: SearchResults, result: SearchResult, now: datetime) -> str:
    """FR-6.4: how often it was opened and committed, and how long ago that was."""
    used = result.last_used
    words = [
        f"accessed {result.accesses}x",
        commits_of(result),
        f"last used {relative_time(now - used)}" if used else "never used",
        "" if "activation" in answer.signals else NO_PART,
    ]
    return ", ".join(filter(None, words))


def commits_of(result: SearchResult) -> str:
    """`23 commits`; nothing where git knows none."""
    count = len(result.history.commits) if result.history else 0
    return pluralize(count, "commit") if count else ""


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
