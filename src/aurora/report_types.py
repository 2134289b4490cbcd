"""Reports for people: health findings, evaluations, and embedding models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """The severity of a finding. Only `fail` means that something does not work."""

    OK = "ok"
    NOTE = "note"  # worth knowing: a feature is missing, or something will be rebuilt
    WARN = "warn"  # works, but needs attention
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a health report. The hint is the next step, if any."""

    level: Level
    area: str
    text: str
    hint: str = ""


METRICS = ("nDCG@10", "MRR@10", "R@1", "R@5", "R@10", "R@100")


class Estimate(NamedTuple):
    """A mean over queries with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The quality and speed of one system. `milliseconds` are per search for ten results."""

    system: str
    questions: int
    scores: Mapping[str, Estimate]  # by the names of METRICS
    p50_milliseconds: float
    p95_milliseconds: float
    unanswered: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The difference of two systems by nDCG@10, query by query."""

    system: str
    against: str
    difference: Estimate
    p_value: float  # probability of such a difference if both were equal
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """All measurements on one data set."""

    name: str
    documents: int
    groups: int
    questions: int
    embedder: str  # empty without vectors
    systems: tuple[Measured, ...]
    categories: Mapping[str, tuple[Measured, ...]] = field(default_factory=dict)
    compared: tuple[Compared, ...] = ()
    warnings: tuple[str, ...] = ()


class MeasuredForm(NamedTuple):
    """How well definitions are found by one spelling of their names."""

    form: str
    asked: int
    first: float  # P@1
    mrr: float  # MRR@10
    p50_milliseconds: float
    p95_milliseconds: float


class Missed(NamedTuple):
    """A definition that is not the first result for its name."""

    form: str
    query: str
    definition: str
    place: int  # 0: not in the first ten
    first: str  # the first result; empty without results


@dataclass(frozen=True, slots=True)
class MeasuredNames:
    """How well the definitions of one repository are found by name."""

    where: str
    chunks: int
    unique: int  # names of only one definition
    names: int  # of those, the number searched for
    forms: tuple[MeasuredForm, ...]
    missed: tuple[Missed, ...] = ()


class ModelState(StrEnum):
    """Whether a model can be used."""

    INSTALLED = "installed"
    DAMAGED = "damaged"  # its folder is incomplete
    KNOWN = "known"  # by name, and not installed


class ModelEntry(NamedTuple):
    """One line of `aur models list`. Unknown values are 0 or empty."""

    name: str
    state: ModelState
    dimension: int = 0
    window: int = 0
    size: int = 0  # bytes on disk
    source: str = ""
    licence: str = ""

    @property
    def is_installed(self) -> bool:
        """True for a damaged one, too."""
        return self.state is not ModelState.KNOWN
