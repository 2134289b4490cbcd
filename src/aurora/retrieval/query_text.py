"""The words of a query, and what else is written between them.

    "exact phrase"          stands in the result; its words are searched for as well
    -word  -"some words"    does not stand in the result
    type:function,class     kinds; also `kind:`, and func, meth, reas, know
    path:src/**  name:get*  globs
    lang:python             also `language:`, and py, js, c++ and the like
    since:7d                whatever `parse_since` reads

A piece starts the text or follows a space, so `call("x")`, `a-b` and `http://` have none. A value
with spaces stands in double quotes; commas are between alternatives, and so is a filter given
twice (of several `since:` the latest counts). Typographic quotes “…” do as well. To search for
what looks like a filter, put it in quotes.

What does not read as one of these is plain words, never an error: `type:banana`, `type:`,
`std::vector`, `12:30`, `--flag`, `-x`, `-1`, `->`, a quote that nothing closes; nor are a glob of
more than 1,024 characters and what follows the first 64 values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from typing import NamedTuple, TypeVar

from aurora.globs import LONGEST_GLOB
from aurora.retrieval.since import parse_since
from aurora.text import has_cjk
from aurora.types import Criteria, Kind

_QUOTED = '"[^"]*+"|“[^“”]*+”'
_VALUE = rf'(?:{_QUOTED}|[^\s,"“”]++)'
# Nothing is tried twice (`*+` and `++` never give back), so any text takes linear time.
_PIECE = rf"""(?<!\S)(?:
        (?P<minus>-)?(?P<quoted>{_QUOTED})(?![\w"“”])
        | -(?P<word>[^\W\d_][^\s“”!-,/:-?\[-^`{{-~]*+)[,;:!?]*+(?!\S)  # of ASCII's signs: _ . @ -
        | (?P<key>[a-z]{{4,8}}):(?!:|//)(?P<values>{_VALUE}(?:,{_VALUE})*+),?(?!\S)
    )"""
_SIGNS = '"“-:'  # every piece has one of them
_ONE_VALUE = re.compile(_VALUE)
_HAS_WORD = re.compile(r"[^\W_]")
_LANGUAGE = re.compile(r"[a-z][\w+#.-]*", re.ASCII)

_KINDS = {kind.value: kind for kind in Kind} | {
    "func": Kind.FUNCTION,
    "meth": Kind.METHOD,
    "reas": Kind.REASONING,
    "know": Kind.KNOWLEDGE,
}
# What people call the languages that chunks have; every file suffix is one of them.
_SHORT_NAMES = {
    "bash": "sh shell", "cpp": "c++ cc cxx h hh hpp hxx", "csharp": "cs c#", "go": "golang",
    "ini": "cfg", "javascript": "js jsx mjs cjs", "kotlin": "kt kts", "markdown": "md",
    "python": "py pyi pyw python3", "restructuredtext": "rst", "ruby": "rb rake", "rust": "rs",
    "scala": "sc", "text": "txt", "typescript": "ts mts cts", "yaml": "yml",
}  # fmt: skip
_LANGUAGE_NAMES = {short: name for name, all_ in _SHORT_NAMES.items() for short in all_.split()}

MOST_FILTERS = 64  # values of one query; each may be a walk through all chunks
LONGEST_QUERY = 20_000  # characters that are read: some thousand words, answered in a second

T = TypeVar("T")


class ParsedQuery(NamedTuple):
    """What a query asks for. `words` is empty when it was filters alone: the caller decides."""

    words: str
    criteria: Criteria


def shortened(text: str) -> str:
    """Both ends of a text that no question is as long as: somebody pasted a file or a trace."""
    if len(text) <= LONGEST_QUERY:
        return text
    return f"{text[: LONGEST_QUERY // 2]} {text[-LONGEST_QUERY // 2 :]}"


def parse_query(text: str, *, now: datetime) -> ParsedQuery:
    """Read a query. Any text is one; if it only says what not to find, it is plain words."""
    if not any(sign in text for sign in _SIGNS):
        return ParsedQuery(text, Criteria())
    kept: list[str] = []
    found: list[Criteria] = []
    position = 0
    room = MOST_FILTERS
    for piece in _pattern().finditer(text):
        criteria = _read(piece, now)
        if criteria is not None and (room := room - _count(criteria)) >= 0:
            kept += (text[position : piece.start()], *criteria.phrases)
            found.append(criteria)
            position = piece.end()
    words = " ".join("".join([*kept, text[position:]]).split())
    criteria = _joined(found)
    only_without = criteria == Criteria(without=criteria.without)
    if not found or (only_without and not _HAS_WORD.search(words)):
        return ParsedQuery(text, Criteria())
    return ParsedQuery(words, criteria)


@cache
def _pattern() -> re.Pattern[str]:
    """Compiled for the first query that may need it: that takes 2 ms."""
    return re.compile(_PIECE, re.VERBOSE | re.IGNORECASE)


def language_named(name: str) -> str:
    """The language as chunks have it: `python` for `py`. One without a short name is itself."""
    return _LANGUAGE_NAMES.get(name.lower(), name.lower())


def _read(piece: re.Match[str], now: datetime) -> Criteria | None:
    if quoted := piece["quoted"]:
        phrase = _unquoted(quoted)
        if not _HAS_WORD.search(phrase):
            return None
        return Criteria(without=(phrase,)) if piece["minus"] else Criteria(phrases=(phrase,))
    if word := piece["word"]:
        word = word.rstrip(".-@")
        return Criteria(without=(word,)) if len(word) > 1 or has_cjk(word) else None
    read = _FILTERS.get(piece["key"].lower())
    values = [_unquoted(value) for value in _ONE_VALUE.findall(piece["values"])]
    return read(values, now) if read and all(values) else None


def _unquoted(value: str) -> str:
    """Without its quotes, and with one space where there were several."""
    return " ".join((value[1:-1] if value[0] in '"“' else value).split())


def _read_kinds(values: Sequence[str], _: datetime) -> Criteria | None:
    kinds = [_KINDS.get(value.lower()) for value in values]
    return Criteria(kinds=tuple(filter(None, kinds))) if all(kinds) else None


def _read_languages(values: Sequence[str], _: datetime) -> Criteria | None:
    languages = tuple(map(language_named, values))
    return Criteria(languages=languages) if all(map(_LANGUAGE.fullmatch, languages)) else None


def _read_since(values: Sequence[str], now: datetime) -> Criteria | None:
    since = parse_since(values[0], now=now) if len(values) == 1 else None
    return Criteria(since=since) if since else None


def _count(one: Criteria) -> int:
    return sum(map(len, (one.paths, one.names, one.languages, one.phrases, one.without)))


def _are_globs(values: Sequence[str]) -> bool:
    return max(map(len, values)) <= LONGEST_GLOB


_FILTERS: dict[str, Callable[[Sequence[str], datetime], Criteria | None]] = {
    "type": _read_kinds,
    "kind": _read_kinds,
    "path": lambda values, _: Criteria(paths=tuple(values)) if _are_globs(values) else None,
    "name": lambda values, _: Criteria(names=tuple(values)) if _are_globs(values) else None,
    "lang": _read_languages,
    "language": _read_languages,
    "since": _read_since,
}


def _joined(found: Sequence[Criteria]) -> Criteria:
    return Criteria(
        kinds=_once(one.kinds for one in found),
        paths=_once(one.paths for one in found),
        languages=_once(one.languages for one in found),
        names=_once(one.names for one in found),
        since=max((one.since for one in found if one.since), default=None),
        phrases=_once(one.phrases for one in found),
        without=_once(one.without for one in found),
    )


def _once(values: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    """All of them in order, each the first time."""
    return tuple(dict.fromkeys(chain.from_iterable(values)))
