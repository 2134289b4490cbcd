"""How things stand: what an examination finds, and what has become of an index file.

What an evaluation found out: how good searches are, how quick, and which are better.

What is told of embedding models: those known by name, and those on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How bad it is. Only a failure means that something does not work."""

    OK = "ok"
    NOTE = "note"  # worth knowing: less is there than could be, or something will be made anew
    WARN = "warn"  # works, but should not stay so
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an examination. The hint is the next step, where there is one."""

    level: Level
    area: str
    text: str
    hint: str = ""


class IndexState(StrEnum):
    """How a derived index file stands to the memory it was made of."""

    CURRENT = "current"
    BEHIND = "behind"  # made of this memory as it was: the next search merges what changed
    OUTDATED = "outdated"  # of another memory, version or setting: the next search makes it anew
    MISSING = "missing"
    DAMAGED = "damaged"

    @property
    def told(self) -> str:
        """The state and what comes of it, as a person would say it."""
        return _TOLD[self]


_TOLD = {
    IndexState.CURRENT: "up to date",
    IndexState.BEHIND: "behind the memory: what changed will be merged at the next search",
    IndexState.OUTDATED: "made otherwise than now: will be made anew at the next search",
    IndexState.MISSING: "missing: will be built at the next search",
    IndexState.DAMAGED: "damaged: will be built anew at the next search",
}


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """What was found of an index file, and why it is not current."""

    state: IndexState
    reason: str = ""


METRICS = ("nDCG@10", "MRR@10", "R@1", "R@5", "R@10", "R@100")


class Estimate(NamedTuple):
    """A mean over questions, and where it would lie for 95 of 100 draws of such questions."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What one way to search is worth. `milliseconds` are of a search for ten results."""

    system: str
    questions: int
    scores: Mapping[str, Estimate]  # by the names of METRICS
    p50_milliseconds: float
    p95_milliseconds: float
    unanswered: int


@dataclass(frozen=True, slots=True)
class Compared:
    """How much better one is than another, question by question, by nDCG@10."""

    system: str
    against: str
    difference: Estimate
    p_value: float  # of such a difference by chance, if both were alike
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """All that was measured on one set."""

    name: str
    documents: int
    groups: int
    questions: int
    embedder: str  # who made the vectors; empty where there are none
    systems: tuple[Measured, ...]
    categories: Mapping[str, tuple[Measured, ...]] = field(default_factory=dict)
    compared: tuple[Compared, ...] = ()
    warnings: tuple[str, ...] = ()


class MeasuredForm(NamedTuple):
    """How well names are found in one way to write them."""

    form: str
    asked: int
    first: float  # the share that comes first: P@1
    mrr: float  # MRR@10
    p50_milliseconds: float
    p95_milliseconds: float


class Missed(NamedTuple):
    """A definition that does not come first when it is asked for."""

    form: str
    query: str
    definition: str
    place: int  # 0: not among ten
    first: str  # what came first; empty where nothing was found


@dataclass(frozen=True, slots=True)
class MeasuredNames:
    """What became of the names of one repository."""

    where: str
    chunks: int
    unique: int  # names that only one definition has
    names: int  # of those, how many were asked for
    forms: tuple[MeasuredForm, ...]
    missed: tuple[Missed, ...] = ()


class ModelState(StrEnum):
    """Whether a model can be used."""

    INSTALLED = "installed"
    DAMAGED = "damaged"  # its folder is incomplete
    KNOWN = "known"  # by name, and not installed


class ModelEntry(NamedTuple):
    """One line of `aur models list`. What is not known is 0 or empty."""

    name: str
    state: ModelState
    dimension: int = 0
    window: int = 0
    size: int = 0  # bytes on disk
    source: str = ""  # where it came from, or would
    licence: str = ""
