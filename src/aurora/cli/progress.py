"""How far a task is, as the last line of the terminal; gone when the task is.

Most events are not worth a drawing: they cost a look at the clock. There is no thread: what is not
told is not drawn. The cursor is never hidden, so that nothing has to be put right when the program
is killed.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from aurora.cli.terminal import can_redraw
from aurora.types import Progress

if TYPE_CHECKING:
    from aurora.display.bar import Bar

_PATIENCE = 0.3  # seconds: a shorter task would only flicker
_PAUSE = 0.1  # seconds from one drawing to the next
_SAMPLES = 100  # the rate is that of the last drawings: ten seconds, or more where events are rare


class ProgressLine:
    """Draws progress on stderr, where that is a terminal; one task at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._task = ""  # what the events are about now
        self._due = 0.0  # no drawing before
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)  # (time, done)
        self._drawn = False  # whether something may stand on the line

    def update(self, progress: Progress) -> None:
        now = self._clock()
        if progress.task != self._task:
            self._begin(progress, now)
        if 0 < progress.total <= progress.done:
            self.finish()
        elif now >= self._due:
            self._draw(progress, now)

    def clear(self) -> None:
        """Leave an empty line, for words that are to stand there. The task goes on."""
        if self._drawn:
            self._write("")
            self._drawn = False

    def finish(self) -> None:
        """Whatever task it was, it is over."""
        self.clear()
        self._task = ""

    def _begin(self, progress: Progress, now: float) -> None:
        self.clear()
        self._task = progress.task
        self._due = now + _PATIENCE if can_redraw(sys.stderr, os.environ) else math.inf
        self._samples.clear()
        self._samples.append((now, progress.done))

    def _draw(self, progress: Progress, now: float) -> None:
        # Rich takes some 30 ms to import: only who sees a bar pays.
        from aurora.display.bar import Bar

        self._due = now + _PAUSE
        self._samples.append((now, progress.done))
        self._drawn = True  # said before: an interrupt may come in the middle
        self._write(Bar(progress, self._rate()))

    def _rate(self) -> float:
        """Items a second, lately; 0 while unknown."""
        (start, first), (end, last) = self._samples[0], self._samples[-1]
        return max(last - first, 0) / (end - start) if end > start else 0.0

    def _write(self, line: Bar | str) -> None:
        """Put this in the line's place, with one write."""
        from rich.console import Console
        from rich.control import Control
        from rich.segment import ControlType

        console = Console(stderr=True)  # a new one: one that was interrupted would hold text back
        try:
            with console:
                console.control(Control(ControlType.CARRIAGE_RETURN))
                console.print(line, end="")
                console.control(Control((ControlType.ERASE_IN_LINE, 0)))
        except (OSError, ValueError):  # the terminal is gone; the work is not
            self._due = math.inf
