"""What every command needs: the memory of the working directory, and a voice.

Environment, working directory and terminal are touched here and nowhere below.

The log file. Nothing is written, not even the folder, before there is something to say.

How far a task is, as the last line of the terminal; gone when the task is.

Most events are not worth a drawing: they cost a look at the clock. There is no thread: what is not
told is not drawn. The cursor is never hidden, so that nothing has to be put right when the program
is killed.

How what goes on until somebody stops it comes to its end.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from aurora.cli.terminal import can_redraw
from aurora.config import Places, SettingsFiles
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError
from aurora.errors import ConfigError, SourceError
from aurora.files import make_file, make_folder
from aurora.text import printable
from aurora.types import Event, Note, Progress

if TYPE_CHECKING:
    from aurora.display.progress_bar import ProgressBar
    from aurora.engine import Memory

logger = logging.getLogger(__name__)


_BYTES, _FILES = 1_000_000, 3


class _LazyFile(logging.Handler):
    """Opens the rotating file with the first record; a place that cannot be written stays quiet."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._file is None:
                self._file = _open(self._path)
            self._file.emit(record)
        except OSError:
            self._file = logging.NullHandler()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


class _Discreet(logging.Formatter):
    """Neither a message nor a traceback carries a secret into the log, whatever the settings."""

    def format(self, record: logging.LogRecord) -> str:
        from aurora.redaction import Redactor

        return Redactor().text(super().format(record))


def log_to(path: Path) -> None:
    """Send Aurora's own log to a file, once."""
    logger = logging.getLogger("aurora")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # never to the terminal: stdout is data, stderr is for people
    logging.raiseExceptions = False  # nor the traceback of a log that cannot be written
    if not any(isinstance(handler, _LazyFile) for handler in logger.handlers):
        logger.addHandler(_LazyFile(path))


def _open(path: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler

    class OwnersFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            make_file(path)  # what it is written to, and what it becomes when that is full
            return super()._open()

    make_folder(path.parent)
    handler = OwnersFile(
        path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler


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
        from aurora.display.progress_bar import ProgressBar

        self._due = now + _PAUSE
        self._samples.append((now, progress.done))
        self._drawn = True  # said before: an interrupt may come in the middle
        self._write(ProgressBar(progress, self._rate()))

    def _rate(self) -> float:
        """Items a second, lately; 0 while unknown."""
        (start, first), (end, last) = self._samples[0], self._samples[-1]
        return max(last - first, 0) / (end - start) if end > start else 0.0

    def _write(self, line: ProgressBar | str) -> None:
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


def find_places() -> Places:
    """The places of the working directory. From here on, what goes wrong is also logged."""
    try:
        cwd = Path.cwd()
    except OSError as exc:
        raise SourceError(
            f"The working directory cannot be used: {exc.strerror}", hint="cd to one that is there"
        ) from exc
    places = Places.find(cwd, os.environ)
    log_to(places.home / "logs" / "aurora.log")
    return places


def open_memory(places: Places | None = None) -> Memory:
    """The memory of the working directory, which tells its news on stderr."""
    from aurora.engine import Memory  # `aur config` needs no database

    # Before an error is printed, whatever it is, the line that shows progress is gone.
    click.get_current_context().call_on_close(tell.finish)
    places = places or find_places()
    files = settings_files(places)
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    return Memory(places, files, listen=tell)


def settings_files(places: Places) -> SettingsFiles:
    """All layers of the settings, from the options of this command down to the defaults."""
    return SettingsFiles(
        places, os.environ, dict(map(_flag, click.get_current_context().meta["aurora.flags"]))
    )


def _flag(option: str) -> tuple[str, object]:
    key, equals, raw = option.partition("=")
    if not equals:
        raise ConfigError(
            f"{option!r} sets nothing", hint="write -c KEY=VALUE, such as -c search.bm25.k1=1.2"
        )
    setting = known_setting(key)
    try:
        return key, setting.read(raw)
    except YamlError:
        return key, raw  # refused with the setting's own words


def end_in_part() -> NoReturn:
    """End with the status that says: some of what was asked for is done, and some is not."""
    click.get_current_context().exit(1)


class Voice:
    """Says events on stderr: notes as lines, progress as one line that changes below them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._line = ProgressLine(clock)

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._line.update(event)
        else:
            self._say(event)

    def finish(self) -> None:
        """Take away what shows progress: the work is over, or it went wrong."""
        self._line.finish()

    def _say(self, note: Note) -> None:
        self._line.clear()
        text = printable(note.text)
        click.echo(f"Warning: {text}" if note.warning else text, err=True)
        if note.warning:  # the others may name what is stored: the log outlives it
            logger.warning("%s", note.text)


tell = Voice()


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM end what is inside without an error, also in the middle of a run.

    A run may be cut off anywhere: what it writes is whole, and the next one goes on from there.
    """
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        stop.set()  # should the exception be lost, as in a destructor
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in _heeded()}
    try:
        yield stop
    except KeyboardInterrupt:
        tell(Note("Stopped"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_until_signal(main: Coroutine[None, None, None]) -> None:
    """Run to its end. At the first SIGINT or SIGTERM the program ends, whatever its threads do.

    A thread that reads stdin cannot be cancelled, nor can a call that a thread works on: waiting
    for them would ignore the signal. What they write is whole, and the next run goes on from there.
    """
    import asyncio  # which takes longer than all that other commands do here

    runner = asyncio.Runner()
    if sys.platform != "win32":  # its loop takes no signals; SIGTERM ends a program there
        for number in _heeded():
            runner.get_loop().add_signal_handler(number, _interrupt)
    try:
        runner.run(main)
    except KeyboardInterrupt:
        tell(Note("Stopped"))
        atexit._run_exitfuncs()  # temporary folders go, and the log is written
        os._exit(0)
    runner.close()


def _interrupt() -> NoReturn:
    """From the loop itself: inside a task it could be held up by what the task waits for."""
    raise KeyboardInterrupt


def _heeded() -> list[signal.Signals]:
    return [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN  # as for `aur mem watch &` in a script
    ]
