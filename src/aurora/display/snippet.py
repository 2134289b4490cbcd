"""The lines of a chunk that match a query best, with the matching words marked.

Words match by the rules of the search: `getUserData` marks `user` in `user_manager`, and `parsing`
marks `parsed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aurora.display.table import Paint
from aurora.text import document_terms, has_cjk, printable, stem, tokenize, words_found
from aurora.types import Chunk

_WORD = re.compile(r"\w+")
_JOINERS = "\u200c\u200d"  # of Persian words and of emoji
_LONGEST, _BEFORE = 300, 100  # characters shown of a line, and before its first match


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a snippet, its line number in the file if known, and where words match."""

    text: str
    number: int | None
    spans: tuple[tuple[int, int], ...]


def snippet(chunk: Chunk, terms: Sequence[str], *, context: int) -> list[Line]:
    """The line with the most terms, with `context` lines before and after it."""
    texts = [printable(text.expandtabs(4), keep=_JOINERS) for text in chunk.content.splitlines()]
    wanted = {term: stem(term) for term in terms}
    scores = [len(words_found(wanted, set(document_terms(text)))) for text in texts]
    best = scores.index(max(scores)) if scores else 0
    first = max(best - context, 0)
    numbers = _numbers(chunk, len(texts))
    return [
        _line(text, numbers + at if numbers else None, wanted)
        for at, text in enumerate(texts[first : best + context + 1], start=first)
    ]


def _line(text: str, number: int | None, terms: Mapping[str, str]) -> Line:
    """A line with its matches; a very long line is cut around its first match."""
    spans = tuple(_spans(text, terms))
    if len(text) > _LONGEST:
        start = max(spans[0][0] - _BEFORE, 0) if spans else 0
        part = text[start : start + _LONGEST]
        text = f"{'…' if start else ''}{part}{'…' if start + _LONGEST < len(text) else ''}"
        spans = tuple(_spans(text, terms))
    return Line(text, number, spans)


def render_snippet(lines: Sequence[Line], paint: Paint) -> Iterator[str]:
    """Lines as grep prints them: `45:` before a matching line, `46-` before any other.

    Without line numbers, `>` marks a matching line.
    """
    width = max((len(str(line.number)) for line in lines), default=0)
    for line in lines:
        if line.number:
            sign = f"{line.number:>{width}}{':' if line.spans else '-'}"
        else:
            sign = ">" if line.spans else " "
        yield f"  {paint.faint(sign)} {_marked(line, paint)}".rstrip()


def _numbers(chunk: Chunk, count: int) -> int | None:
    """The number of the first line; None if the content is not the file's lines one by one.

    A class, for example, is stored without the bodies of its methods.
    """
    lines = chunk.lines
    return lines.start if lines and lines.end - lines.start + 1 == count else None


def _marked(line: Line, paint: Paint) -> str:
    pieces, at = [], 0
    for start, end in line.spans:
        pieces += [line.text[at:start], paint.match(line.text[start:end])]
        at = end
    return "".join([*pieces, line.text[at:]])


def _spans(text: str, terms: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """The places of the terms, in order and without overlaps."""
    end = 0
    for word in _WORD.finditer(text):
        for start, stop in sorted(_within(word[0], terms)):
            begin = max(word.start() + start, end)
            if word.start() + stop > begin:
                end = word.start() + stop
                yield begin, end


def _within(word: str, terms: Mapping[str, str]) -> list[tuple[int, int]]:
    """The whole word, or its parts that are terms or have the stem of a term."""
    tokens = [token for token in tokenize(word) if words_found(terms, {token, stem(token)})]
    folded = word.casefold()
    if not tokens:
        return []
    if folded in tokens or (len(folded) != len(word) and not has_cjk(word)):
        return [(0, len(word))]
    parts = [
        (match.start(), match.end())
        for token in tokens
        for match in re.finditer(re.escape(token), folded)
    ]
    return parts or [(0, len(word))]
