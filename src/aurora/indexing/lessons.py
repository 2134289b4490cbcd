"""What was learned, as a chunk: a pattern that worked or did not (seed 000, FR-4).

The same pattern learned again is the same chunk: its score becomes the mean of all tries, and its
use count grows with each that succeeded.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from aurora.indexing.ids import make_id
from aurora.stores.base import SEARCHABLE_SUCCESS, Reasoning, Store
from aurora.types import Chunk, Kind

_NAME = 60  # characters of a pattern's first line that it is shown by


def learn(
    store: Store, text: str, *, pattern_type: str, score: float, context: str, now: datetime
) -> Chunk:
    """Record one try of a pattern; returns the chunk that stands for it."""
    if not (math.isfinite(score) and 0.0 <= score <= 1.0):
        raise ValueError(f"a success score lies in [0, 1], not {score}")
    chunk = _chunk(text.strip(), pattern_type, context.strip(), now)
    with store.transaction():
        known = store.get_reasoning(chunk.id)
        if known is not None:
            chunk = replace(chunk, created_at=known.created_at)
        store.put_chunks([chunk])
        store.put_reasoning(chunk.id, _tried(known, pattern_type, score, now))
    return chunk


def _chunk(text: str, pattern_type: str, context: str, now: datetime) -> Chunk:
    first_line = text.partition("\n")[0][:_NAME]
    return Chunk(
        id=make_id("reasoning", first_line, f"{pattern_type}\0{text}".encode(), digits=8),
        kind=Kind.REASONING,
        name=first_line,
        content=f"{text}\n\n{context}" if context else text,
        created_at=now,
        metadata={"source": "reasoning", "pattern_type": pattern_type},
    )


def _tried(known: Reasoning | None, pattern_type: str, score: float, now: datetime) -> Reasoning:
    succeeded = score >= SEARCHABLE_SUCCESS
    if known is None:
        return Reasoning(pattern_type, score, int(succeeded), now)
    tries = max(known.usage_count, 1)
    mean = (known.success_score * tries + score) / (tries + 1)
    return replace(known, success_score=mean, usage_count=known.usage_count + succeeded)
