"""Reading queries: the words to search for, and the filters written between them.

    "exact phrase"          a result contains it; its words are searched for as well
    -word  -"some words"    no result contains it
    type:function,class     kinds; also `kind:`, and func, meth, reas, know
    path:src/**  name:get*  globs; `path:.` and `path:./…` start where the user stands
    lang:python             also `language:`, and py, js, c++ and the like
    since:7d  until:2026-03 dates or ages, see `parse_since` and `parse_until`
    source:session,code     where chunks come from: `types.SOURCES`
    agent:codex             the agent of a session; `session:`, an id or its beginning; `branch:`
    meta.KEY:VALUE          metadata, such as `meta.pattern_type:recovery` of a lesson

A filter starts the text or follows a space, so `call("x")`, `a-b` and `http://` contain none. A
value with spaces needs double quotes, also typographic ones. Commas separate alternatives; a filter
given twice adds alternatives, too (of several `since:` the latest counts, of several `until:` the
earliest). Quotes make a filter plain words.

Text that is not a valid filter is plain words, never an error: `type:banana`, `type:`,
`source:map`, `std::vector`, `12:30`, `--flag`, `-x`, `-1`, `->`, an unclosed quote, a glob of more
than 1,024 characters, and filters after the first 64 values. `read_criteria` reads the filters of
flags and tools: there, an invalid value is an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import Protocol, TypeVar

from aurora.errors import QueryError
from aurora.globs import LONGEST_GLOB
from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple, replace
from aurora.text import has_cjk
from aurora.types import SOURCES, Criteria, Kind

MOST_FILTERS = 64  # values of one query; each may be a scan of all chunks
LONGEST_QUERY = 20_000  # characters: some thousand words, answered in a second

_QUOTED = '"[^"]*+"|“[^“”]*+”'
_VALUE = rf'(?:{_QUOTED}|[^\s,"“”]++)'
# Possessive quantifiers (`*+`, `++`) never backtrack, so any text takes linear time.
_FILTER = rf"""(?<!\S)(?:
        (?P<minus>-)?(?P<quoted>{_QUOTED})(?![\w"“”])
        | -(?P<word>[^\W\d_][^\s“”!-,/:-?\[-^`{{-~]*+)[,;:!?]*+(?!\S)  # of ASCII's signs: _ . @ -
        | (?P<key>[a-z]{{4,8}}|meta\.[\w-]++):(?!:|//)(?P<values>{_VALUE}(?:,{_VALUE})*+),?(?!\S)
    )"""
_SIGNS = '"“-:'  # every filter contains one of them
_ONE_VALUE = lazy_pattern(_VALUE)
_KEYED = lazy_pattern(r"(\w):(?=[^\s:/])")
_NOT_A_FILTER = lazy_pattern(r'["“”]|(?<!\S)-+')
_HAS_WORD = lazy_pattern(r"[^\W_]")
_LANGUAGE = lazy_pattern(r"[a-z][\w+#.-]*", re.ASCII)

_KINDS = {kind.value: kind for kind in Kind} | {
    "func": Kind.FUNCTION,
    "meth": Kind.METHOD,
    "reas": Kind.REASONING,
    "know": Kind.KNOWLEDGE,
}
# Other names of the languages that chunks have; every file suffix is one of them.
_SHORT_NAMES = {
    "bash": "sh shell", "cpp": "c++ cc cxx h hh hpp hxx", "csharp": "cs c#", "go": "golang",
    "ini": "cfg", "javascript": "js jsx mjs cjs", "kotlin": "kt kts", "markdown": "md",
    "python": "py pyi pyw python3", "restructuredtext": "rst", "ruby": "rb rake", "rust": "rs",
    "scala": "sc", "text": "txt", "typescript": "ts mts cts", "yaml": "yml",
}  # fmt: skip
_LANGUAGE_NAMES = {short: name for name, all_ in _SHORT_NAMES.items() for short in all_.split()}

T = TypeVar("T")


class _ParseDate(Protocol):
    def __call__(self, text: str, *, now: datetime) -> datetime | None: ...


class ParsedQuery(NamedTuple):
    """The words of a query, empty when it has filters alone, and its filters."""

    words: str
    criteria: Criteria


def shortened(text: str) -> str:
    """Both ends of a text that is too long for a query, such as a pasted file or trace."""
    if len(text) <= LONGEST_QUERY:
        return text
    return f"{text[: LONGEST_QUERY // 2]} {text[-LONGEST_QUERY // 2 :]}"


def parse_query(text: str, *, now: datetime, here: str = ".") -> ParsedQuery:
    """Read any text. A query that only excludes words is read as plain words.

    Paths that begin with a dot folder start at the folder `here`.
    """
    if not any(sign in text for sign in _SIGNS):
        return ParsedQuery(text, Criteria())
    kept: list[str] = []
    filters: list[Criteria] = []
    position = 0
    for match, criteria in _find_filters(text, now):
        kept += (text[position : match.start()], *criteria.phrases)
        filters.append(criteria)
        position = match.end()
    words = " ".join("".join([*kept, text[position:]]).split())
    criteria = _joined(filters)
    criteria = replace(criteria, paths=tuple(rooted_glob(glob, here) for glob in criteria.paths))
    only_excludes = criteria == Criteria(without=criteria.without)
    if not filters or (only_excludes and not _HAS_WORD.search(words)):
        return ParsedQuery(text, Criteria())
    return ParsedQuery(words, criteria)


def _find_filters(text: str, now: datetime) -> Iterator[tuple[re.Match[str], Criteria]]:
    room = MOST_FILTERS
    for match in _pattern().finditer(text):
        criteria = _read_filter(match, now)
        if criteria is not None and (room := room - _count_values(criteria)) >= 0:
            yield match, criteria


class WrittenFilter(NamedTuple):
    """A filter as a query has it: without `text`, the query has one less."""

    text: str
    key: str  # `phrase` and `without` for what has no key
    value: str


def list_filters(text: str, *, now: datetime) -> list[WrittenFilter]:
    """The filters of a query, in its order; none where it is read as plain words."""
    if not parse_query(text, now=now).criteria:
        return []
    return [_written(match) for match, _ in _find_filters(text, now)]


def _written(match: re.Match[str]) -> WrittenFilter:
    text = match[0].rstrip(",")
    if match["key"]:
        return WrittenFilter(text, match["key"].lower(), match["values"])
    key = "without" if match["minus"] or match["word"] else "phrase"
    return WrittenFilter(text, key, text.removeprefix("-") if key == "without" else text)


def without_filters(text: str) -> str:
    """A text in which nothing is a filter: a prompt is written for a reader, not for a search."""
    return _NOT_A_FILTER.sub(" ", _KEYED.sub(r"\1: ", text))


@cache
def _pattern() -> re.Pattern[str]:
    """Compiled for the first query that may need it: that takes 2 ms."""
    return re.compile(_FILTER, re.VERBOSE | re.IGNORECASE)


def _read_filter(match: re.Match[str], now: datetime) -> Criteria | None:
    if quoted := match["quoted"]:
        phrase = _unquoted(quoted)
        if not _HAS_WORD.search(phrase):
            return None
        return Criteria(without=(phrase,)) if match["minus"] else Criteria(phrases=(phrase,))
    if word := match["word"]:
        word = word.rstrip(".-@")
        return Criteria(without=(word,)) if len(word) > 1 or has_cjk(word) else None
    values = tuple(_unquoted(value) for value in _ONE_VALUE.findall(match["values"]))
    if not all(values):
        return None
    section, _, name = match["key"].partition(".")
    if name:  # all metadata must match, so there are no alternatives
        return Criteria(metadata=((name, values[0]),)) if len(values) == 1 else None
    return _read_values(section.lower(), values, now)


def _unquoted(value: str) -> str:
    """Without its quotes, and with single spaces."""
    return " ".join((value[1:-1] if value[0] in '"“' else value).split())


def _read_values(key: str, values: tuple[str, ...], now: datetime) -> Criteria | None:
    """The filter `key:values`; None when it is not valid."""
    match key:
        case "source" | "agent" | "session" | "branch":
            return _read_origin(key, values)
        case "type" | "kind":
            kinds = [_KINDS.get(value.lower()) for value in values]
            return Criteria(kinds=tuple(filter(None, kinds))) if all(kinds) else None
        case "path" | "name" if max(map(len, values)) <= LONGEST_GLOB:
            return Criteria(paths=values) if key == "path" else Criteria(names=values)
        case "lang" | "language":
            names = tuple(map(language_named, values))
            return Criteria(languages=names) if all(map(_LANGUAGE.fullmatch, names)) else None
        case "since" | "until" if len(values) == 1:
            return _read_time(key, values[0], now)
    return None


def _read_time(key: str, value: str, now: datetime) -> Criteria | None:
    if key == "since":
        return Criteria(since=since) if (since := parse_since(value, now=now)) else None
    return Criteria(until=until) if (until := parse_until(value, now=now)) else None


def _read_origin(key: str, values: tuple[str, ...]) -> Criteria | None:
    """A filter by where chunks come from."""
    match key:
        case "agent":
            return Criteria(agents=values)
        case "session":
            return Criteria(sessions=values)
        case "branch":
            return Criteria(branches=values)
    lower = tuple(value.lower() for value in values)
    return Criteria(sources=lower) if set(lower) <= set(SOURCES) else None


def language_named(name: str) -> str:
    """The language's name in chunks: `python` for `py`. Other names are returned in lower case."""
    return _LANGUAGE_NAMES.get(name.lower(), name.lower())


def _count_values(criteria: Criteria) -> int:
    lists = (
        criteria.paths, criteria.names, criteria.languages, criteria.phrases, criteria.without,
        criteria.metadata, criteria.sources, criteria.agents, criteria.sessions, criteria.branches,
    )  # fmt: skip
    return sum(map(len, lists))


def _joined(filters: Sequence[Criteria]) -> Criteria:
    return Criteria(
        kinds=_once(each.kinds for each in filters),
        paths=_once(each.paths for each in filters),
        languages=_once(each.languages for each in filters),
        names=_once(each.names for each in filters),
        metadata=_once(each.metadata for each in filters),
        since=max((each.since for each in filters if each.since), default=None),
        phrases=_once(each.phrases for each in filters),
        without=_once(each.without for each in filters),
        sources=_once(each.sources for each in filters),
        agents=_once(each.agents for each in filters),
        sessions=_once(each.sessions for each in filters),
        branches=_once(each.branches for each in filters),
        until=min((each.until for each in filters if each.until), default=None),
    )


def _once(values: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    """All values in order, without repetitions."""
    return tuple(dict.fromkeys(chain.from_iterable(values)))


_MONTH = lazy_pattern(r"(\d{4})(?:-(\d\d))?", re.ASCII)
_DAY = lazy_pattern(r"\d{4}-?\d\d-?\d\d(?:[t ][\d:.,]+(?: ?(?:z|[+-][\d:]+))?)?", re.ASCII)
_WHOLE_DAY = lazy_pattern(r"\d{4}-?\d\d-?\d\d", re.ASCII).fullmatch
_DAYS = {"today": 0, "yesterday": 1}
_AGE = lazy_pattern(r"(?:last |(?P<count>\d{1,6}) ?)(?P<unit>[a-z]+)(?(count)(?: ago)?)", re.ASCII)
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
    """Read a date or an age, as a time in UTC; None when the text is neither.

    `2026`, `2026-01` and `2026-01-31` are their first moment, `today` and `yesterday` midnight in
    the zone of `now`; `7d`, `3 months ago` and `last week` count back from `now`. `m` is a month.
    A time without a zone is UTC.
    """
    words = " ".join(text.lower().split())
    here = now if now.tzinfo else now.replace(tzinfo=UTC)
    try:
        moment = _named_day(words, here) or _date(words) or _age(words, here)
        return moment.astimezone(UTC) if moment else None
    except (ValueError, OverflowError):  # a day that does not exist, or is too far away
        return None


def parse_until(text: str, *, now: datetime) -> datetime | None:
    """The first moment after a date, or an age, as `parse_since` reads them.

    `2026-01` ends with its last day, `yesterday` with today's midnight, `7d` at that moment.
    """
    start = parse_since(text, now=now)
    words = " ".join(text.lower().split())
    if start is None or not (words in _DAYS or _MONTH.fullmatch(words) or _WHOLE_DAY(words)):
        return start
    try:
        if month := _MONTH.fullmatch(words):
            return _months_before(start, -1 if month[2] else -12)
        return start + timedelta(days=1)
    except (ValueError, OverflowError):  # after the last day of the calendar
        return start


def _named_day(words: str, now: datetime) -> datetime | None:
    days = _DAYS.get(words)
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
    from calendar import monthrange  # noqa: PLC0415 - loads locale, for few questions

    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


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
    until: str | datetime | None = None,
    sources: Iterable[str] = (),
    agents: Iterable[str] = (),
    sessions: Iterable[str] = (),
    branches: Iterable[str] = (),
) -> Criteria:
    """Filters from flags and tools. Items may contain commas, except in globs and labels."""
    return Criteria(
        kinds=read_kinds(types),
        paths=_read_globs(paths),
        languages=tuple(map(language_named, _items(languages))),
        names=_read_globs(names),
        namespaces=tuple(namespaces),
        document_types=tuple(document_types),
        metadata=tuple(sorted((metadata or {}).items())),
        since=_read_date(since, parse_since, now) if isinstance(since, str) else since,
        until=_read_date(until, parse_until, now) if isinstance(until, str) else until,
        sources=_read_sources(sources),
        agents=tuple(_items(agents)),
        sessions=tuple(_items(sessions)),
        branches=tuple(_items(branches)),
    )


def rooted_glob(glob: str, here: str) -> str:
    """A glob from the root, for one that begins with a dot folder: it starts at `here`."""
    if glob.split("/", maxsplit=1)[0] not in (".", ".."):
        return glob
    path = posixpath.normpath(posixpath.join(here, glob))
    return "**" if path == "." else f"/{path.lstrip('/')}"


def read_kinds(types: Iterable[str]) -> tuple[Kind, ...]:
    """Chunk types by their full name, in any case."""
    return tuple(dict.fromkeys(map(_read_kind, _items(types))))


def _read_kind(name: str) -> Kind:
    try:
        return Kind(name.lower())
    except ValueError:
        kinds = ", ".join(Kind)
        raise QueryError(f"Invalid chunk type '{name}'. Valid types: {kinds}") from None


def _read_sources(lists: Iterable[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(item.lower() for item in _items(lists)))
    for name in names:
        if name not in SOURCES:
            raise QueryError(f"Invalid source {name!r}", hint=f"name one of {', '.join(SOURCES)}")
    return names


def _items(lists: Iterable[str]) -> list[str]:
    return [item.strip() for text in lists for item in text.split(",") if item.strip()]


def _read_globs(globs: Iterable[str]) -> tuple[str, ...]:
    """Every glob is compared with every path or name, so number and length are limited."""
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


def _read_date(text: str, parse: _ParseDate, now: datetime) -> datetime:
    moment = parse(text, now=now)
    if moment is None:
        raise QueryError(
            f"Cannot read {text!r} as a date", hint="write 2026-01-31, or an age such as 7d or 3mo"
        )
    return moment
