"""Rows of a table that one test loops over: a failed check names its row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def row(*values: object) -> Iterator[None]:
    """Adds the row to the error of a check, where pytest shows it as a note."""
    try:
        yield
    except Exception as exc:
        exc.add_note(f"row: {', '.join(map(repr, values))}")
        raise
