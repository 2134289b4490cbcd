"""A clock that only tests move, so that long waits take no time."""

from __future__ import annotations

from dataclasses import dataclass, field

from aurora.endpoints import Timing


@dataclass
class Clock:
    """Sleeping moves it on; `step` more with every look at it."""

    now: float = 0.0
    step: float = 0.0
    slept: list[float] = field(default_factory=list)

    @property
    def timing(self) -> Timing:
        """Where chance always is 1: waits are as long as they can be."""
        return Timing(self.look, self.sleep, lambda: 1.0)

    def look(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
