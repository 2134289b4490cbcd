"""What goes to stdout whatever the terminal can show: text, and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from aurora.cli.terminal import is_terminal
from aurora.text import printable
from aurora.types import Json

_ASCII = str.maketrans({**dict(zip("┌┐└┘├─│…", "++++|-|~", strict=True)), "⭐": "* "})
_KEPT = "\t\u200c\u200d"  # tabs, and what joins letters and emoji


def can_show(text: str) -> bool:
    """False when stdout's encoding has no such letters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_text(text: str) -> None:
    """Print, colours included; what stdout has no way to show as lines of ASCII, or `?`."""
    if not can_show(text):
        encoding = sys.stdout.encoding
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    click.echo(text, color=True)


def print_stored(text: str) -> None:
    """A text of the memory: for programs byte for byte, on a terminal without what steers it."""
    if is_terminal(sys.stdout):
        print_text("\n".join(printable(line, keep=_KEPT) for line in text.splitlines()))
    else:
        click.echo(text.encode())  # bytes, or click would take away what looks like a colour


def print_json(record: Mapping[str, Json]) -> None:
    """One object and nothing else: in lines for a person, in one line for a program."""
    indent = 2 if is_terminal(sys.stdout) else None
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)
    # JSON is UTF-8, whatever the terminal speaks; a query may hold bytes that are none.
    click.echo(text.encode(errors="replace"))
