"""`--show-scores`: boxes with the reasons for a score, and snippets below them.

A box is as wide as the terminal, at most 120 cells; in a pipe 80 cells, or up to 120 for a long
title. Longer lines are wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from aurora.display.snippet import render_snippet, snippet
from aurora.display.table import (
    Look,
    cell_len,
    commits_of,
    file_cell,
    is_prose,
    keep_end,
    keep_start,
    kind_cell,
    lines_cell,
    modified_cell,
    name_cell,
    pad,
    relative_time,
    render_table,
    session_command,
    wrap,
)
from aurora.text import has_cjk, pluralize, printable, tokenize
from aurora.types import Contribution, SearchResult, SearchResults, Tracking

NO_PART = "took no part"
_SEMANTIC = ((0.9, "very high"), (0.8, "high"), (0.7, "moderate"), (-1.0, "low"))
# By the levels of signals/exact.py.
_NAMES = (
    (0.5, "the query is its name"),
    (0.3, "the query holds its name"),
    (0.2, "it contains a name of the query"),
    (0.0, "the query is its heading"),
)
_SAME = 5e-4  # a smaller difference is not shown
_WORD = re.compile(r"\w(?:.*\w)?")  # a typed word without the punctuation around it
_OTHERS = {
    "fulltext": "Text",
    "exact": "Name",
    "recency": "Recency",
    "rerank": "Rerank",
    "expansion": "Expansion",
    "lesson": "Lesson",
}


class Reason(NamedTuple):
    """One line below a score. A star marks an exact match of a query word."""

    label: str
    score: float
    text: str
    star: bool = False


def reasons(answer: SearchResults, result: SearchResult, *, now: datetime) -> list[Reason]:
    """BM25, semantic and activation in any case, then the other signals that took part."""
    others = (part for part in result.contributions if part.signal in _OTHERS)
    return [
        _bm25(answer, result),
        _semantic(answer, result),
        Reason("Activation", result.activation_score, _activation(answer, result, now)),
        *(Reason(_OTHERS[part.signal], part.normalised, _other(part)) for part in others),
    ]


def _other(part: Contribution) -> str:
    if part.signal == "exact":
        return next(text for least, text in _NAMES if part.raw > least)
    return {
        "rerank": f"place {part.rank} in the second look",
        "expansion": f"place {part.rank} by the words that were added",
        "lesson": "it fits the query: one of the first three places is for it",
        "recency": "an older note counts less",
        "fulltext": "found by the database's text search",
    }[part.signal]


def sum_of(result: SearchResult) -> str:
    """The contributions of the signals as a sum."""
    parts = [
        f"{'-' if part.value < 0 else '+'} {abs(part.value):.3f} {part.signal}"
        for part in result.contributions
        if round(part.value, 3)
    ]
    return " ".join(parts).removeprefix("+ ")


def _bm25(answer: SearchResults, result: SearchResult) -> Reason:
    score = result.bm25_score
    if "bm25" not in answer.signals:
        return Reason("BM25", score, NO_PART)
    if (word := verbatim(answer, result)) is not None:
        return Reason("BM25", score, f'exact keyword match on "{printable(word)}"', star=True)
    query_terms = set(tokenize(answer.words))
    if not result.terms:
        return Reason("BM25", score, "no term of the query")
    strong = 2 * len(query_terms.intersection(result.terms)) >= len(query_terms)
    return Reason("BM25", score, "strong term overlap" if strong else "partial match")


def verbatim(answer: SearchResults, result: SearchResult) -> str | None:
    """The longest word of the query that the chunk contains as typed, ignoring case."""
    chunk = result.chunk
    text = "\n".join((chunk.qualified_name, chunk.name, chunk.path, chunk.content))
    typed = (match[0] for match in map(_WORD.search, answer.words.split()) if match)
    terms, words, folded = set(result.terms), set(tokenize(text)), text.casefold()
    exact = (
        word
        for word in typed
        if not terms.isdisjoint(tokenize(word)) and _contains(folded, word, words)
    )
    return max(exact, key=len, default=None)


def _contains(text: str, word: str, words: set[str]) -> bool:
    """Whether a text contains a whole word: `get_cookie_name` does not contain `get_cookie`.

    CJK has no word borders.
    """
    folded = word.casefold()
    if has_cjk(folded):
        return folded in text
    if folded in words:
        return True
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", text) is not None


def _semantic(answer: SearchResults, result: SearchResult) -> Reason:
    score = result.semantic_score
    if "semantic" not in answer.signals:
        return Reason("Semantic", score, NO_PART)
    if not result.has_vector:
        return Reason("Semantic", score, "no vector yet: `aur mem index` makes it")
    # By the cosine: `rrf` and `staged` give the first place 1.0, however far it is.
    cosine = next((part.raw for part in result.contributions if part.signal == "semantic"), 0.0)
    level = next(level for least, level in _SEMANTIC if round(cosine, 3) >= least)
    also = "" if abs(cosine - score) < _SAME else f", cosine {cosine:.3f}"
    return Reason("Semantic", score, f"{level} conceptual relevance{also}")


def _activation(answer: SearchResults, result: SearchResult, now: datetime) -> str:
    """How often the chunk was opened and committed, and how long ago."""
    used = result.last_used
    words = [
        f"accessed {result.accesses}x",
        commits_of(result),
        f"last used {relative_time(now - used)}" if used else "never used",
        "" if "activation" in answer.signals else NO_PART,
    ]
    return ", ".join(filter(None, words))


_USUAL, _WIDEST, _NARROWEST = 80, 120, 36  # cells of a box
_TITLE_EDGES = len("┌─  ─┐")
_ROOM = 16  # cells: in less room, a reason starts on the next line


def render_boxes(answer: SearchResults, look: Look) -> str:
    """A box for each result, all of one width; with a context, a snippet below each box."""
    width = look.width
    if width is None:
        wanted = (cell_len(_title(result, look)) + _TITLE_EDGES for result in answer.results)
        width = max(_USUAL, *wanted)
    width = max(min(width, _WIDEST), _NARROWEST)
    lines: list[str] = []
    for result in answer.results:
        lines += [*_box(answer, result, look, width), *_snippet(result, look)]
    return "\n".join(lines)


def render_legacy_scores(answer: SearchResults, look: Look) -> str:
    """The table without git columns, with the reasons below each row."""
    table = render_table(answer.results, replace(look, past=False))
    head, rule, *rows = table.split("\n")
    lines = [head, rule]
    for row, result in zip(rows, answer.results, strict=True):
        tree = _tree(reasons(answer, result, now=look.now), width=look.width or _WIDEST)
        lines += [row, *tree, *_snippet(result, look)]
    return "\n".join(lines)


def _box(answer: SearchResults, result: SearchResult, look: Look, width: int) -> Iterator[str]:
    paint, now = look.paint, look.now
    inner = width - len("│  │")
    title = _title(result, look, at_most=width - _TITLE_EDGES)
    rest = "─" * (width - _TITLE_EDGES - cell_len(title))
    yield f"┌─ {paint.place(paint.name(title), result)} {rest}─┐"
    made_of = f" ({answer.fusion}: {total})" if (total := sum_of(result)) else ""
    body = [
        *wrap(f"Final Score: {result.score:.3f}{made_of}", inner),
        *_tree(reasons(answer, result, now=now), width=inner),
        *(wrap(text, inner) if look.past and (text := _past(result, now)) else ()),
        *(wrap(printable("; ".join(result.remarks)), inner) if result.remarks else ()),
        *(wrap(f"Open: {command}", inner) if (command := session_command(result)) else ()),
        *(
            wrap(f"Touched by {pluralize(result.sessions, 'session')}", inner)
            if result.sessions
            else ()
        ),
    ]
    yield from (f"│ {pad(line, inner)} │" for line in body)
    yield f"└{'─' * (width - 2)}┘"


def _snippet(result: SearchResult, look: Look) -> Iterator[str]:
    if look.context is not None:
        chunk, terms = result.chunk, result.terms
        lines = snippet(chunk, terms, context=look.context, symbol=result.symbol)
        yield from render_snippet(lines, look.paint)


def _title(result: SearchResult, look: Look, *, at_most: int | None = None) -> str:
    """`auth.py | function | login (Lines 45-67)`; a long path loses its beginning."""
    file, lines = file_cell(result, look), lines_cell(result)
    rest = f" | {kind_cell(result)} | {name_cell(result)}"
    rest += f" (Lines {lines})" if lines != "-" else ""
    if at_most is None:
        return file + rest
    room = max(at_most - cell_len(rest), 12)
    return keep_start(keep_end(file, room) + rest, at_most)


def _tree(parts: Sequence[Reason], *, width: int) -> Iterator[str]:
    """`├─ BM25: 0.950 ⭐ (…)`, the last one with `└─`; a long reason continues below."""
    longest = max(len(reason.label) for reason in parts) + 1
    for reason in parts:
        last = reason is parts[-1]
        label, star = f"{reason.label}:", "⭐" if reason.star else "  "
        line = f"  {'└─' if last else '├─'} {label:<{longest}} {reason.score:.3f} {star} "
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
    """The git line of code, or the date of prose."""
    modified, history = modified_cell(result, now), result.history
    if is_prose(result):
        return "" if modified == "-" else f"Date: {modified}"
    if history is None:
        return ""
    if history.tracking is not Tracking.TRACKED or not history.commits:
        return f"Git: {modified}"
    return f"Git: {commits_of(result)}, last modified {modified}"
