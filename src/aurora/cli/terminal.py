"""What a stream can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

_NO_CURSOR = {"dumb", "unknown"}  # a line that was written stays: an editor's shell, a console log


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the program began (`2>&-`) is None."""
    return stream is not None and stream.isatty()


def can_redraw(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether a line can be written over."""
    return is_terminal(stream) and environ.get("TERM", "").lower() not in _NO_CURSOR
