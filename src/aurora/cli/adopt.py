"""`aur adopt`: take over the memory of a project that came from somebody else."""

from __future__ import annotations

import sys
from collections import Counter

import click

from aurora.cli.session import end_in_part, open_memory, tell
from aurora.cli.terminal import is_terminal
from aurora.config.places import shown
from aurora.engine.adoption import Offer
from aurora.errors import ConfigError
from aurora.text import many, printable
from aurora.types import Chunk, Kind, Note

_WIDTH = 100  # letters of a row that are shown


@click.command(
    epilog="""\b
Examples:
  aur adopt         shows every lesson and document, then asks
\b
A memory from an archive or another computer shows only the chunks of its files. Its lessons and
documents are given to agents as yours once you adopt them: read them first."""
)
def adopt() -> None:
    """Look at what a memory holds that you did not make, and take it over.

    Without a terminal it only shows: no agent and no script can adopt for you.
    """
    with open_memory() as memory, memory.adoption() as offer:
        if offer is None:
            click.echo("All of this memory is yours: there is nothing to adopt", err=True)
        elif _agreed(offer):
            offer.adopt()
            click.echo(f"Adopted {many(len(offer.chunks), 'chunk')}", err=True)
        else:
            tell(Note("Nothing was adopted."))
            end_in_part()


def _agreed(offer: Offer) -> bool:
    for chunk in offer.chunks:
        click.echo(f"  {_what(chunk):8}  {printable(_line(chunk))[:_WIDTH]}")
    if offer.foreign:
        names = printable(", ".join(offer.foreign))
        tell(Note(f"Left behind, as Aurora never makes it: {names}", warning=True))
    counts = Counter(map(_what, offer.chunks))
    counted = ", ".join(many(count, what) for what, count in sorted(counts.items()))
    if not is_terminal(sys.stdin):
        raise ConfigError(
            f"Only a person can adopt {counted or 'a memory'}", hint="run `aur adopt` in a terminal"
        )
    return click.confirm(f"Adopt {counted or 'no rows'} of {shown(offer.path)} as yours?", err=True)


def _what(chunk: Chunk) -> str:
    if chunk.kind is Kind.REASONING:
        return "lesson"
    return "log" if chunk.metadata.get("source") == "conversation" else "document"


def _line(chunk: Chunk) -> str:
    text = " ".join(chunk.content.split())
    return text if chunk.kind is Kind.REASONING else f"{chunk.name or chunk.id}: {text}"
