"""How an answer is printed: as a table, with its scores, with its lines, as JSON, as file names."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from aurora.cli.printing import print_json, print_text
from aurora.cli.terminal import has_colour, has_links, is_terminal, width_of
from aurora.display.paint import Paint
from aurora.display.records import Source
from aurora.text import printable
from aurora.types import SearchResults


@dataclass(frozen=True, slots=True)
class Shape:
    """What was asked for. Without anything it is the table of FR-5.1."""

    legacy: bool = False
    show_scores: bool = False
    git: bool = True
    as_json: bool = False
    files: bool = False
    context: int | None = None

    @property
    def is_table(self) -> bool:
        return not (self.as_json or self.files)

    @property
    def past(self) -> bool:
        return self.git and not self.legacy


def print_answer(
    answer: SearchResults, source: Source, shape: Shape, *, now: datetime, links: str
) -> None:
    """The answer on stdout, and where it is data only what is data."""
    if shape.as_json:
        from aurora.display.records import search_record

        print_json(search_record(answer, source, now=now, context=shape.context, past=shape.git))
    elif not answer.results:
        from aurora.display.nothing import render_nothing

        click.echo(render_nothing(answer), err=shape.files)
    elif shape.files:
        for path in _files(answer, source):
            # Bytes, or click would take away from a name what looks like a colour.
            click.echo(printable(path) if is_terminal(sys.stdout) else path.encode())
    else:
        paint = _paint(source, links)
        print_text(_rendered(answer, shape, now=now, paint=paint))


def _rendered(answer: SearchResults, shape: Shape, *, now: datetime, paint: Paint) -> str:
    # Each look is imported when it is asked for: most searches print a table.
    width = width_of(sys.stdout, os.environ)
    if shape.show_scores and shape.legacy:
        from aurora.display.boxes import render_legacy_scores

        return render_legacy_scores(
            answer, now=now, width=width, context=shape.context, paint=paint
        )
    if shape.show_scores:
        from aurora.display.boxes import render_boxes

        return render_boxes(
            answer, now=now, width=width, past=shape.past, context=shape.context, paint=paint
        )
    if shape.context is not None:
        from aurora.display.blocks import render_blocks

        return render_blocks(answer, now=now, context=shape.context, past=shape.past, paint=paint)
    from aurora.display.table import render_table

    return render_table(answer.results, now=now, width=width, past=shape.past, paint=paint)


def _paint(source: Source, links: str) -> Paint:
    """Colour and links as far as stdout has them and the settings want them."""
    colour = has_colour(sys.stdout, os.environ)
    chosen = links != "never" and is_terminal(sys.stdout)
    if not (has_links(sys.stdout, os.environ) if links == "auto" else chosen):
        return Paint(colour)
    from aurora.cli.links import make_link

    return Paint(colour, make_link("" if links == "auto" else links, source.root))


def _files(answer: SearchResults, source: Source) -> list[str]:
    """The files of the results, each once, the best first, as they are named from here."""
    paths = dict.fromkeys(result.chunk.path for result in answer.results if result.chunk.path)
    return [_from_here(path, source.root) for path in paths]


def _from_here(path: str, root: Path | None) -> str:
    """Stored paths start at the project's root, wherever in it one is."""
    if root is None or root == Path.cwd() or Path(path).is_absolute():
        return path
    return os.path.relpath(root / path)
