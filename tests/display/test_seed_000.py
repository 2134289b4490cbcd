"""UT-DISPLAY-01 … 10 of seed 000, by their numbers; 07 is in test_reasons.py."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from aurora.display.boxes import render_boxes
from aurora.display.lines import render_nothing
from aurora.display.table import Look, render_table
from aurora.types import ChunkHistory, SearchResult, SearchResults, Tracking
from tests.builders import NOW
from tests.display.answers import LESSON, LOG, SEED, make_answer, make_result

COLUMNS = ["File", "Type", "Name", "Lines", "Score", "Commits", "Last Modified"]


def table(results: Sequence[SearchResult], *, past: bool = True) -> list[dict[str, str]]:
    """The rows of a rendered table by their heads."""
    head, _, *rows = render_table(results, Look(NOW, past=past)).splitlines()
    names = [cell.strip() for cell in head.split(" | ")]
    cells = ([cell.strip() for cell in row.split(" | ")] for row in rows)
    return [dict(zip(names, row, strict=True)) for row in cells]


def test_ut_display_01_table_alignment() -> None:
    lines = render_table([SEED, LOG, LESSON], Look(NOW)).splitlines()
    ends = [[cell_len(line[:at]) for at in range(len(line)) if line[at] in "|+"] for line in lines]
    assert len(ends[0]) == len(COLUMNS) - 1
    assert ends == [ends[0]] * len(lines)


def test_ut_display_02_git_tracked_file() -> None:
    (row,) = table([SEED])
    assert (row["Commits"], row["Last Modified"]) == ("23", "2 days ago")


@pytest.mark.parametrize(
    "tracking", [Tracking.UNTRACKED, Tracking.UNAVAILABLE], ids=["ut_display_03", "ut_display_04"]
)
def test_ut_display_03_and_04_git_untracked_and_unavailable(tracking: Tracking) -> None:
    (row,) = table([make_result(history=ChunkHistory(tracking))])
    assert row["Commits"] == row["Last Modified"] == f"- ({tracking})"


def test_ut_display_05_legacy_mode() -> None:
    (row,) = table([SEED], past=False)
    assert list(row) == COLUMNS[:5]


def test_ut_display_06_show_scores_box_drawing() -> None:
    assert set("┌├└│") <= set(render_boxes(make_answer(SEED), Look(NOW)))


def test_ut_display_08_knowledge_chunk_display() -> None:
    (row,) = table([LOG])
    assert (row["Type"], row["Lines"], row["File"]) == ("know", "-", "oauth-impl.md")
    assert row["Last Modified"] == "2025-12-15"


def test_ut_display_09_reasoning_chunk_display() -> None:
    (row,) = table([LESSON])
    assert (row["Type"], row["Last Modified"], row["Commits"]) == ("reas", "2025-12-20", "-")


@pytest.mark.parametrize(
    ("filtered", "nearest", "first"),
    [
        (False, (), "  - use fewer or other words"),
        (True, (), "  - ask for more: without a filter"),
        (True, ("login",), "  - did you mean login?"),
    ],
)
def test_ut_display_10_empty_results(filtered: bool, nearest: tuple[str, ...], first: str) -> None:
    empty = make_answer()
    answer = SearchResults(empty.query, (), empty.fusion, (), nearest=nearest, filtered=filtered)
    title, _, heading, *suggestions = render_nothing(answer, Look(NOW)).splitlines()
    assert (title, heading) == ("No relevant results found", "Suggestions:")
    assert suggestions[0].startswith(first)
