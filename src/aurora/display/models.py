"""Embedding models, a line each: for people as columns, for programs as records."""

from __future__ import annotations

from collections.abc import Sequence

from aurora.display.cells import cell_len, pad
from aurora.text import printable
from aurora.types import Json, ModelEntry

_TITLES = ("Name", "State", "Dimension", "Window", "Size", "Licence", "Source")
_GAP = "  "
_UNKNOWN = "-"


def render_models(entries: Sequence[ModelEntry]) -> str:
    """Columns as wide as what is in them. Nothing is cut: the source, the longest, is last."""
    rows = [_TITLES, *map(_cells, entries)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        _GAP.join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def models_record(entries: Sequence[ModelEntry], folder: str) -> dict[str, Json]:
    """The same for programs; `bytes` is 0 for what is not installed."""
    return {
        "folder": folder,
        "models": [
            {
                "name": entry.name,
                "state": str(entry.state),
                "dimension": entry.dimension,
                "window": entry.window,
                "bytes": entry.size,
                "licence": entry.licence,
                "source": entry.source,
            }
            for entry in entries
        ],
    }


def megabytes(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} kB"


def _cells(entry: ModelEntry) -> tuple[str, ...]:
    cells = (
        entry.name,
        str(entry.state),
        f"{entry.dimension:,}" if entry.dimension else "",
        f"{entry.window:,}" if entry.window else "",
        megabytes(entry.size) if entry.size else "",
        entry.licence,
        entry.source,
    )
    return tuple(printable(cell) or _UNKNOWN for cell in cells)
