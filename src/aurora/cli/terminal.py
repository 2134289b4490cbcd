"""What a stream can show: a line that changes, colour, links, and how wide it is.

What goes to stdout whatever the terminal can show: text, and JSON for programs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TextIO

import click

from aurora.text import printable
from aurora.types import Json

_NO_CURSOR = {"dumb", "unknown"}  # a line that was written stays: an editor's shell, a console log
# Terminals known to show OSC 8 links. Others mostly ignore them, but some print the address.
_LINKING_PROGRAMS = {"iterm.app", "wezterm", "vscode", "ghostty", "zed", "hyper", "tabby", "rio"}
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
_LINKING_SIGNS = ("WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID", "DOMTERM", "TERMINUS_SUBLIME")
_VTE = 5000  # GNOME's terminals, from 0.50 on


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the program began (`2>&-`) is None."""
    return stream is not None and stream.isatty()


def can_redraw(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether a line can be written over."""
    return is_terminal(stream) and environ.get("TERM", "").lower() not in _NO_CURSOR


def has_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """On a terminal, unless NO_COLOR is set; FORCE_COLOR also colours a pipe, or nothing if 0."""
    if environ.get("NO_COLOR") or environ.get("FORCE_COLOR") == "0":
        return False
    return bool(environ.get("FORCE_COLOR")) or can_redraw(stream, environ)


def has_links(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether a text can lead to a file (OSC 8); FORCE_HYPERLINK decides where it is set."""
    if "FORCE_HYPERLINK" in environ:
        return environ["FORCE_HYPERLINK"] not in ("", "0")
    if not can_redraw(stream, environ):
        return False
    return (
        environ.get("TERM_PROGRAM", "").lower() in _LINKING_PROGRAMS
        or environ.get("TERM", "").startswith(_LINKING_TERMS)
        or any(sign in environ for sign in _LINKING_SIGNS)
        or _number(environ.get("VTE_VERSION", "")) >= _VTE
    )


def width_of(stream: TextIO | None, environ: Mapping[str, str]) -> int | None:
    """Cells in a line; none for what is no terminal: there nothing is cut.

    COLUMNS counts before what the terminal says, as everywhere.
    """
    if stream is None or not is_terminal(stream):
        return None
    if (columns := _number(environ.get("COLUMNS", ""))) > 0:
        return columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


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
