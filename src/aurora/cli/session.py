"""What every command needs: the memory of the working directory, messages, the log, signals.

Environment, working directory and terminal are read here and in `terminal`, and nowhere below.
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

from aurora.cli.terminal import can_redraw, is_terminal
from aurora.config import Places, SettingsFiles
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError
from aurora.errors import AuroraError, ConfigError, SourceError
from aurora.files import make_file, make_folder
from aurora.platforms import call_on_signals
from aurora.text import printable
from aurora.types import Event, Note, Progress

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from aurora.display.progress_bar import ProgressBar
    from aurora.engine import Memory

logger = logging.getLogger(__name__)

# --- Opening a memory ---


def find_places() -> Places:
    """The places of the working directory. From here on, errors are also logged to a file."""
    try:
        cwd = Path.cwd()
    except OSError as exc:
        raise SourceError(
            f"The working directory cannot be used: {exc.strerror}", hint="cd to an existing one"
        ) from exc
    places = Places.find(cwd, os.environ)
    log_to(places.home / "logs" / "aurora.log")
    return places


def open_memory(places: Places | None = None, *, silent: bool = False) -> Memory:
    """Open the memory of the working directory. Its events are printed on stderr."""
    from aurora.engine import Memory  # `aur config` needs no database

    # Remove the progress line before an error is printed.
    click.get_current_context().call_on_close(tell.finish)
    places = places or find_places()
    files = settings_files(places)
    if silent:
        return Memory(places, files, folder=Path.cwd())
    for warning in files.current().warnings:
        tell(Note(warning, warning=True))
    return Memory(places, files, listen=tell, folder=Path.cwd())


def settings_files(places: Places) -> SettingsFiles:
    """All layers of the settings, from the `-c` options of this command down to the defaults."""
    options = click.get_current_context().meta["aurora.flags"]
    return SettingsFiles(places, os.environ, dict(map(_read_flag, options)))


def _read_flag(option: str) -> tuple[str, object]:
    key, equals, text = option.partition("=")
    if not equals:
        raise ConfigError(
            f"{option!r} sets nothing", hint="write -c KEY=VALUE, such as -c search.bm25.k1=1.2"
        )
    setting = known_setting(key)
    try:
        return setting.key, setting.read(text)
    except YamlError:
        return setting.key, text  # the setting refuses it with its own message


def set_setting(file: Path, key: str, value: str) -> None:
    """Write a value to a settings file; comments and order in it stay."""
    from aurora.config.edit import set_value  # loads the YAML library

    set_value(file, key, value)


def end_in_part() -> NoReturn:
    """Exit with status 1: a part of the work is done."""
    click.get_current_context().exit(1)


def confirm(question: str, *, error: AuroraError, refused: str) -> None:
    """Ask a person on the terminal; after a no, say what was `refused` and exit with status 1.

    Raises the error when stdin is not a terminal.
    """
    if not is_terminal(sys.stdin):
        raise error
    if not click.confirm(question, err=True):
        tell(Note(refused))
        end_in_part()


# --- Messages and progress on stderr ---

_PATIENCE = 0.3  # seconds before the first drawing: a shorter task would only flicker
_PAUSE = 0.1  # seconds between two drawings
_SAMPLES = 100  # drawings that the rate is computed from: ten seconds or more


class EventPrinter:
    """Prints events on stderr: notes as lines, progress as one changing line below them.

    Progress is drawn only on a terminal, one task at a time. There is no thread: each event may
    draw, and most events cost only a look at the clock. The cursor is never hidden, so a killed
    program leaves the terminal in order.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._task = ""
        self._due = 0.0  # no drawing before
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)  # (time, done)
        self._drawn = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._update(event)
            return
        self._clear()
        text = printable(event.text)
        click.echo(f"Warning: {text}" if event.warning else text, err=True)
        if event.warning:  # other notes may name stored text, which the log would keep
            logger.warning("%s", event.text)

    def finish(self) -> None:
        """Remove the progress line: the task is over."""
        self._clear()
        self._task = ""

    def _update(self, progress: Progress) -> None:
        now = self._clock()
        if progress.task != self._task:
            self._begin(progress, now)
        if 0 < progress.total <= progress.done:
            self.finish()
        elif now >= self._due:
            self._draw(progress, now)

    def _clear(self) -> None:
        """Empty the line, for a message."""
        if self._drawn:
            self._write("")
            self._drawn = False

    def _begin(self, progress: Progress, now: float) -> None:
        self._clear()
        self._task = progress.task
        self._due = now + _PATIENCE if can_redraw(sys.stderr, os.environ) else math.inf
        self._samples.clear()
        self._samples.append((now, progress.done))

    def _draw(self, progress: Progress, now: float) -> None:
        # Rich takes 30 ms to import.
        from aurora.display.progress_bar import ProgressBar

        self._due = now + _PAUSE
        self._samples.append((now, progress.done))
        self._drawn = True  # first: an interrupt may come during the drawing
        self._write(ProgressBar(progress, self._rate()))

    def _rate(self) -> float:
        """Items per second; 0 while unknown."""
        (start, first), (end, last) = self._samples[0], self._samples[-1]
        return max(last - first, 0) / (end - start) if end > start else 0.0

    def _write(self, line: ProgressBar | str) -> None:
        """Replace the line, with one write."""
        from rich.console import Console
        from rich.control import Control
        from rich.segment import ControlType

        console = Console(stderr=True)  # a new one: after an interrupt the old one may hold text
        try:
            with console:
                console.control(Control(ControlType.CARRIAGE_RETURN))
                console.print(line, end="")
                console.control(Control((ControlType.ERASE_IN_LINE, 0)))
        except (OSError, ValueError):  # the terminal is closed; the work continues
            self._due = math.inf


