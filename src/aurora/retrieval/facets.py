"""What results have in common, counted, and the filter that keeps those that have it."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from aurora.types import Chunk, SearchResult

_AGES = (("1d", "last day", 1), ("7d", "last 7 days", 7), ("30d", "last 30 days", 30),
         ("1y", "last year", 365))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facet:
    """Results with one value. `filter` is the text that a query needs to find only these; a layer
    has none, for it is chosen beside the query."""

    value: str
    label: str
    count: int
    filter: str


def count_facets(results: Sequence[SearchResult], *, now: datetime) -> Mapping[str, list[Facet]]:
    """The facets of results, the most frequent values first, times by their age."""
    chunks = [result.chunk for result in results]
    sessions = [chunk.session for chunk in chunks]
    agents = [facts.agent for facts in sessions if facts is not None]
    return {
        "layer": _listed([result.memory for result in results], ""),
        "kind": _listed([str(chunk.kind) for chunk in chunks], "type"),
        "language": _listed([chunk.language for chunk in chunks], "lang"),
        "folder": _listed(_folders(chunks), "path"),
        "agent": _listed(agents, "agent"),
        "time": _ages(results, now),
    }


def _listed(values: Sequence[str], key: str) -> list[Facet]:
    return [
        Facet(value, value, count, f"{key}:{_quoted(value)}" if key else "")
        for value, count in Counter(filter(None, values)).most_common()
    ]


def _quoted(value: str) -> str:
    return value if not set(value) & set(' ,"“”') else f'"{value}"'


def _folders(chunks: Sequence[Chunk]) -> list[str]:
    """Of each path the first folder by which the results differ; those of other repositories are
    absolute."""
    parts = [PurePosixPath(chunk.path).parent.parts for chunk in chunks if chunk.path]
    absolute = [each for each in parts if each[:1] == ("/",)]
    relative = [each for each in parts if each[:1] != ("/",)]
    folders = []
    for group in filter(None, (relative, absolute)):
        depth = len(posixpath.commonprefix(group)) + 1
        folders += [PurePosixPath(*each[:depth]).as_posix() for each in group if each]
    return [f"{folder}/" for folder in folders]


def _ages(results: Sequence[SearchResult], now: datetime) -> list[Facet]:
    dates = [
        result.history.last_modified
        if result.history and result.history.last_modified
        else result.chunk.created_at
        for result in results
    ]
    counted = [
        (value, label, sum(at is not None and at >= now - timedelta(days=days) for at in dates))
        for value, label, days in _AGES
    ]
    return [
        Facet(value, label, count, f"since:{value}") for value, label, count in counted if count
    ]
