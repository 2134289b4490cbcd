"""Which lines of a chunk are shown, and which words in them are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.display.boxes import render_blocks
from aurora.display.snippet import Line, render_snippet, snippet
from aurora.display.table import PLAIN, Look, Paint
from aurora.text import tokenize
from aurora.types import Chunk, Kind, Lines
from tests.builders import NOW, make_chunk
from tests.display.answers import SEED, make_answer, make_result, touched

CODE = """\
def read(path):
    # nothing here
    with open(path) as file:
        user = load_user(file)
        return user.name, user.password
    return None
"""
CHUNK = make_chunk(CODE.rstrip("\n"), "src/read.py", "read", lines=Lines(10, 15))


def numbers(chunk: Chunk, terms: tuple[str, ...], context: int) -> list[int | None]:
    return [line.number for line in snippet(chunk, terms, context=context)]


def marked(text: str, *terms: str) -> list[str]:
    (line,) = snippet(make_chunk(text), terms, context=0)
    return [line.text[start:end] for start, end in line.spans]


@pytest.mark.parametrize(
    ("terms", "context", "expected"),
    [
        pytest.param(("user", "password"), 0, [14], id="most-terms"),
        pytest.param(("user", "password"), 1, [13, 14, 15], id="around"),
        pytest.param(("read",), 2, [10, 11, 12], id="at-the-start"),
        pytest.param(("none",), 2, [13, 14, 15], id="at-the-end"),
        pytest.param(("open", "load"), 0, [12], id="first-of-equals"),
        pytest.param((), 1, [10, 11], id="by-meaning-alone"),
        pytest.param(("users", "returns"), 0, [14], id="by-stems"),
        pytest.param(("user",), 99, [10, 11, 12, 13, 14, 15], id="all"),
    ],
)
def test_the_line_with_most_of_the_words_is_shown(
    terms: tuple[str, ...], context: int, expected: list[int]
) -> None:
    assert numbers(CHUNK, terms, context) == expected


def test_lines_have_numbers_only_where_they_are_those_of_the_file() -> None:
    """A class is kept without the bodies of its methods: its lines are not the file's."""
    header = make_chunk("class A:\n    def f(self): ...", kind=Kind.CLASS, lines=Lines(3, 90))
    assert numbers(header, ("f",), 1) == [None, None]
    assert numbers(make_chunk("a note", lines=None), ("note",), 0) == [None]


def test_a_chunk_without_text_has_no_lines() -> None:
    assert snippet(make_chunk(""), ("x",), context=3) == []
    assert list(render_snippet([], PLAIN)) == []


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("user = load_user(file)", ("user",), ["user", "user"]),
        ("getUserData(x)", ("user", "data"), ["User", "Data"]),
        ("getUserData(x)", ("getuserdata", "get", "user", "data"), ["getUserData"]),
        ("superuser users USER", ("user",), ["users", "USER"]),
        ("parse, parsed; sparse", ("parsing",), ["parse", "parsed"]),
        ("parseFiles(x)", ("parsing", "file"), ["parse", "Files"]),
        ("a string, bring it", ("parsing",), []),
        ("用户认证流程", ("用户", "户认"), ["用户", "认"]),
        ("Straße strasse", ("strasse",), ["Straße", "strasse"]),
        ("ｕｓｅｒ", ("user",), ["ｕｓｅｒ"]),
        ("auth.oauth.client", ("oauth",), ["oauth"]),
        ("nothing", ("user",), []),
    ],
)
def test_words_are_marked_as_they_matched(
    text: str, terms: tuple[str, ...], expected: list[str]
) -> None:
    assert marked(text, *terms) == expected


@given(st.text(max_size=60), st.text(max_size=30))
def test_spans_are_in_order_apart_and_inside(text: str, query: str) -> None:
    for line in snippet(make_chunk(text), tuple(tokenize(query)), context=2):
        ends = [at for span in line.spans for at in span]
        assert ends == sorted(ends)
        assert all(0 <= start < end <= len(line.text) for start, end in line.spans)
        assert "\n" not in line.text


def test_of_a_very_long_line_the_part_around_the_match_is_shown() -> None:
    """Minified text would fill the screen."""
    (line,) = snippet(make_chunk("x " * 5000 + "needle" + " y" * 5000), ("needle",), context=0)
    assert len(line.text) == 302
    assert line.text[0] == line.text[-1] == "…"
    assert [line.text[start:end] for start, end in line.spans] == ["needle"]


def test_a_long_line_without_a_match_is_cut_at_its_end() -> None:
    (line,) = snippet(make_chunk("x" * 400), (), context=0)
    assert line == Line("x" * 300 + "…", 1, ())


def test_what_a_terminal_would_obey_is_not_written() -> None:
    (line,) = snippet(make_chunk("a\033[2Jb\tc"), ("b",), context=0)
    assert line.text == "a\ufffd[2Jb  c"


def test_a_line_that_matches_is_told_from_its_neighbours() -> None:
    """As grep does it, so that it can be seen without colour."""
    lines = snippet(CHUNK, ("password",), context=1)
    assert list(render_snippet(lines, PLAIN)) == [
        "  13-         user = load_user(file)",
        "  14:         return user.name, user.password",
        "  15-     return None",
    ]


def test_numbers_of_different_length_stay_aligned() -> None:
    chunk = make_chunk("a\nb", lines=Lines(9, 10))
    assert list(render_snippet(snippet(chunk, ("b",), context=1), PLAIN)) == ["   9- a", "  10: b"]


def test_with_colour_the_words_are_marked() -> None:
    lines = snippet(make_chunk("load_user"), ("user",), context=0)
    assert list(render_snippet(lines, Paint(colour=True))) == [
        "  \033[2m1:\033[0m load_\033[1;31muser\033[0m"
    ]


def test_a_block_begins_with_path_and_line_of_the_match() -> None:
    result = make_result(CHUNK, terms=("password",), history=touched(2, 3))
    assert render_blocks(make_answer(result, SEED), Look(NOW, context=0)) == (
        "src/read.py:14 | function | read | 0.856 | 2 commits | 2 days ago\n"
        "  14:         return user.name, user.password\n"
        "\n"
        "auth_manager.py:45 | function | authenticate_user | 0.856 | 23 commits | 2 days ago\n"
        "  > def authenticate_user(name, password):"
    )


def test_a_block_without_a_past_or_a_file() -> None:
    document = make_chunk("a plan", "", "Plan", id="doc-1", lines=None, kind=Kind.KNOWLEDGE)
    answer = make_answer(make_result(document, terms=("plan",)))
    assert render_blocks(answer, Look(NOW, context=0, past=False)) == (
        "doc-1 | know | Plan | 0.856\n  > a plan"
    )


def test_a_block_links_to_the_line_of_the_match() -> None:
    paint = Paint(link=lambda chunk, line: f"at:{chunk.path}:{line}")
    answer = make_answer(make_result(CHUNK, terms=("password",)))
    block = render_blocks(answer, Look(NOW, context=0, past=False, paint=paint))
    assert block.startswith("\033]8;;at:src/read.py:14\033\\src/read.py:14\033]8;;\033\\ | ")
