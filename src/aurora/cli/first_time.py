"""What only a first search meets: no memory yet, and a table that may be new."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.config.places import Places, shown
from aurora.engine import Memory
from aurora.engine.whereabouts import shown_name
from aurora.errors import AuroraError
from aurora.types import Note

logger = logging.getLogger(__name__)

# Seed 000, 7.5, to the letter.
_NOTICE = (
    "Note: Search output format has changed. Use --legacy for old format.\n"
    "See CHANGELOG.md for details. (This message won't show again)"
)


def open_searchable() -> Memory:
    """The memory of the working directory; where there is none, a person is asked to make one."""
    memory = open_memory()
    if memory.exists or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return memory  # a script is told how, by the search itself
    from aurora.cli.index import index_into, places_for_index

    click.echo(f"There is no memory yet at {shown_name(memory.name)}", err=True)
    if not click.confirm(f"Index {shown(Path.cwd())} now?", default=True, err=True):
        return memory
    memory.close()
    memory = open_memory(places_for_index())
    index_into(memory, [Path()], talk=True)
    return memory


def tell_of_the_format(places: Places) -> None:
    """The notice of seed 000, 7.5, once: what cannot be remembered as told is not told."""
    from aurora.config.edit import set_value

    try:
        set_value(places.user_config, "ui.shown_search_format_notice", "true")
    except AuroraError as exc:
        logger.info("the notice about the format cannot be kept: %s", exc.message)
    else:
        for line in _NOTICE.splitlines():
            tell(Note(line))
