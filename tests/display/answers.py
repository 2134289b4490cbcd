"""Answers to show, with every number chosen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from aurora.types import (
    Chunk,
    ChunkHistory,
    Contribution,
    Kind,
    Lines,
    Query,
    SearchResult,
    SearchResults,
)
from tests.builders import NOW, make_chunk, make_exchange

CONTENT = "def authenticate_user(name, password):\n    return check(name, password)"


def parts(**shares: float) -> tuple[Contribution, ...]:
    """Contributions by signal: each normalised as given, all with the same weight."""
    return tuple(
        Contribution(
            signal, 1, share if signal == "semantic" else 10 * share, share, share / len(shares)
        )
        for signal, share in shares.items()
    )


def make_result(chunk: Chunk | None = None, **fields: object) -> SearchResult:
    contributions = parts(bm25=0.95, semantic=0.82, activation=0.65)
    values: dict[str, object] = {
        "chunk": chunk
        or make_chunk(CONTENT, "auth_manager.py", "authenticate_user", lines=Lines(45, 67)),
        "score": 0.856,
        "contributions": contributions,
        "terms": ("authenticate",),
    }
    return SearchResult(**values | fields)  # type: ignore[arg-type]


SAID = make_result(
    make_exchange("Why do herons wade?", "", title="Herons")[0],
    score=0.7, terms=("herons",),
)  # fmt: skip


def make_answer(
    *results: SearchResult,
    words: str = "authenticate",
    signals: Sequence[str] = ("bm25", "semantic", "activation"),
    fusion: str = "weighted",
) -> SearchResults:
    return SearchResults(
        Query(words), results or (make_result(),), fusion, tuple(signals), words=words
    )


def touched(*days_ago: float) -> ChunkHistory:
    """The history of lines with commits so many days before now."""
    times = sorted((NOW - timedelta(days=days)).timestamp() for days in days_ago)
    return ChunkHistory(commits=tuple(map(int, times)), read_at=NOW)


SEED = make_result(history=touched(*range(2, 25)), accesses=3, last_access=NOW - timedelta(days=3))
LOG = make_result(
    make_chunk("OAuth was set up.", "oauth-impl.md", "OAuth Setup", kind=Kind.KNOWLEDGE,
               lines=None, created_at=NOW - timedelta(days=335)),
    score=0.654, terms=(),
)  # fmt: skip
LESSON = make_result(
    make_chunk("Check first.", "", "Auth Flow", id="lesson-1", kind=Kind.REASONING, lines=None,
               created_at=NOW - timedelta(days=330)),
    score=0.621, terms=(),
)  # fmt: skip
