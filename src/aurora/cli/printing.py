"""What goes to stdout whatever the terminal can show: text, and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import click

from aurora.types import Json


def can_show(text: str) -> bool:
    """False when stdout's encoding has no such letters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_text(text: str) -> None:
    """Print, with `?` for letters that stdout has no way to show."""
    if not can_show(text):
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "replace").decode(encoding)
    click.echo(text)


def print_json(value: Mapping[str, Json]) -> None:
    """One object and nothing else; plain ASCII where stdout takes no other letters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    click.echo(text if can_show(text) else json.dumps(value, indent=2))
