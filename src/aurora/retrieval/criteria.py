"""Filters as people and agents write them, checked: unlike those inside a query, a wrong one is an
error that names what there is (FR-7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from aurora.errors import QueryError
from aurora.globs import LONGEST_GLOB
from aurora.retrieval.query_text import MOST_FILTERS, language_named
from aurora.retrieval.since import parse_since
from aurora.types import Criteria, Kind, Mode, Rerank

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
        since=_read_since(since, now) if isinstance(since, str) else since,
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
    return _read(Mode, name, "search mode")


def read_rerank(name: str) -> Rerank:
    return _read(Rerank, name, "reranker")


def _read(choices: type[Choice], name: str, what: str) -> Choice:
    try:
        return choices(name.lower())
    except ValueError:
        hint = f"there are {', '.join(choices)}"
        raise QueryError(f"There is no {what} {name!r}", hint=hint) from None


def _read_since(text: str, now: datetime) -> datetime:
    moment = parse_since(text, now=now)
    if moment is None:
        raise QueryError(
            f"Cannot read {text!r} as a date", hint="write 2026-01-31, or an age such as 7d or 3mo"
        )
    return moment


def _items(lists: Iterable[str]) -> list[str]:
    return [item.strip() for one in lists for item in one.split(",") if item.strip()]
