"""What every command needs: the memory of the working directory, and a voice.

Environment, working directory and terminal are touched here and nowhere below.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from aurora.cli.logs import log_to
from aurora.cli.progress import ProgressLine
from aurora.config import Places, SettingsFiles
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError
from aurora.errors import ConfigError, SourceError
from aurora.text import printable
from aurora.types import Event, Note, Progress

if TYPE_CHECKING:
    from aurora.engine import Memory

logger = logging.getLogger(__name__)


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
