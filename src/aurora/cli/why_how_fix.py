"""`aur mem why`, `how` and `fix`: from code to the sessions behind it, and back."""

from __future__ import annotations

import os
import sys

import click

from aurora.cli.paths import seen_from
from aurora.cli.remember import read_stdin
from aurora.cli.session import open_memory, tell
from aurora.cli.terminal import has_colour, print_json, print_text
from aurora.display.table import Paint
from aurora.display.trails import render_fixes, render_how, render_why, trail_record
from aurora.trail_types import Fixes, How, Why

_AS_JSON = "Print one JSON object, for programs: docs/reference/json.md."


@click.command(
    epilog="""\b
Examples:
  aur mem why src/app.py            the whole file
  aur mem why src/app.py:12         a line
  aur mem why src/app.py:12-20      some lines
  aur mem why src/app.py:main       a definition
\b
Commits are those of git blame. A session is listed if it made one of them, or edited the file in
the week before. `aur mem get ID` prints what a session said."""
)
@click.argument("place", metavar="FILE[:LINE|NAME]")
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True,
    help="How many entries to show.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def why(place: str, limit: int, *, as_json: bool) -> None:
    """Show the commits, sessions and decisions behind a file or some of its lines, newest first."""
    with open_memory() as memory:
        answer = memory.trail.why(place, here=seen_from(memory.root), limit=limit)
    _print(answer, as_json=as_json)


@click.command(
    epilog="""\b
Examples:
  aur mem how "pytest tests/test_app.py"
  aur mem how "docker compose up" --json"""
)
@click.argument("command", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def how(command: tuple[str, ...], *, as_json: bool) -> None:
    """Show when a command last worked in a session, its outcome, and what mended its failures.

    A command with options goes inside quotes.
    """
    with open_memory() as memory:
        answer = memory.trail.how(" ".join(command))
    _print(answer, as_json=as_json)


@click.command(
    epilog="""\b
Examples:
  aur mem fix "ModuleNotFoundError: No module named 'yaml'"
  pytest 2>&1 | aur mem fix -"""
)
@click.argument("error", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help=_AS_JSON)
def fix(error: tuple[str, ...], *, as_json: bool) -> None:
    """Show what mended an error in a session, the best first. `-` reads the error from stdin.

    Numbers, paths and addresses may differ. An error that no session had shows nothing.
    """
    text = read_stdin() if error == ("-",) else " ".join(error)
    with open_memory() as memory:
        answer = memory.trail.fix(text)
    _print(answer, as_json=as_json)


def _print(answer: Why | How | Fixes, *, as_json: bool) -> None:
    if as_json:
        print_json(trail_record(answer))
        return
    paint = Paint(has_colour(sys.stdout, os.environ))
    if isinstance(answer, Why):
        print_text(render_why(answer, paint))
    elif isinstance(answer, How):
        print_text(render_how(answer, paint))
    else:
        print_text(render_fixes(answer, paint))
    for note in answer.notes:
        tell(note)
