"""What a stream can show (redrawn lines, colour, links, width), and printing on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TextIO

import click

from aurora.text import printable
from aurora.types import Json

_NO_CURSOR = {"dumb", "unknown"}  # TERM of an editor's shell or a console log
# Terminals that show OSC 8 links. Most others ignore them, but some print the address.
_LINKING_PROGRAMS = {"iterm.app", "wezterm", "vscode", "ghostty", "zed", "hyper", "tabby", "rio"}
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
_LINKING_SIGNS = ("WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID", "DOMTERM", "TERMINUS_SUBLIME")
_VTE = 5000  # GNOME's terminals, from 0.50 on
_ASCII = str.maketrans({**dict(zip("┌┐└┘├─│…", "++++|-|~", strict=True)), "⭐": "* "})
_KEPT = "\t\u200c\u200d"  # tabs, and the joiners of letters and emoji


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal. A stream closed before the start (`2>&-`) is None."""
    return stream is not None and stream.isatty()


def can_redraw(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether a line can be overwritten."""
    return is_terminal(stream) and environ.get("TERM", "").lower() not in _NO_CURSOR


def has_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether to print colours: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""
    if environ.get("NO_COLOR") or environ.get("FORCE_COLOR") == "0":
        return False
    return bool(environ.get("FORCE_COLOR")) or can_redraw(stream, environ)


def has_links(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether the terminal shows links (OSC 8); FORCE_HYPERLINK overrides the detection."""
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
    """Cells in a line, from COLUMNS or the terminal; None in a pipe, where nothing is cut."""
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


def can_show(text: str) -> bool:
    """Whether stdout's encoding has these letters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text with its colours. Letters that stdout cannot show become ASCII or `?`."""
    if not can_show(text):
        encoding = sys.stdout.encoding
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    click.echo(text, color=True, err=err)


def print_stored(text: str) -> None:
    """Print stored text: byte for byte in a pipe, without control characters on a terminal."""
    if is_terminal(sys.stdout):
        print_text("\n".join(printable(line, keep=_KEPT) for line in text.splitlines()))
    else:
        click.echo(text.encode())  # bytes: from a str, click removes colour sequences


def print_json(record: Mapping[str, Json]) -> None:
    """Print one object: indented on a terminal, in one line in a pipe."""
    indent = 2 if is_terminal(sys.stdout) else None
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=indent)
    # JSON is always UTF-8; a query may hold bytes that are not.
    click.echo(text.encode(errors="replace"))
