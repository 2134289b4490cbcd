"""The lines of a chunk that match a query best, with the matching words marked.

Words match by the rules of the search: `getUserData` marks `user` in `user_manager`, and `parsing`
marks `parsed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from aurora.display.table import Paint, cell_len, keep_start
from aurora.quick_classes import dataclass
from aurora.text import (
    document_terms,
    has_cjk,
    is_stop_word,
    printable,
    stem,
    tokenize,
    words_found,
)
from aurora.types import Chunk, SearchResult, Symbol

_WORD = re.compile(r"\w+")
_JOINERS = "\u200c\u200d"  # of Persian words and of emoji
_GAP = " ..."  # at the end of a line of an outline
_LONGEST, _BEFORE = 300, 100  # characters shown of a line, and before its first match


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a snippet, its line number in the file if known, and where words match."""

    text: str
    number: int | None
    spans: tuple[tuple[int, int], ...]


def snippet(
    chunk: Chunk, terms: Sequence[str], *, context: int, symbol: Symbol | None = None
) -> list[Line]:
    """The line with the most terms, or that of the symbol, with `context` lines around it."""
    lines = _Lines(chunk, terms)
    own = lines.of(symbol) if symbol else range(0)
    best = own.start if own else lines.best()
    around = range(max(best - context, 0), min(best + context + 1, len(lines.texts)))
    return [lines.line(at) for at in around]


def matching_lines(result: SearchResult, *, most: int) -> list[Line]:
    """The lines to show of a result, in the order of the text: of a symbol its own, otherwise
    those that have the most terms together; without any term the first."""
    lines = _Lines(result.chunk, result.terms)
    own = lines.of(result.symbol) if result.symbol else range(0)
    chosen = own[:most] if own else lines.covering(most)
    return [lines.line(at) for at in chosen]


def numbered_lines(result: SearchResult) -> tuple[list[Line], list[int]]:
    """All lines of a result without marked words, and the indexes of the matching ones: of a symbol
    its own, otherwise the fewest that have all terms, the best first."""
    lines = _Lines(result.chunk, result.terms)
    own = lines.of(result.symbol) if result.symbol else range(0)
    best = sorted(lines.covering(len(lines.texts)), key=lines.count, reverse=True)
    numbers = lines.numbers
    texts = [text[:_LONGEST] + "…" * (len(text) > _LONGEST) for text in lines.texts]
    return [Line(text, numbers.get(at), ()) for at, text in enumerate(texts)], list(own) or best


class _Lines:
    """The lines of a chunk as they are shown, with the terms in each."""

    def __init__(self, chunk: Chunk, terms: Sequence[str]) -> None:
        shown = (text.expandtabs(4) for text in _stored_lines(chunk))
        self.texts = [printable(text, keep=_JOINERS) for text in shown]
        telling = [term for term in terms if not is_stop_word(term)] or terms
        self._wanted = {term: stem(term) for term in telling}
        self._terms = [words_found(self._wanted, set(document_terms(text))) for text in self.texts]
        self.numbers = _numbers(chunk, self.texts)

    def best(self) -> int:
        """The first line with the most terms."""
        return max(range(len(self.texts)), key=self.count, default=0)

    def count(self, at: int) -> int:
        """How many terms are in a line."""
        return len(self._terms[at])

    def covering(self, most: int) -> list[int]:
        """The fewest lines that have all terms of the chunk, found greedily."""
        chosen, missing = [self.best()] if self.texts else [], set[str]().union(*self._terms)
        while chosen:
            missing.difference_update(self._terms[chosen[-1]])
            rest = max(self._terms, key=lambda terms: len(missing.intersection(terms)))
            if len(chosen) == most or missing.isdisjoint(rest):
                break
            chosen.append(self._terms.index(rest))
        return sorted(chosen)

    def of(self, symbol: Symbol) -> range:
        """The lines of a symbol. In an outline it is found by its name."""
        start, end = symbol.lines
        own = [at for at, number in self.numbers.items() if start <= number <= end]
        if not own:
            name = re.compile(rf"(?<!\w){re.escape(symbol.name)}(?!\w)")
            own = [at for at, text in enumerate(self.texts) if name.search(text)][:1]
            self.numbers |= dict.fromkeys(own, start)
        return range(own[0], own[-1] + 1) if own else range(0)

    def line(self, at: int) -> Line:
        return _line(self.texts[at], self.numbers.get(at), self._wanted)


def _line(text: str, number: int | None, terms: Mapping[str, str]) -> Line:
    """A line with its matches; a very long line is cut around its first match."""
    spans = tuple(_spans(text, terms))
    if len(text) > _LONGEST:
        start = max(spans[0][0] - _BEFORE, 0) if spans else 0
        part = text[start : start + _LONGEST]
        text = f"{'…' if start else ''}{part}{'…' if start + _LONGEST < len(text) else ''}"
        spans = tuple(_spans(text, terms))
    return Line(text, number, spans)


def render_snippet(lines: Sequence[Line], paint: Paint, width: int | None = None) -> Iterator[str]:
    """Lines as grep prints them: `45:` before a matching line, `46-` before any other.

    Without line numbers, `>` marks a matching line. Lines are cut to a `width`, if one is given.
    """
    digits = max((len(str(line.number)) for line in lines if line.number), default=0)
    for line in lines:
        if line.number:
            sign = f"{line.number:>{digits}}{':' if line.spans else '-'}"
        else:
            sign = ">" if line.spans else " "
        shown = line if width is None else _cut(line, width - len(f"  {sign} "))
        yield f"  {paint.faint(sign)} {_marked(shown, paint)}".rstrip()


def _cut(line: Line, width: int) -> Line:
    if cell_len(line.text) <= width:
        return line
    text = keep_start(line.text, max(width, 1))
    spans = ((start, min(end, len(text) - 1)) for start, end in line.spans)
    return Line(text, line.number, tuple((start, end) for start, end in spans if start < end))


def _stored_lines(chunk: Chunk) -> list[str]:
    """The lines of a chunk. A piece of code may end with the indentation of the next piece."""
    texts = chunk.content.splitlines()
    height = chunk.lines.end - chunk.lines.start + 1 if chunk.lines else len(texts)
    has_rest = len(texts) == height + 1 and not texts[-1].strip()
    return texts[:-1] if has_rest else texts


def _numbers(chunk: Chunk, texts: Sequence[str]) -> dict[int, int]:
    """The line numbers by index, as far as they are known.

    A class, for example, is stored without the bodies of its methods: an ellipsis at the end of a
    line stands for each. Of code between definitions, a line of its own stands for each definition.
    Only the lines before the first of them and after the last are known.
    """
    lines, count = chunk.lines, len(texts)
    if lines is None:
        return {}
    hidden = lines.end - lines.start + 1 - count
    if not hidden:
        return {at: lines.start + at for at in range(count)}
    gaps = [at for at, text in enumerate(texts) if f" {text}".endswith(_GAP)]
    if hidden < 0 or not gaps:
        return {}
    own = gaps[0] + (texts[gaps[0]] != _GAP.strip())  # lines before what is hidden
    before = {at: lines.start + at for at in range(own)}
    return before | {at: lines.start + at + hidden for at in range(gaps[-1] + 1, count)}


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
