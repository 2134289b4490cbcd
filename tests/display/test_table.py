"""Search results as a table: columns, abbreviations, alignment, and what a narrow terminal cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len

from aurora.display import table
from aurora.types import ChunkHistory, Kind, Lines, SearchResult
from tests.builders import NOW, make_chunk

LOGIN = "def authenticate_user(): ..."


def make_result(path: str, name: str, score: float = 0.5, **fields: object) -> SearchResult:
    values = {"kind": Kind.FUNCTION, "lines": Lines(45, 67)} | fields
    return SearchResult(make_chunk(LOGIN, path, name, **values), score, ())


def render_table(results: Sequence[SearchResult], *, width: int | None = None) -> str:
    return table.render_table(results, table.Look(NOW, width=width))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(" | ")]


def separators(line: str) -> list[int]:
    """Where the columns of a line end, in cells of the terminal."""
    return [cell_len(line[:at]) for at, letter in enumerate(line) if letter in "|+"]


def touched(*days_ago: float) -> ChunkHistory:
    """The history of lines with commits so many days before now."""
    times = sorted((NOW - timedelta(days=days)).timestamp() for days in days_ago)
    return ChunkHistory(commits=tuple(map(int, times)))


def dated(day: int) -> dict[str, object]:
    return {"lines": None, "created_at": datetime(2025, 12, day, tzinfo=UTC)}


EXAMPLES = [
    replace(
        make_result("auth_manager.py", "authenticate_user", 0.856), history=touched(*range(2, 25))
    ),
    make_result("oauth-impl.md", "OAuth Setup", 0.654, kind=Kind.KNOWLEDGE, **dated(15)),
    make_result("auth-pattern", "Auth Flow", 0.621, kind=Kind.REASONING, **dated(20)),
]


def test_the_columns_are_those_of_fr_5_1() -> None:
    """Seven columns, with the rows of FR-5.1.

    The seed draws no rule below the heads and pads Lines by one; a rule and no padding is ours.
    """
    assert render_table(EXAMPLES) == (
        "File            | Type     | Name              | Lines | Score | Commits | Last Modified\n"
        "----------------+----------+-------------------+-------+-------+---------+--------------\n"
        "auth_manager.py | function | authenticate_user | 45-67 | 0.856 | 23      | 2 days ago\n"
        "oauth-impl.md   | know     | OAuth Setup       | -     | 0.654 | -       | 2025-12-15\n"
        "auth-pattern    | reas     | Auth Flow         | -     | 0.621 | -       | 2025-12-20"
    )


def test_no_results_give_the_heads_alone() -> None:
    """A table of nothing is still a table."""
    assert render_table([]) == (
        "File | Type | Name | Lines | Score | Commits | Last Modified\n"
        "-----+------+------+-------+-------+---------+--------------"
    )


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (Kind.FUNCTION, "function"),
        (Kind.METHOD, "method"),
        (Kind.CLASS, "class"),
        (Kind.CODE, "code"),
        (Kind.REASONING, "reas"),
        (Kind.KNOWLEDGE, "know"),
    ],
)
def test_the_type_is_abbreviated_as_in_fr_5_2(kind: Kind, shown: str) -> None:
    """Code is named in full, reasoning and knowledge by four letters."""
    row = render_table([make_result("a.py", "f", kind=kind)]).splitlines()[2]
    assert cells(row) == ["a.py", shown, "f", "45-67", "0.500", "-", "-"]


def test_every_kind_has_its_row_above() -> None:
    """A new kind needs a decision on its abbreviation."""
    assert len(Kind) == 6


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"path": ""}, ["the-id", "function", "A.f", "45-67"], id="no-path"),
        pytest.param({"qualified_name": ""}, ["a.py", "function", "f", "45-67"], id="plain-name"),
        pytest.param({"id": "a.py:N: f#2"}, ["a.py", "function", "N: f#2", "45-67"], id="colon"),
        pytest.param({"lines": Lines(7, 7)}, ["a.py", "function", "A.f", "7-7"], id="one-line"),
        pytest.param({"lines": None}, ["a.py", "function", "A.f", "-"], id="no-lines"),
    ],
)
def test_what_is_missing_is_shown_by_the_next_best(
    fields: dict[str, object], expected: list[str]
) -> None:
    """The qualified name before the name, the id where there is no path."""
    values: dict[str, object] = {"id": "the-id", "qualified_name": "A.f", "lines": Lines(45, 67)}
    chunk = make_chunk(LOGIN, **{"path": "a.py", "name": "f"} | values | fields)
    row = render_table([SearchResult(chunk, 1.0, ())]).splitlines()[2]
    assert cells(row) == [*expected, "1.000", "-", "-"]


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        pytest.param("docs/spec.md", "Spec > Use (docs/spec.md)", id="file"),
        pytest.param("a meeting", "Spec > Use (a meeting)", id="source"),
        pytest.param("x/Spec > Use", "x/Spec > Use", id="same-name"),
        pytest.param("", "Spec > Use", id="nothing"),
    ],
)
def test_a_document_shows_its_id_and_where_it_comes_from(origin: str, name: str) -> None:
    """Its id is what `aur mem get` takes; a name that the origin holds is not said twice."""
    document = make_result(
        "", "Use", id="doc-spec-1", qualified_name="Spec > Use",
        kind=Kind.KNOWLEDGE, metadata={"origin": origin} if origin else {},
    )  # fmt: skip
    row = render_table([document]).splitlines()[2]
    assert cells(row)[:3] == ["doc-spec-1", "know", name]


NAMES = [
    pytest.param("plain", id="ascii"),
    pytest.param("用户认证", id="chinese"),
    pytest.param("ユーザー認証クラス", id="japanese"),
    pytest.param("사용자_인증", id="korean"),
    pytest.param("launch_🚀", id="emoji"),
    pytest.param("👩‍💻 at work", id="joined-emoji"),
    pytest.param("❤️ heart", id="emoji-by-selector"),
    pytest.param("🇯🇵 flag", id="flag"),
    pytest.param("cafe\u0301", id="combining-accent"),
    pytest.param("สวัสดี", id="thai"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [None, 120, 80, 60, 40])
def test_columns_stay_aligned_whatever_the_script(name: str, width: int | None) -> None:
    """The separators of all lines stand in the same cells, cut or not."""
    wide = make_result(f"src/{name}/{name * 8}.py", name * 9)
    lines = render_table([wide, *EXAMPLES], width=width).splitlines()
    assert len(lines) == 6
    assert {tuple(separators(line)) for line in lines} == {tuple(separators(lines[1]))}


LONG = [
    make_result(
        "src/application/services/authentication/manager.py",
        "AuthenticationManager.authenticate_user_with_password",
        0.856,
        kind=Kind.METHOD,
        lines=Lines(1045, 1167),
    ),
    make_result("文档/设计/用户认证/会话管理/说明.md", "用户认证与会话管理的设计说明文档", 0.5),
    make_result("a.py", "f", 0.1, kind=Kind.KNOWLEDGE, lines=None),
]
# 5 score, two separators of 3, and 10 each for a path and a name
NARROWEST = 5 + 2 * 3 + 10 + 10


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_cuts_paths_and_names_alone(width: int) -> None:
    """Type, lines and score stay whole; a path keeps its end and a name its beginning."""
    for row, result in zip(render_table(LONG, width=width).splitlines()[2:], LONG, strict=True):
        path, kind, name, lines, score, *past = cells(row)
        whole = cells(render_table([result]).splitlines()[2])
        assert [kind, lines, score] == [whole[1], *whole[3:5]]
        assert past == (whole[5:] if width >= 80 else [])
        assert path == whole[0] or (path[0] == "…" and whole[0].endswith(path[1:]))
        assert name == whole[2] or (name[-1] == "…" and whole[2].startswith(name[:-1]))
        assert min(len(path), len(name)) > 0


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (31, ["File", "Name", "Score"]),
        (42, ["File", "Name", "Score"]),
        (43, ["File", "Name", "Lines", "Score"]),
        (53, ["File", "Name", "Lines", "Score"]),
        (54, ["File", "Type", "Name", "Lines", "Score"]),
    ],
)
def test_a_narrower_terminal_has_fewer_columns(width: int, heads: list[str]) -> None:
    """File, name and score stay to the last: that is what was asked for."""
    assert cells(render_table(LONG, width=width).splitlines()[0]) == heads


@pytest.mark.parametrize("width", [31, 40, 54, 60, 79, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """As long as each path and name keeps ten cells; below that the line may be longer."""
    lines = render_table(LONG, width=width).splitlines()
    assert max(map(cell_len, lines)) <= max(width, NARROWEST)


def test_a_path_and_a_name_keep_ten_cells() -> None:
    """Narrower than that nothing would be left to read, so a tiny terminal wraps instead."""
    assert render_table(LONG, width=1) == render_table(LONG, width=NARROWEST)
    assert cell_len(render_table(LONG, width=1).splitlines()[1]) == NARROWEST


def test_the_room_there_is_is_used() -> None:
    """Nothing is cut that would have fitted: the widest line is as wide as the terminal."""
    for width in (60, 80, 100):
        assert max(map(cell_len, render_table(LONG, width=width).splitlines())) == width


def test_a_table_of_sixty_cells_to_the_letter() -> None:
    """The longer of the two columns gives first, so that both end up of like width."""
    assert render_table(LONG, width=60) == (
        "File          | Type     | Name          | Lines     | Score\n"
        "--------------+----------+---------------+-----------+------\n"
        "…n/manager.py | method   | Authenticati… | 1045-1167 | 0.856\n"
        "…管理/说明.md | function | 用户认证与会… | 45-67     | 0.500\n"
        "a.py          | know     | f             | -         | 0.100"
    )


def test_without_a_width_nothing_is_cut() -> None:
    """In a pipe every path and name is whole, however long."""
    path, name = "d/" * 2_000 + "a.py", "n" * 3_000
    row = render_table([make_result(path, name)]).splitlines()[2]
    assert cells(row) == [path, "function", name, "45-67", "0.500", "-", "-"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("a\nb", "a�b", id="line-feed"),
        pytest.param("a\r\nb", "a��b", id="windows-line-end"),
        pytest.param("a\tb", "a�b", id="tab"),
        pytest.param("\x1b[31mred\x1b[0m", "�[31mred�[0m", id="terminal-colour"),
        pytest.param("a\x00b\x7f", "a�b�", id="null-and-delete"),
        pytest.param("a\u2028b\x85", "a�b�", id="other-line-ends"),
        pytest.param("\u202etxt.exe", "�txt.exe", id="writing-turned-round"),
        pytest.param("a\udcffb", "a�b", id="not-utf-8"),
        pytest.param("会議\u3000メモ", "会議\u3000メモ", id="ideographic-space-is-a-space"),
    ],
)
def test_control_characters_do_not_reach_the_terminal(name: str, shown: str) -> None:
    """A file may be called anything; the table keeps one line for it and its columns in place."""
    lines = render_table([make_result(f"d/{name}", name), *EXAMPLES]).split("\n")
    assert cells(lines[2]) == [f"d/{shown}", "function", shown, "45-67", "0.500", "-", "-"]
    assert (len(lines), len({tuple(separators(line)) for line in lines})) == (6, 1)
