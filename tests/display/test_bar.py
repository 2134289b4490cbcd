"""How far a task is, in one line of every width."""

from __future__ import annotations

import io
from itertools import product

import pytest
from rich.cells import cell_len
from rich.console import Console

from aurora.display.progress_bar import ProgressBar
from aurora.types import Progress
from tests.tables import row

HALFWAY = Progress("Indexing", 2500, 5000)


def drawn(progress: Progress, rate: float = 0.0, *, columns: int = 80) -> str:
    """The line without colours; the part of the bar that is to come is then empty."""
    console = Console(file=io.StringIO(), width=columns, color_system=None)
    with console.capture() as captured:
        console.print(ProgressBar(progress, rate), end="")
    return captured.get()


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (120, f"Indexing  {'━' * 20}{' ' * 20}  2,500/5,000  400/s  0:06 left"),
        (60, f"Indexing  {'━' * 8}{' ' * 8}  2,500/5,000  400/s  0:06 left"),
        (52, f"Indexing  {'━' * 4}{' ' * 4}  2,500/5,000  400/s  0:06 left"),
        (51, "Indexing  2,500/5,000  400/s  0:06 left"),
        (41, "Indexing  2,500/5,000  0:06 left"),
        (34, "Indexing  2,500/5,000"),
        (20, "Indexing  50 %"),
        (14, "Indexing"),
        (5, "In"),
        (1, "I"),
    ],
)
def test_what_there_is_no_room_for_is_left_out(columns: int, line: str) -> None:
    assert drawn(HALFWAY, 400.0, columns=columns) == line


def test_no_line_reaches_the_end_of_the_terminal() -> None:
    """A terminal writes `^C` behind it, and there must be room for that."""
    for task, columns in product(("Indexing", "Reading git history", "读取历史"), range(4, 130)):
        for progress in (Progress(task, 12, 100_000), Progress(task, 99_999, 0)):
            with row(progress, columns):
                assert cell_len(drawn(progress, 0.25, columns=columns)) <= columns - 3


@pytest.mark.parametrize(
    ("progress", "rate", "words"),
    [
        (Progress("Embedding", 7, 1200), 0.0, "      7/1,200"),
        (Progress("Embedding", 7, 1200), 3.14, "      7/1,200  3.1/s  6:19 left"),
        (Progress("Embedding", 7, 1200), 0.1, "      7/1,200  0.1/s  3:18:50 left"),
        (Progress("Embedding", 7, 1_000_000), 2500.0, "          7/1,000,000  2,500/s  6:39 left"),
        (Progress("Embedding", 1234, 0), 0.0, "  1,234"),
        (Progress("Embedding", 1234, 0), 99.6, "  1,234  100/s"),
    ],
    ids=["no rate yet", "slow", "hours", "fast", "no total, no rate", "no total"],
)
def test_the_words_behind_the_bar(progress: Progress, rate: float, words: str) -> None:
    line = drawn(progress, rate)
    assert line.startswith("Embedding  ")
    assert line.endswith(words)


def test_a_bar_without_a_total_moves_and_says_no_share() -> None:
    assert "━━━━" in drawn(Progress("Reading git history", 10, 0))
    assert "%" not in drawn(Progress("Reading git history", 10, 0), columns=20)
