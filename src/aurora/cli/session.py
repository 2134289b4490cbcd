"""What every command needs: the memory of the working directory, and a voice.

Environment, working directory and terminal are touched here and nowhere below.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TextIO

import click

from aurora.cli.logs import log_to
from aurora.config import Places, SettingsFiles
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError
from aurora.engine import Memory
from aurora.errors import ConfigError, SourceError
from aurora.text import printable
from aurora.types import Event, Note, Progress

logger = logging.getLogger(__name__)


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the program began (`2>&-`) is None."""
    return stream is not None and stream.isatty()


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


class _Voice:
    """Says events on stderr: notes always, progress as one line that changes, on a terminal."""

    def __init__(self) -> None:
        self._shown = ""  # the progress line that stands there now

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            self._say(event)
        elif is_terminal(sys.stderr):
            self._draw(event)

    def _say(self, note: Note) -> None:
        self._replace("")
        text = printable(note.text)
        click.echo(f"Warning: {text}" if note.warning else text, err=True)
        logger.log(logging.WARNING if note.warning else logging.INFO, "%s", note.text)

    def _draw(self, progress: Progress) -> None:
        percent = 100 * progress.done // max(progress.total, 1)
        line = f"{progress.task}: {percent} % of {progress.total}"
        self._replace("" if progress.done >= progress.total else line)

    def _replace(self, line: str) -> None:
        if line != self._shown:
            click.echo(f"\r\033[K{line}", err=True, nl=False)
            self._shown = line


tell = _Voice()
