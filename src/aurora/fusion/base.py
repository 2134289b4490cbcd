"""What a fusion is: rankings in, one ranking out, with the part each signal had in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aurora.types import Fused, Ranking


class Fusion(Protocol):
    """A frozen dataclass with its weights. Pure: the same rankings give the same outcome."""

    @property
    def name(self) -> str: ...

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Best first; the contributions of each outcome sum to its score."""
        ...