tell = EventPrinter()

# --- The log file ---

_BYTES, _FILES = 1_000_000, 3


def log_to(path: Path) -> None:
    """Write Aurora's log to a file, which is created with the first record."""
    logger = logging.getLogger("aurora")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # never to the terminal
    logging.raiseExceptions = False  # nor a traceback when the log cannot be written
    if not any(isinstance(handler, _LazyFile) for handler in logger.handlers):
        logger.addHandler(_LazyFile(path))


class _LazyFile(logging.Handler):
    """Opens the rotating file with the first record, and ignores a file that cannot be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._file is None:
                self._file = _open_log(self._path)
            self._file.emit(record)
        except OSError:
            self._file = logging.NullHandler()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def _open_log(path: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler

    class PrivateFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            make_file(path)  # readable by its owner alone, also after a rotation
            return super()._open()

    make_folder(path.parent)
    handler = PrivateFile(
        path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler


class _RedactingFormatter(logging.Formatter):
    """Removes secrets from messages and tracebacks, whatever the settings say."""

    def format(self, record: logging.LogRecord) -> str:
        from aurora.redaction import Redactor

        return Redactor().text(super().format(record))


# --- Commands that run until a signal ---

_BETWEEN_LOOKS = 2.0  # seconds


@contextmanager
def ended_by_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM end the block without an error; the event is set then.

    The block may be cut anywhere: its writes are atomic, and the next run continues.
    """
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        stop.set()  # in case the exception is lost, as in a destructor
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in _signals()}
    try:
        yield stop
    except KeyboardInterrupt:
        tell(Note("Stopped"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_until_signal(
    main: Coroutine[None, None, None], *, reason_to_end: Callable[[], str] = str
) -> None:
    """Run a coroutine. The first SIGINT or SIGTERM ends the program, whatever its threads do, and
    so does a reason, which is looked for every two seconds.

    A thread that reads stdin, or works on a call, cannot be cancelled: waiting for it would
    ignore the signal. Its writes are atomic, and the next run continues.
    """
    import asyncio  # slower to import than everything else here

    runner = asyncio.Runner()
    call_on_signals(runner.get_loop(), _signals(), _interrupt)
    _look_for_reason(runner.get_loop(), reason_to_end)
    try:
        runner.run(main)
    except KeyboardInterrupt as exc:
        tell(Note(str(exc) or "Stopped"))
        atexit._run_exitfuncs()  # remove temporary folders, flush the log
        os._exit(0)
    runner.close()


def _interrupt(reason: str = "") -> NoReturn:
    """Raise in the loop itself: a task could delay it."""
    raise KeyboardInterrupt(reason)


def _look_for_reason(loop: AbstractEventLoop, reason_to_end: Callable[[], str]) -> None:
    if reason := reason_to_end():
        _interrupt(reason)
    loop.call_later(_BETWEEN_LOOKS, _look_for_reason, loop, reason_to_end)


def _signals() -> list[signal.Signals]:
    """SIGINT and SIGTERM, without those that are ignored, as for `aur mem watch &` in a script."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
