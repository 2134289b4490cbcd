"""The questions of `aur eval --self`, drawn from a memory: what they ask, and which rows are right.

Names, descriptions and commit subjects have answers in the memory. Questions of another project
have none. The sample depends only on the memory and the history.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from aurora.sources.git import Change
from aurora.text import chunk_summary, document_terms, is_stop_word, stem, tokenize
from aurora.types import Chunk, Kind, SearchResult

DEFINITION = "definition"  # the name of a function, method or class
SYMBOL = "symbol"  # the name of a definition inside a chunk: a constant, a field …
SPELLING = "spelling"  # a definition's name in another spelling
DESCRIPTION = "description"  # the first sentence of a docstring or comment, without the name
COMMIT = "commit"  # the subject of a commit, for the files that it changed
FOREIGN = "foreign"  # a question of another project
# Share of all questions.
SHARES = {
    DEFINITION: 0.2, SYMBOL: 0.2, SPELLING: 0.1, DESCRIPTION: 0.2, COMMIT: 0.1, FOREIGN: 0.2,
}  # fmt: skip

_SEED = 20260101
_FOREIGN_FILE = Path(__file__).with_name("foreign_questions.txt")
_DEFINED = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
_PIECE = re.compile(r"@\d+$")
_IDENTIFIER = re.compile(r"(?!__)[^\W\d]\w{2,}")
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_MARKER = re.compile(r"^[ \t]*(?:/\*+|\*+/?|//+!?|#+|--)?[ \t]*", re.MULTILINE)
_SENTENCE = re.compile(r"(.+?)(?:[.:;!?](?=\s|\Z)|\n\s*\n|\Z)", re.DOTALL)
_TAG = re.compile(r"^[@:\\].*", re.MULTILINE)  # @author, :param:
_TEST = re.compile(r"(?:^|[/_.])(?:tests?|specs?|__tests__)[/_.]|Tests?\.\w+$")
_TICKET = re.compile(r"\s*\(?(?:gh-)?#\d+\)?", re.IGNORECASE)
_MOST_PLACES = 5  # definitions of a name: a name with more is not asked
_MOST_FILES = 5  # a commit that changes more is about no place
_LEAST_WORDS = 5  # of a description without the name and stop words
_LEAST_SUBJECT = 4  # words of a commit subject


class Place(NamedTuple):
    """A line of a file; line 0 is the whole file."""

    path: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class SelfQuestion:
    """A question, and what a right row has. Without places, every row is wrong."""

    kind: str
    text: str
    places: tuple[Place, ...] = ()  # any of them
    name: str = ""  # the row's own name
    contains: str = ""  # in the row's text, or the name of its symbol

    def is_answered_by(self, row: SearchResult) -> bool:
        """True for a row at one of the places, with the name and the text."""
        return (
            self.name in ("", row.name)
            and (self.contains in row.content or _names(row, self.contains))
            and any(_is_at(row, place) for place in self.places)
        )


def _names(row: SearchResult, name: str) -> bool:
    """True for a symbol of that name; the text of its chunk may be an outline without it."""
    return row.symbol is not None and row.symbol.name == name


def _is_at(row: SearchResult, place: Place) -> bool:
    if row.chunk.path != place.path:
        return False
    return not place.line or (
        row.lines is not None and row.lines.start <= place.line <= row.lines.end
    )


def draw_questions(
    chunks: Sequence[Chunk], changes: Sequence[Change], most: int
) -> list[SelfQuestion]:
    """A fixed sample of at most so many questions, every kind with its share."""
    definitions = _definitions(chunks)
    drawn = {
        DEFINITION: _by_name(definitions, DEFINITION),
        SYMBOL: _by_name(definitions, SYMBOL),
        SPELLING: _shuffled(_spellings(definitions)),
        DESCRIPTION: _shuffled(_descriptions(chunks)),
        COMMIT: _shuffled(_commits(changes, {chunk.path for chunk in chunks})),
        FOREIGN: _shuffled(_foreign(chunks)),
    }
    return [
        question
        for kind, questions in drawn.items()
        for question in questions[: max(1, round(SHARES[kind] * most))]
    ][:most]


# --- Names ---


@dataclass(slots=True)
class _Named:
    """The definitions of one name."""

    kind: str  # of the first of them: function, constant …
    is_chunk: bool
    places: dict[Place, None]


def _definitions(chunks: Iterable[Chunk]) -> Mapping[str, _Named]:
    """The names with few definitions. Of a long definition only its first piece counts."""
    named: dict[str, _Named] = {}
    for chunk in chunks:
        if chunk.kind in _DEFINED and chunk.lines and not _PIECE.search(chunk.id):
            entry = named.setdefault(chunk.name, _Named(chunk.kind, True, {}))
            entry.is_chunk = True
            entry.places[Place(chunk.path, chunk.lines.start)] = None
        for symbol in chunk.symbols:
            entry = named.setdefault(symbol.name, _Named(symbol.kind, False, {}))
            entry.places[Place(chunk.path, symbol.lines.start)] = None
    return {
        name: entry
        for name, entry in named.items()
        if _IDENTIFIER.fullmatch(name) and len(entry.places) <= _MOST_PLACES
    }


def _by_name(definitions: Mapping[str, _Named], kind: str) -> list[SelfQuestion]:
    """The names of chunks or of symbols, kinds in turn."""
    by_kind: dict[str, list[SelfQuestion]] = defaultdict(list)
    for name, entry in definitions.items():
        if entry.is_chunk == (kind == DEFINITION):
            by_kind[entry.kind].append(_name_question(kind, name, name, entry))
    turns = zip_longest(*(_shuffled(by_kind[key]) for key in sorted(by_kind)))
    return [question for turn in turns for question in turn if question]


def _name_question(kind: str, text: str, name: str, entry: _Named) -> SelfQuestion:
    own = name if entry.is_chunk else ""  # a symbol may be shown by the chunk around it
    return SelfQuestion(kind, text, tuple(entry.places), name=own, contains=name)


def _spellings(definitions: Mapping[str, _Named]) -> Iterator[SelfQuestion]:
    """`getUser` for `get_user` and the reverse, unless that is another definition's name."""
    folded = Counter(_folded(name) for name in definitions)
    for name, entry in definitions.items():
        words = [word.lower() for word in _WORD.findall(name)]
        other = "_".join(words)
        if "_" in name.strip("_"):
            other = words[0] + "".join(word.capitalize() for word in words[1:]) if words else ""
        if entry.is_chunk and len(words) > 1 and other != name and folded[_folded(name)] == 1:
            yield _name_question(SPELLING, other, name, entry)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


