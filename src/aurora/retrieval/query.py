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

From "since when" to a moment: dates as ISO 8601 writes them, and ages as people say them.

Filters as people and agents write them, checked: unlike those inside a query, a wrong one is an
error that names what there is (FR-7.3).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import NamedTuple, TypeVar

from aurora.errors import QueryError
from aurora.globs import LONGEST_GLOB
from aurora.text import has_cjk
from aurora.types import Criteria, Kind, Mode, Rerank

_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?", re.ASCII)
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d(?:[t ][\d:.,]+(?: ?(?:z|[+-][\d:]+))?)?", re.ASCII)
_AGE = re.compile(r"(?:last |(?P<count>\d{1,6}) ?)(?P<unit>[a-z]+)(?(count)(?: ago)?)", re.ASCII)

_SPANS = {
    **dict.fromkeys(("min", "mins", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), timedelta(weeks=1)),
}
_MONTHS = {
    **dict.fromkeys(("m", "mo", "mon", "month", "months"), 1),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 12),
}


def parse_since(text: str, *, now: datetime) -> datetime | None:
    """The moment meant, in UTC; nothing when the text is no date or age, or before all calendars.

    `2026`, `2026-01` and `2026-01-31` are their first moment, `today` and `yesterday` midnight
    where `now` is; `7d`, `3 months ago` and `last week` count back from `now`. `m` is a month. What
    has no zone is UTC.
    """
    words = " ".join(text.lower().split())
    here = now if now.tzinfo else now.replace(tzinfo=UTC)
    try:
        found = _named_day(words, here) or _date(words) or _age(words, here)
        return found.astimezone(UTC) if found else None
    except (ValueError, OverflowError):  # a day that no calendar has, or that is too far away
        return None


def _named_day(words: str, now: datetime) -> datetime | None:
    days = {"today": 0, "yesterday": 1}.get(words)
    if days is None:
        return None
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def _date(words: str) -> datetime | None:
    if month := _MONTH.fullmatch(words):
        return datetime(int(month[1]), int(month[2] or 1), 1, tzinfo=UTC)
    if not _DAY.fullmatch(words):
        return None
    day = datetime.fromisoformat(words.upper().replace(" ", "T", 1).replace(" ", ""))
    return day if day.tzinfo else day.replace(tzinfo=UTC)


def _age(words: str, now: datetime) -> datetime | None:
    age = _AGE.fullmatch(words)
    if age is None:
        return None
    count, unit = int(age["count"] or 1), age["unit"]
    if span := _SPANS.get(unit):
        return now.astimezone(UTC) - count * span
    if months := _MONTHS.get(unit):
        return _months_before(now, count * months)
    return None


def _months_before(moment: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last: a month before March 31 is February 28."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


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


Choice = TypeVar("Choice", bound=StrEnum)

KINDS = ", ".join(Kind)


def read_criteria(
    *,
    now: datetime,
    types: Iterable[str] = (),
    paths: Iterable[str] = (),
    languages: Iterable[str] = (),
    names: Iterable[str] = (),
    namespaces: Iterable[str] = (),
    document_types: Iterable[str] = (),
    metadata: Mapping[str, str] | None = None,
    since: str | datetime | None = None,
) -> Criteria:
    """Each of `types` and `languages` may be a list with commas."""
    return Criteria(
        kinds=read_kinds(types),
        paths=_read_globs(paths),
        languages=tuple(map(language_named, _items(languages))),
        names=_read_globs(names),
        namespaces=tuple(namespaces),
        document_types=tuple(document_types),
        metadata=tuple(sorted((metadata or {}).items())),
        since=_read_since_flag(since, now) if isinstance(since, str) else since,
    )


def _read_globs(globs: Iterable[str]) -> tuple[str, ...]:
    """Globs are compared with each path or name, so neither number nor length is unbounded."""
    given = tuple(globs)
    if len(given) > MOST_FILTERS:
        raise QueryError(
            f"A search takes at most {MOST_FILTERS} globs, not {len(given)}",
            hint="name the folders above them",
        )
    for glob in given:
        if len(glob) > LONGEST_GLOB:
            raise QueryError(f"The glob '{glob[:40]}…' is longer than {LONGEST_GLOB:,} characters")
    return given


def read_kinds(types: Iterable[str]) -> tuple[Kind, ...]:
    """Chunk types by name, whatever their case; no type stands for a related one (FR-7.2)."""
    return tuple(dict.fromkeys(map(_read_kind, _items(types))))


def _read_kind(name: str) -> Kind:
    try:
        return Kind(name.lower())
    except ValueError:
        raise QueryError(f"Invalid chunk type '{name}'. Valid types: {KINDS}") from None


def read_mode(name: str) -> Mode:
    return _read_flag(Mode, name, "search mode")


def read_rerank(name: str) -> Rerank:
    return _read_flag(Rerank, name, "reranker")


def _read_flag(choices: type[Choice], name: str, what: str) -> Choice:
    try:
        return choices(name.lower())
    except ValueError:
        hint = f"there are {', '.join(choices)}"
        raise QueryError(f"There is no {what} {name!r}", hint=hint) from None


def _read_since_flag(text: str, now: datetime) -> datetime:
    moment = parse_since(text, now=now)
    if moment is None:
        raise QueryError(
            f"Cannot read {text!r} as a date", hint="write 2026-01-31, or an age such as 7d or 3mo"
        )
    return moment


def _items(lists: Iterable[str]) -> list[str]:
    return [item.strip() for one in lists for item in one.split(",") if item.strip()]
