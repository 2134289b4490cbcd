"""`--show-scores`: the boxes of seed 000, FR-6, at every width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from aurora.display.boxes import render_boxes, render_legacy_scores
from aurora.display.table import Look, Paint
from aurora.types import ChunkHistory, Kind, Lines, Tracking
from tests.builders import NOW, make_chunk
from tests.display.answers import LESSON, LOG, SAID, SEED, make_answer, make_result, parts, touched

WIDE = make_result(
    make_chunk("x", "src/" + "deep/" * 30 + "认证.py", "用户认证流程🚀", lines=Lines(1, 2)),
    terms=(),
    history=touched(1),
)


def test_ut_display_06_the_box_of_fr_6_1() -> None:
    """The seed's example; the sum behind the final score is ours, and all edges are flush."""
    assert render_boxes(make_answer(SEED), Look(NOW)) == (
        "┌─ auth_manager.py | function | authenticate_user (Lines 45-67) ───────────────┐\n"
        "│ Final Score: 0.856 (weighted: 0.317 bm25 + 0.273 semantic + 0.217            │\n"
        "│ activation)                                                                  │\n"
        '│   ├─ BM25:       0.950 ⭐ (exact keyword match on "authenticate")            │\n'
        "│   ├─ Semantic:   0.820    (high conceptual relevance)                        │\n"
        "│   └─ Activation: 0.650    (accessed 3x, 23 commits, last used 2 days ago)    │\n"
        "│ Git: 23 commits, last modified 2 days ago                                    │\n"
        "└──────────────────────────────────────────────────────────────────────────────┘"
    )


@pytest.mark.parametrize("width", [36, 40, 60, 80, 100, 120, 200, None])
def test_every_line_of_a_box_is_as_wide_as_the_box(width: int | None) -> None:
    """6.3: as wide as the terminal, at most 120; 80 where there is none, more for a long title."""
    boxes = render_boxes(make_answer(SEED, WIDE, LOG), Look(NOW, width=width))
    expected = 120 if width is None else min(width, 120)
    assert {cell_len(line) for line in boxes.splitlines()} == {expected}


def test_a_pipe_has_80_cells() -> None:
    lines = render_boxes(make_answer(SEED), Look(NOW)).splitlines()
    assert {cell_len(line) for line in lines} == {80}


@pytest.mark.parametrize("width", [1, 20, 35])
def test_a_terminal_too_narrow_for_a_box_gets_the_narrowest(width: int) -> None:
    lines = render_boxes(make_answer(SEED), Look(NOW, width=width)).splitlines()
    assert {cell_len(line) for line in lines} == {36}


@pytest.mark.parametrize("width", [36, 44, 60])
def test_what_does_not_fit_goes_on_below(width: int) -> None:
    """Nothing of a reason is cut; the branch goes on beside it."""
    boxes = render_boxes(make_answer(SEED), Look(NOW, width=width))
    inside = [line[1:-1].strip() for line in boxes.splitlines()]
    told = " ".join(line.removeprefix("│").strip() for line in inside)
    assert '(exact keyword match on "authenticate")' in told
    assert "(accessed 3x, 23 commits, last used 2 days ago)" in told


def test_a_long_title_keeps_the_end_of_its_path() -> None:
    title = render_boxes(make_answer(WIDE), Look(NOW, width=60)).splitlines()[0]
    assert title.startswith("┌─ …")
    assert "认证.py | function | 用户认证流程🚀 (Lines 1-2)" in title


@pytest.mark.parametrize(
    ("history", "line"),
    [
        (touched(1), "Git: 1 commit, last modified 1 day ago"),
        (ChunkHistory(Tracking.UNTRACKED), "Git: - (untracked)"),
        (ChunkHistory(Tracking.UNAVAILABLE), "Git: - (unavailable)"),
        (ChunkHistory(uncommitted=True), "Git: - (uncommitted)"),
    ],
)
def test_the_last_line_is_what_git_knows(history: ChunkHistory, line: str) -> None:
    box = render_boxes(make_answer(make_result(history=history)), Look(NOW)).splitlines()
    assert box[-2].strip("│ ") == line


