"""`aur mem search`: find chunks by words."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click

from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.display.past import is_stale
from aurora.display.table import render_table
from aurora.types import DEFAULT_LIMIT, Note

_NOTHING = """No relevant results found

Suggestions:
  - use fewer or other words: every word counts, none is required
  - check that the files are indexed: aur mem stats
  - read new files first: aur mem index ."""


@click.command(
    epilog="""\b
Examples:
  aur mem search "parse the config file"
  aur mem search getUserData --limit 3
  aur mem search 用户认证"""
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True,
    help="How many results to show.",
)  # fmt: skip
def search(query: tuple[str, ...], limit: int) -> None:
    """Find the chunks that fit a query of plain words, the best first."""
    with open_memory() as memory:
        answer = memory.search(" ".join(query), limit=limit)
    if answer.results:
        now = datetime.now(UTC)
        click.echo(render_table(answer.results, now=now, width=_terminal_width()))
        if is_stale(answer.results, now):
            tell(Note("(metadata may be stale) read git again with `aur mem index`", warning=True))
    else:
        click.echo(_NOTHING)


def _terminal_width() -> int | None:
    """How wide a table may be: as the terminal is; in a pipe nothing is cut."""
    if not is_terminal(sys.stdout):
        return None
    import shutil

    return shutil.get_terminal_size().columns
