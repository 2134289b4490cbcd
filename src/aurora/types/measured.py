"""What an evaluation found out: how good searches are, how quick, and which are better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
