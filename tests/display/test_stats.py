"""What a memory holds, in columns and bars."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rich.cells import cell_len

from aurora.display.reports import HASHES, embedder_words, moment_words, render_stats
from aurora.types import Kind
from tests.builders import NOW

CHUNKS = {Kind.KNOWLEDGE: 2, Kind.FUNCTION: 12_000, Kind.CLASS: 6_000}


def bars(text: str) -> dict[str, str]:
    """Name → what stands behind the number."""
    rows = (line.split() for line in text.splitlines())
    return {row[0]: row[2] for row in rows if len(row) > 2}


def test_facts_then_chunks_by_kind() -> None:
    """Values stand in one column, numbers end in one; kinds without chunks are left out."""
    assert render_stats({"Memory": "~/.aurora/memory.db (1.5 MiB)", "Files": "12"}, CHUNKS) == (
        "Memory       ~/.aurora/memory.db (1.5 MiB)\n"
        "Files        12\n"
        "Chunks       18,002\n"
        "  function   12,000  ██████████████████████████████\n"
        "  class       6,000  ███████████████\n"
        "  knowledge       2  ▏"
    )


def test_an_empty_memory() -> None:
    """No facts and no chunks still say so."""
    assert render_stats({}, {}) == "Chunks  0"


@pytest.mark.parametrize("width", [80, 60, 40, 30])
def test_bars_are_as_long_as_the_terminal_allows(width: int) -> None:
    text = render_stats({}, CHUNKS, width=width)
    assert max(map(cell_len, text.splitlines())) == min(width, 51)
    assert "█" in text


@pytest.mark.parametrize("width", [24, 10, 1])
def test_where_there_is_no_room_for_bars_there_are_numbers(width: int) -> None:
    text = render_stats({}, CHUNKS, width=width)
    assert bars(text) == {}
    assert "  function   12,000" in text.splitlines()


def test_a_bar_is_its_share_of_the_longest_to_an_eighth_of_a_cell() -> None:
    text = render_stats({}, {Kind.FUNCTION: 240, Kind.METHOD: 121, Kind.CLASS: 1})
    assert bars(text) == {"function": "█" * 30, "method": "█" * 15 + "▏", "class": "▏"}


def test_a_terminal_without_blocks_gets_hashes() -> None:
    text = render_stats({}, CHUNKS, blocks=HASHES)
    assert bars(text) == {"function": "#" * 30, "class": "#" * 15, "knowledge": "#"}


def test_namespaces_are_listed_once_one_has_a_name() -> None:
    assert "Namespaces" not in render_stats({}, CHUNKS, {"": 18_002})
    text = render_stats({}, CHUNKS, {"billing": 2, "": 18_000})
    assert text.splitlines()[:3] == [
        "Namespaces        2",
        "  (unnamed)  18,000  ██████████████████████████████",
        "  billing         2  ▏",
    ]


def test_of_many_namespaces_the_largest_are_listed_and_the_rest_counted() -> None:
    text = render_stats({}, {}, {f"n{number:02}": 100 - number for number in range(13)})
    lines = text.splitlines()
    assert lines[0].split() == ["Namespaces", "13"]
    assert lines[1].split()[:2] == ["n00", "100"]
    assert lines[11].split()[:5] == ["…", "and", "3", "more", "267"]
    assert lines[12].split() == ["Chunks", "0"]


def test_wide_and_dangerous_names_keep_the_columns() -> None:
    text = render_stats({}, {Kind.CODE: 1}, {"用户": 1, "a\033[31m": 1})
    ends = {cell_len(line[: line.index(" 1") + 2]) for line in text.splitlines() if " 1" in line}
    assert len(ends) == 1
    assert "\033" not in text


def test_who_made_the_vectors() -> None:
    assert embedder_words("", dimension=0, embedded=0, chunks=3).startswith("none: ")
    assert embedder_words("static", dimension=1_024, embedded=2_000, chunks=3_000) == (
        "static (1,024 dimensions), 2,000 of 3,000 chunks have a vector"
    )


def test_a_moment_is_told_by_its_age_and_its_date() -> None:
    assert moment_words(NOW - timedelta(hours=3), NOW) == "3 hours ago (2026-11-15 09:00)"
    assert moment_words(None, NOW) == "never"
