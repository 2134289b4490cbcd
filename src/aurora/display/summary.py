"""What a run of indexing did, in the words of seed 000, FR-11."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from aurora.text import many
from aurora.types import Kind

_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)


def render_index_summary(
    *, files: int, chunks: Mapping[Kind, int], warnings: int, errors: int, index: str
) -> str:
    """The summary of FR-11.1 with the index line of FR-11.5."""
    code = sum(chunks.get(kind, 0) for kind in _CODE)
    return "\n".join([
        "Indexing complete!",
        "",
        "Summary:",
        f"  Files scanned: {files}",
        f"  Code chunks: {code}",
        f"  Reasoning chunks: {chunks.get(Kind.REASONING, 0)}",
        f"  Knowledge chunks: {chunks.get(Kind.KNOWLEDGE, 0)}",
        f"  Total chunks: {sum(chunks.values())}",
        "",
        f"  Errors: {errors}",
        f"  Warnings: {warnings}",
        "",
        index,
    ])  # fmt: skip


def render_index_line(chunks: int, saved_to: str) -> str:
    """The line of FR-11.5; `saved_to` is empty when the index could not be written."""
    where = f"saved to {saved_to}" if saved_to else "not saved"
    return f"BM25 index: Built ({many(chunks, 'chunk')} indexed, {where})"


def render_refresh(
    at: datetime, *, read: int, removed: int, left_out: int, histories: int, seconds: float
) -> str:
    """One run of a watch in one line."""
    counts = f"read {read}, removed {removed}, left out {left_out}, histories {histories}"
    return f"{at:%Y-%m-%d %H:%M:%S}  {counts}, {seconds:.2f} s"


def human_size(count: int) -> str:
    """Bytes as a person would say it."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(size, 1) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
