"""One line of progress: the task's name, a bar, the count, the rate and the time left.

On a narrow terminal the bar is dropped first, the name last.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar as RichBar
from rich.segment import Segment

from aurora.types import Progress

_MARGIN = 3  # cells at the end: the terminal echoes `^C` there, which must not wrap
_GAP = "  "
_SHORTEST, _LONGEST = 8, 40  # cells of the bar


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """A line for Rich, without a line end. `rate` is items per second, 0 while unknown."""

    progress: Progress
    rate: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - _MARGIN, 1)
        name, count, speed, left = self.progress.task, self._count(), self._speed(), self._left()
        whole, words = _joined(name, count, speed, left), _joined(count, speed, left)
        room = width - cell_len(whole) - len(_GAP)
        if room >= _SHORTEST:
            done, total = self.progress.done, self.progress.total or None  # None pulses
            bar = RichBar(total, done, complete_style="cyan", pulse_style="cyan")
            yield Segment(name + _GAP)
            sized = options.update(width=min(room, _LONGEST))
            yield from chain.from_iterable(console.render_lines(bar, sized))
            yield Segment(_GAP + words)
            return
        short = (_joined(name, count, left), _joined(name, count), _joined(name, self._percent()))
        fitting = (line for line in (whole, *short) if cell_len(line) <= width)
        yield Segment(next(fitting, "") or set_cell_size(name, width).rstrip())

    def _count(self) -> str:
        done, total = f"{self.progress.done:,}", f"{self.progress.total:,}"
        return f"{done:>{len(total)}}/{total}" if self.progress.total else done

    def _percent(self) -> str:
        total = self.progress.total
        return f"{100 * self.progress.done // total} %" if total else ""

    def _speed(self) -> str:
        digits = 0 if self.rate >= 10 else 1
        return f"{self.rate:,.{digits}f}/s" if self.rate else ""

    def _left(self) -> str:
        if not (self.rate and self.progress.total):
            return ""
        minutes, seconds = divmod(int((self.progress.total - self.progress.done) / self.rate), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}" if hours else f"{minutes}"
        return f"{clock}:{seconds:02} left"


def _joined(*words: str) -> str:
    return _GAP.join(filter(None, words))
