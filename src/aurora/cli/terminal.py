"""What a stream can show: a line that changes, colour, links, and how wide it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

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
