"""Every look of an answer at 40, 60, 80, 120 and 200 columns, as it was approved by eye.

After a change that is meant: `python -m tests.display.test_golden` writes them anew. Look at them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from aurora.display.boxes import render_boxes, render_legacy_scores
from aurora.display.lines import render_lines
from aurora.display.table import Look, render_table
from aurora.types import ChunkHistory, Kind, Lines, SearchResults, Tracking
from tests.builders import NOW, make_chunk
from tests.display.answers import make_answer, make_result, parts, touched

FOLDER = Path(__file__).with_name("golden")
WIDTHS = (40, 60, 80, 120, 200)

ANSWER = make_answer(
    make_result(
        make_chunk(
            "def authenticate_user(name, password):\n"
            '    """Check a password against the stored hash."""\n'
            "    return verify(load_user(name), password)",
            "src/accounts/auth_manager.py", "authenticate_user", lines=Lines(45, 47),
        ),
        score=0.956, contributions=parts(bm25=0.95, semantic=0.92, activation=0.65, exact=1.0),
        terms=("authenticate", "user"), history=touched(*range(2, 25)), accesses=3,
        last_access=NOW - timedelta(hours=5),
    ),
    make_result(
        make_chunk(
            "class 用户认证流程:\n    def 登录(self): ...", "src/账户/用户认证管理器.py",
            "用户认证流程", kind=Kind.CLASS, lines=Lines(1, 210),
        ),
        score=0.731, contributions=parts(bm25=0.4, semantic=0.83),
        terms=("认证",), history=ChunkHistory(Tracking.UNTRACKED),
    ),
    make_result(
        make_chunk(
            "async def launch_🚀(user):\n    await ignite(user)", "scripts/launch.py",
            "RocketLauncher.launch_🚀_when_everyone_is_authenticated", kind=Kind.METHOD,
            lines=Lines(1102, 1103),
        ),
        score=0.702, contributions=parts(bm25=0.3, semantic=0.75),
        terms=("user",), history=ChunkHistory(uncommitted=True),
    ),
    make_result(
        make_chunk(
            "We chose OAuth because 👩‍💻 and 🇯🇵 users asked for it.",
            "logs/conversations/2025/12/oauth-impl.md", "OAuth Setup", kind=Kind.KNOWLEDGE,
            lines=None, created_at=NOW - timedelta(days=335),
        ),
        score=0.654, contributions=parts(bm25=0.2, semantic=0.71), terms=("users",),
    ),
    make_result(
        make_chunk(
            "Authenticate first, then load the user.", "", "Auth Flow", id="lesson-auth-flow",
            kind=Kind.REASONING, lines=None, created_at=NOW - timedelta(days=330),
        ),
        score=0.621, contributions=parts(bm25=0.62, semantic=0.4, recency=0.9),
        terms=("authenticate", "user"),
    ),
    make_result(
        make_chunk("USERS = {}", "settings.py", "settings", kind=Kind.CODE, lines=Lines(3, 3)),
        score=0.1, contributions=parts(bm25=0.1), terms=(),
        history=ChunkHistory(Tracking.UNAVAILABLE),
    ),
    words="authenticate users 认证",
)  # fmt: skip

Render = Callable[[SearchResults, int], str]
LOOKS: Mapping[str, Render] = {
    "table": lambda answer, width: render_table(answer.results, Look(NOW, width)),
    "legacy": lambda answer, width: render_table(answer.results, Look(NOW, width, past=False)),
    "scores": lambda answer, width: render_boxes(answer, Look(NOW, width)),
    "legacy-scores": lambda answer, width: render_legacy_scores(answer, Look(NOW, width)),
    "lines": lambda answer, width: render_lines(answer.results, Look(NOW, width)),
    "context": lambda answer, width: render_lines(answer.results, Look(NOW, width, context=1)),
}
CASES = [(look, width) for look in LOOKS for width in WIDTHS]


def golden(look: str, width: int) -> Path:
    return FOLDER / f"{look}-{width}.txt"


@pytest.mark.parametrize(("look", "width"), CASES)
def test_the_look_is_the_approved_one(look: str, width: int) -> None:
    assert LOOKS[look](ANSWER, width) + "\n" == golden(look, width).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("look", "width"),
    # The rows of lines are never cut, and a terminal of 60 cells wraps them.
    [case for case in CASES if case[0] not in ("lines", "context") or case[1] >= 80],
)
def test_no_line_is_wider_than_the_terminal(look: str, width: int) -> None:
    assert max(map(cell_len, LOOKS[look](ANSWER, width).splitlines())) <= width


@pytest.mark.parametrize(("look", "width"), [case for case in CASES if case[0] == "table"])
def test_the_columns_of_every_row_are_under_their_heads(look: str, width: int) -> None:
    """In cells: a Chinese letter takes two, a flag of two letters two."""
    head, _, *rows = LOOKS[look](ANSWER, width).splitlines()
    for row in rows:
        assert _separators(row) == _separators(head)


def _separators(line: str) -> list[int]:
    return [cell_len(line[:at]) for at in range(len(line)) if line.startswith(" | ", at)]


if __name__ == "__main__":
    for look, width in CASES:
        golden(look, width).write_text(LOOKS[look](ANSWER, width) + "\n", encoding="utf-8")
