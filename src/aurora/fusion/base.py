"""What a fusion is: rankings in, one order out, with the contribution of each signal.

`fade` and `lead` adjust the order of every fusion: old notes fade, definitions lead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import fsum
from typing import ClassVar, Final, Protocol, TypeAlias, TypeGuard

from aurora.quick_classes import NamedTuple
from aurora.signals.exact import is_named, leads
from aurora.types import Contribution, Fused, Ranking

KEYWORD: Final = ("bm25", "fulltext")  # keyword signals; a search uses one of them
WORDS_AND_MEANING: Final = frozenset((*KEYWORD, "semantic"))
DEFINITION_SHARE = 0.8  # of a name in a score, where the query names a definition
NAMED_SHARE = 0.3  # where it only has an identifier, or a note's heading


Turns: TypeAlias = Sequence[Sequence[int]]  # the rows of each


class CandidateContext(NamedTuple):
    """What a fusion may know of the candidates' rows beside their scores."""

    best: Set[int]  # by words and by meaning in the whole memory: scores are relative to them
    files: Mapping[int, str]  # the file or document that contains a chunk
    code: Set[int] = frozenset()
    aside: Set[int] = frozenset()  # tests, examples and vendored code, unless the query names them
    beside: Mapping[int, Turns] = {}  # turns before and after, and pieces of the own
    named: Set[int] = frozenset()  # definitions that the query names
    lessons: Set[int] = frozenset()  # and documents, among the best
    exchanges: Set[int] = frozenset()  # with agents
    elsewhere: Set[int] = frozenset()  # exchanges in other projects than the one that is asked


NO_CONTEXT = CandidateContext(frozenset(), {})


class Fusion(Protocol):
    """A frozen dataclass with its weights. Pure: the same rankings give the same result.

    Ranks in rankings are those in the whole memory. So a fusion can tell the best of all from
    chunks that only a filter has brought in: a filter never changes a score.
    """

    @property
    def name(self) -> str: ...

    @property
    def signals(self) -> frozenset[str]:
        """Signals that it uses."""

    @property
    def proposers(self) -> frozenset[str]:
        """Signals whose best chunks are the candidates; other signals only order them."""

    @property
    def fill_ups(self) -> frozenset[str]:
        """Signals used only when the others find too few candidates."""

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Best first, ties by row; the contributions of each chunk sum to its score."""


class SimpleFusion:
    """The usual properties of a fusion."""

    signals: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    proposers: ClassVar[frozenset[str]] = WORDS_AND_MEANING
    fill_ups: ClassVar[frozenset[str]] = frozenset()
    __slots__ = ()


class ContextFusion(Fusion, Protocol):
    """A fusion that also uses the context of the candidates."""

    def with_weak_semantics(self) -> Fusion:
        """The same fusion for a question in a script that the model hardly knows."""

    def __call__(
        self, rankings: Sequence[Ranking], context: CandidateContext = NO_CONTEXT
    ) -> list[Fused]: ...

    def vary(self, fused: Sequence[Fused], context: CandidateContext) -> list[Fused]:
        """Spread the results over several files."""


def uses_context(fusion: Fusion) -> TypeGuard[ContextFusion]:
    """Whether it is a `ContextFusion`. `isinstance` of a protocol takes 20 µs."""
    return hasattr(fusion, "vary")


def keyword_ranking(rankings: Iterable[Ranking]) -> Ranking | None:
    return next((ranking for ranking in rankings if ranking.signal in KEYWORD), None)


def shares(weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """The weights of the present signals, scaled to sum to 1.

    Without any weight, activation alone decides, or else all signals equally (seed 003).
    """
    part = {signal: weights.get(signal, 0.0) for signal in present}
    total = fsum(part.values())
    if total > 0.0:
        return {signal: weight / total for signal, weight in part.items()}
    alone = ["activation"] if "activation" in part else list(part)
    return {signal: 1.0 / len(alone) if signal in alone else 0.0 for signal in part}


def fuse(chunks: Mapping[int, tuple[Contribution, ...]]) -> list[Fused]:
    """Sum each chunk's contributions and put the best first.

    `fsum` rounds once: the sum is the same in any order, on every version of Python.
    """
    return in_order(
        [
            Fused(row, parts[0].value if len(parts) == 1 else fsum([p.value for p in parts]), parts)
            for row, parts in chunks.items()
        ]
    )


def add_part(chunk: Fused, signal: str, value: float, *, raw: float, rank: int = 0) -> Fused:
    """A chunk with one more contribution, whose normalised score is its raw one."""
    part = Contribution(signal, rank, raw, raw, value)
    row, score, parts, relevance = chunk
    return Fused(row, score + value, (*parts, part), relevance)


def scaled(chunk: Fused, factor: float) -> Fused:
    """Scales the score itself instead of summing again, so that equal scores stay equal."""
    if factor == 1.0:
        return chunk
    row, score, parts, relevance = chunk
    return Fused(row, score * factor, (*parts, factor), relevance)


def in_order(fused: Iterable[Fused]) -> list[Fused]:
    return sorted(fused, key=lambda chunk: (-chunk.score, chunk.row))


def within(value: float) -> float:
    """At least 0, at most 1."""
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


def fade(fused: Sequence[Fused], recency: Ranking) -> list[Fused]:
    """Multiply each score by its chunk's recency (seed 001); chunks without a date keep theirs."""
    hits = {hit.row: hit for hit in recency.hits}
    return in_order(
        add_part(chunk, "recency", (hit.score - 1.0) * chunk.score, raw=hit.score, rank=hit.rank)
        if (hit := hits.get(chunk.row))
        else chunk
        for chunk in fused
    )


def lead(fused: Sequence[Fused], exact: Ranking) -> list[Fused]:
    """Put the chunks that the query names first. Without a named chunk, nothing changes."""
    if not exact.hits:
        return list(fused)
    highest = exact.hits[0].score
    share = DEFINITION_SHARE if is_named(highest) else NAMED_SHARE
    chunks = {chunk.row: scaled(chunk, 1.0 - share) for chunk in fused}
    levels = {row: level for row, level, _ in exact.hits if leads(level)}
    for row, level, rank in exact.hits:
        chunk = chunks.get(row, Fused(row, 0.0, ()))
        chunks[row] = add_part(chunk, "exact", share * level / highest, raw=level, rank=rank)
    return sorted(chunks.values(), key=lambda c: (-levels.get(c.row, 0.0), -c.score, c.row))
