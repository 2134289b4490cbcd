"""Reports for people: health findings, evaluations, models, sessions, and what led to code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from aurora.quick_classes import dataclass, field


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


class MeasuredKind(NamedTuple):
    """How well one kind of questions is answered. The shares are of the questions."""

    kind: str
    asked: int
    first: float  # the first row is right
    in_five: float  # one of the first five rows is right
    p50_milliseconds: float
    p95_milliseconds: float


class Bin(NamedTuple):
    """The first rows with a score between `low` and `high`."""

    low: float
    high: float
    score: float  # mean
    right: float  # share
    rows: int


class Check(NamedTuple):
    """A number of a self-check and its limit."""

    what: str
    value: float
    limit: float
    is_least: bool  # the limit is the least value; else the largest

    @property
    def is_passed(self) -> bool:
        return self.value >= self.limit if self.is_least else self.value <= self.limit


class Missed(NamedTuple):
    """A question whose first row is wrong."""

    kind: str
    query: str
    right: str  # a right place; empty when nothing answers the question
    place: int  # of the first right row; 0: not in the first five
    first: str  # the first row; empty without rows
    score: float  # of the first row


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """What a memory answers to questions about itself, and to questions of another project."""

    where: str
    chunks: int
    questions: int
    kinds: tuple[MeasuredKind, ...]  # of the questions that the memory can answer
    refused: float  # share of these without a row
    foreign: int  # questions of another project
    false_answers: float  # share of these with a row
    calibration_error: float  # expected, over the scores of the first rows
    overconfidence: float  # its part from scores that are too high
    bins: tuple[Bin, ...]
    checks: tuple[Check, ...]
    missed: tuple[Missed, ...] = ()
    notes: tuple[str, ...] = ()  # what was left out

    @property
    def is_passed(self) -> bool:
        return all(check.is_passed for check in self.checks)


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


class AgentOnDisk(NamedTuple):
    """What lies on this machine of one agent. A transcript is mostly one session."""

    agent: str
    title: str
    transcripts: int
    size: int  # bytes
    first: datetime | None  # the oldest and newest change of a file
    last: datetime | None
    is_imported: bool
    problems: tuple[str, ...] = ()


class SessionEntry(NamedTuple):
    """A stored session. Unknown values are empty."""

    id: str
    agent: str
    title: str
    project: str  # the folder where it began
    branch: str
    model: str
    parent: str  # the session that started this one as its sub-agent
    started: datetime | None
    ended: datetime | None
    exchanges: int
    path: str  # of the transcript, which may be gone
    resume: str  # the command that goes on with it


class ExchangeEntry(NamedTuple):
    """What was asked and answered, and the commands that were run."""

    id: str
    time: str
    model: str
    text: str
    commands: tuple[str, ...]
