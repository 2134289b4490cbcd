"""What a memory holds: facts, then counts with a small chart beside them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from aurora.display.cells import cell_len, pad
from aurora.display.past import relative_time
from aurora.text import printable
from aurora.types import Kind

BLOCKS = "▏▎▍▌▋▊▉█"  # an eighth of a cell, two eighths, … a whole one
HASHES = "#"  # for a terminal that has no blocks
_LONGEST, _SHORTEST = 30, 4  # cells: a longer bar says nothing more, a shorter one nothing
_GAP = "  "
_MOST_NAMESPACES = 10
_UNNAMED = "(unnamed)"


def render_stats(
    facts: Mapping[str, str],
    chunks: Mapping[Kind, int],
    namespaces: Mapping[str, int] | None = None,
    *,
    width: int | None = None,
    blocks: str = BLOCKS,
) -> str:
    """Facts about a memory, its namespaces if any has a name, and its chunks by kind.

    Charts are at most as wide as the terminal allows; facts are not cut.
    """
    tables = {"Chunks": (sum(chunks.values()), _kinds(chunks))}
    if namespaces and any(namespaces):
        tables = {"Namespaces": (len(namespaces), _largest(namespaces)), **tables}
    names = [*facts, *(name for title, (_, counts) in tables.items() for name in (title, *counts))]
    column = max(map(cell_len, names))
    lines = [f"{pad(name, column)}{_GAP}{value}" for name, value in facts.items()]
    for title, (total, counts) in tables.items():
        lines += _table(title, total, counts, column, width=width, blocks=blocks)
    return "\n".join(lines)


def embedder_words(name: str, *, dimension: int, embedded: int, chunks: int) -> str:
    """Who made the vectors, and of how many chunks; the name is empty when nobody did."""
    if not name:
        return "none: search goes by words and use"
    counted = f"{embedded:,} of {chunks:,} chunks have a vector"
    return f"{printable(name)} ({dimension:,} dimensions), {counted}"


def moment_words(at: datetime | None, now: datetime) -> str:
    """A moment as people say it, and its date for those who want to know."""
    return f"{relative_time(now - at)} ({at:%Y-%m-%d %H:%M})" if at else "never"


def _table(
    title: str,
    total: int,
    counts: Mapping[str, int],
    column: int,
    *,
    width: int | None,
    blocks: str,
) -> list[str]:
    numbers = max(len(f"{count:,}") for count in (total, *counts.values()))
    room = _LONGEST if width is None else width - column - numbers - 2 * len(_GAP)
    most = max(counts.values(), default=0)
    lines = [f"{pad(title, column)}{_GAP}{total:>{numbers},}"]
    for name, count in counts.items():
        bar = _bar(count, most, min(room, _LONGEST), blocks)
        row = f"{pad(name, column)}{_GAP}{count:>{numbers},}{_GAP}{bar}"
        lines.append(row.rstrip())
    return lines


def _bar(count: int, most: int, room: int, blocks: str) -> str:
    """As long as its share of the longest; whatever is there at all can be seen."""
    if room < _SHORTEST or not count:
        return ""
    steps = max(round(room * len(blocks) * count / most), 1)
    whole, part = divmod(steps, len(blocks))
    return blocks[-1] * whole + (blocks[part - 1] if part else "")


def _kinds(chunks: Mapping[Kind, int]) -> dict[str, int]:
    return {f"{_GAP}{kind}": chunks[kind] for kind in Kind if kind in chunks}


def _largest(namespaces: Mapping[str, int]) -> dict[str, int]:
    ordered = sorted(namespaces.items(), key=lambda item: (-item[1], item[0]))
    shown = {
        f"{_GAP}{printable(name) or _UNNAMED}": count for name, count in ordered[:_MOST_NAMESPACES]
    }
    if rest := ordered[_MOST_NAMESPACES:]:
        shown[f"{_GAP}… and {len(rest):,} more"] = sum(count for _, count in rest)
    return shown
