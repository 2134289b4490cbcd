"""What is asked: the words, how to search, and which chunks may be results."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from math import isnan

from aurora.types.chunk import Kind

DEFAULT_LIMIT = 10  # seed 000, FR-2.1


class Mode(StrEnum):
    """By what a search finds: by words, by meaning, or by everything there is (seed 002)."""

    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"


class Rerank(StrEnum):
    """Whether the first results get a second look, and whose."""

    NONE = "none"
    LOCAL = "local"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which chunks may be results. All that is given must hold; within a field, any of it.

    `paths` and `names` are globs. `since` is compared with the newest a chunk is known to be: its
    last commit, its own date, or when its file was written. `phrases` must stand in the chunk,
    all of them, and none of the words of `without`.
    """

    kinds: tuple[Kind, ...] = ()
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    document_types: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()  # all of them; a list holds its items
    since: datetime | None = None
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked. Nothing in `text` can be a syntax error: what is no filter is plain words."""

    text: str
    limit: int = DEFAULT_LIMIT
    mode: Mode | None = None  # as the settings say
    fusion: str | None = None
    criteria: Criteria = Criteria()
    min_score: float | None = None
    rerank: Rerank | None = None  # as the settings say
    expand: bool | None = None  # likewise

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")
        if self.min_score is not None and isnan(self.min_score):
            raise ValueError("min_score must be a number, not nan")
