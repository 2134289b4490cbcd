"""What goes to stdout whatever the terminal can show: text, and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from aurora.cli.terminal import is_terminal
from aurora.types import Json


def can_show(text: str) -> bool:
    """False when stdout's encoding has no such letters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_text(text: str) -> None:
    """Print as it is, colours included, with `?` for letters that stdout has no way to show."""
    if not can_show(text):
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "replace").decode(encoding)
    click.echo(text, color=True)


def print_json(record: Mapping[str, Json]) -> None:
    """One object and nothing else: in lines for a person, in one line for a program."""
    indent = 2 if is_terminal(sys.stdout) else None
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)
    click.echo(text.encode())  # JSON is UTF-8, whatever the terminal speaks
