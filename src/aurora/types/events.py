"""What is told while work goes on, and who listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Note(NamedTuple):
    """Something to tell a person while work goes on; a warning when less than it should be."""

    text: str
    warning: bool = False


class Progress(NamedTuple):
    """How far a longer task is. `total` is 0 while unknown."""

    task: str
    done: int
    total: int


Event: TypeAlias = Note | Progress
Listener: TypeAlias = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Listen to nothing."""
