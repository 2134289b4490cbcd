"""What every command needs: the memory of the working directory, and a voice.

Environment, working directory and terminal are touched here and nowhere below.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import click

from aurora.cli.logs import log_to
from aurora.config import Places, SettingsFiles
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError
from aurora.engine import Memory
from aurora.errors import ConfigError
from aurora.text import printable
from aurora.types import Event, Note, Progress

logger = logging.getLogger(__name__)


def find_places() -> Places:
    """The places of the working directory. From here on, what goes wrong is also logged."""
    places = Places.find(Path.cwd(), os.environ)
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


def tell(event: Event) -> None:
    """Say an event on stderr: notes always, progress only to a terminal."""
    if isinstance(event, Note):
        _clear_progress()
        text = printable(event.text)
        click.echo(f"Warning: {text}" if event.warning else text, err=True)
        logger.log(logging.WARNING if event.warning else logging.INFO, "%s", event.text)
    elif sys.stderr.isatty() and _is_due(event):
        click.echo(f"\r\033[K{event.task}: {event.done}/{event.total}", err=True, nl=False)
        if event.done >= event.total:
            _clear_progress()


def _is_due(progress: Progress) -> bool:
    step = max(progress.total // 100, 1)
    return progress.done % step == 0 or progress.done >= progress.total


def _clear_progress() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