def test_what_git_was_not_asked_about_has_no_such_line() -> None:
    assert "Git" not in render_boxes(make_answer(make_result(history=None)), Look(NOW))


@pytest.mark.parametrize(("result", "date"), [(LOG, "2025-12-15"), (LESSON, "2025-12-20")])
def test_prose_has_a_date_instead(result: object, date: str) -> None:
    box = render_boxes(make_answer(result), Look(NOW))  # type: ignore[arg-type]
    assert f"│ Date: {date} " in box
    assert "Lines" not in box


def test_without_git_only_the_last_line_goes() -> None:
    box = render_boxes(make_answer(SEED), Look(NOW, past=False))
    assert "Git:" not in box
    assert "23 commits" in box  # why it has its activation


def test_another_signal_that_took_part_has_a_line_too() -> None:
    result = make_result(contributions=parts(bm25=0.5, exact=1.0, recency=0.5))
    box = render_boxes(make_answer(result, signals=("bm25", "exact", "recency")), Look(NOW))
    assert "├─ Name:       1.000    (the query is its name)" in box
    assert "└─ Recency:    0.500    (an older note counts less)" in box


def test_ut_display_05_fr_6_5_scores_below_the_rows_of_the_legacy_table() -> None:
    assert render_legacy_scores(make_answer(SEED, LOG), Look(NOW)) == (
        "File            | Type     | Name              | Lines | Score\n"
        "----------------+----------+-------------------+-------+------\n"
        "auth_manager.py | function | authenticate_user | 45-67 | 0.856\n"
        '  ├─ BM25:       0.950 ⭐ (exact keyword match on "authenticate")\n'
        "  ├─ Semantic:   0.820    (high conceptual relevance)\n"
        "  └─ Activation: 0.650    (accessed 3x, 23 commits, last used 2 days ago)\n"
        "oauth-impl.md   | know     | OAuth Setup       | -     | 0.654\n"
        "  ├─ BM25:       0.950    (no term of the query)\n"
        "  ├─ Semantic:   0.820    (high conceptual relevance)\n"
        "  └─ Activation: 0.650    (accessed 0x, never used)"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_legacy_scores_stay_within_the_terminal(width: int) -> None:
    lines = render_legacy_scores(make_answer(SEED, WIDE), Look(NOW, width=width)).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_a_context_puts_the_lines_below_each_box() -> None:
    boxes = render_boxes(make_answer(SEED), Look(NOW, context=0)).splitlines()
    assert boxes[-1] == "  > def authenticate_user(name, password):"


def test_colour_and_links_change_no_width() -> None:
    paint = Paint(colour=True, link=lambda chunk, line: f"file:///{chunk.path}#{line}")
    plain = render_boxes(make_answer(SEED), Look(NOW))
    painted = render_boxes(make_answer(SEED), Look(NOW, paint=paint))
    assert painted != plain
    title = "auth_manager.py | function | authenticate_user (Lines 45-67)"
    link = f"\033]8;;file:///auth_manager.py#45\033\\\033[1;36m{title}\033[0m\033]8;;\033\\"
    assert painted.replace(link, title) == plain


def test_a_lesson_without_a_path_is_named_by_its_id() -> None:
    box = render_boxes(make_answer(LESSON), Look(NOW))
    assert box.startswith("┌─ lesson-1 | reas | Auth Flow ─")
    assert LESSON.chunk.kind is Kind.REASONING


def test_a_session_is_shown_with_its_title_and_how_to_open_it() -> None:
    box = render_boxes(make_answer(SAID), Look(NOW))
    assert box.startswith("┌─ codex 5e551011 | exchange | Herons ─")
    assert "│ Date: 2026-11-15 " in box
    assert "│ Open: aur sessions show 5e551011 " in box