# --- Descriptions and commits ---


def _descriptions(chunks: Iterable[Chunk]) -> Iterator[SelfQuestion]:
    """First sentences that only one chunk has, without the words of its name.

    Not of tests: what a test describes is the code that it tests, and that comes first.
    """
    by_text: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.kind in _DEFINED and chunk.lines and not _PIECE.search(chunk.id):
            by_text[describe(chunk)].append(chunk)
    for text, same in by_text.items():
        lines = same[0].lines
        is_asked = len(same) == 1 and not _TEST.search(same[0].path)
        if is_asked and lines and _count_words(text) >= _LEAST_WORDS:
            place = Place(same[0].path, lines.start)
            yield SelfQuestion(DESCRIPTION, text, (place,), name=same[0].name)


def describe(chunk: Chunk) -> str:
    """The first sentence of a docstring or comment, without the words of the chunk's name."""
    text = _TAG.sub("", _MARKER.sub("", chunk_summary(chunk))).strip()
    sentence = _SENTENCE.match(text)
    own = {stem(word) for word in tokenize(chunk.name)}
    words = sentence[1].split() if sentence else []
    return " ".join(word for word in words if own.isdisjoint(map(stem, tokenize(word))))


def _count_words(text: str) -> int:
    return sum(not is_stop_word(word.lower()) for word in text.split())


def _commits(changes: Iterable[Change], paths: set[str]) -> Iterator[SelfQuestion]:
    """Subjects of commits that changed a few files, at least one of which the memory has."""
    for change in changes:
        subject = _TICKET.sub("", change.subject).strip()
        places = tuple(Place(path) for path in change.paths if path in paths)
        few = len(change.paths) <= _MOST_FILES
        if few and places and len(subject.split()) >= _LEAST_SUBJECT:
            yield SelfQuestion(COMMIT, subject, places)


# --- Questions of another project ---


def _foreign(chunks: Iterable[Chunk]) -> Iterator[SelfQuestion]:
    """The bundled questions with a word that this memory does not have."""
    questions = _FOREIGN_FILE.read_text(encoding="utf-8").splitlines()
    content = {text: _content_words(text) for text in questions}
    unseen = set().union(*content.values())
    for chunk in chunks:
        unseen.difference_update(document_terms(f"{chunk.name}\n{chunk.content}"))
    for text, words in content.items():
        if words & unseen:
            yield SelfQuestion(FOREIGN, text)


def _content_words(text: str) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return {stem(word) for word in words if not is_stop_word(word)}


def _shuffled(questions: Iterable[SelfQuestion]) -> list[SelfQuestion]:
    ordered = sorted(questions, key=lambda question: (question.text, question.places))
    random.Random(_SEED).shuffle(ordered)  # noqa: S311 - not for secrets
    return ordered
