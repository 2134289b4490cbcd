"""Which lines of a chunk are shown, and which words in them are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.display.snippet import Line, matching_lines, render_snippet, snippet
from aurora.display.table import PLAIN, Paint
from aurora.text import tokenize
from aurora.types import Chunk, Kind, Lines, Symbol
from tests.builders import make_chunk
from tests.display.answers import make_result

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


def test_a_piece_that_ends_with_the_next_indentation_has_line_numbers() -> None:
    chunk = make_chunk(f"{CODE}    ", lines=Lines(10, 15))
    assert numbers(chunk, ("read",), 99) == [10, 11, 12, 13, 14, 15]


def test_code_around_definitions_has_line_numbers() -> None:
    chunk = make_chunk("import a\n\n...\nrun(a)\nend(a)", lines=Lines(3, 20))
    assert numbers(chunk, (), 99) == [3, 4, None, 19, 20]


OUTLINE = make_chunk(
    'class A:\n    """A thing."""\n    size = 3\n    def f(self): ...\n    depth = 4\n'
    "    def g(self): ...\n    last = 5",
    kind=Kind.CLASS,
    lines=Lines(3, 90),
)


def test_of_an_outline_the_lines_before_and_after_the_gaps_have_numbers() -> None:
    """A class is kept without the bodies of its methods: the others are not the file's."""
    assert numbers(OUTLINE, ("thing",), 9) == [3, 4, 5, 6, None, None, 90]


def test_lines_without_a_place_in_the_file_have_no_number() -> None:
    shorter = make_chunk("class A:\n    x = 1", kind=Kind.CLASS, lines=Lines(3, 90))
    assert numbers(shorter, ("x",), 1) == [None, None]
    assert numbers(make_chunk("a note", lines=None), ("note",), 0) == [None]


def test_stop_words_choose_no_line_and_are_not_marked() -> None:
    chunk = make_chunk("what is it and how is that\nthe cookie is signed")
    (line,) = snippet(chunk, ("how", "is", "cookie"), context=0)
    assert (line.number, line.spans) == (2, ((4, 10),))
    assert marked("how is it", "how", "is") == ["how", "is"]  # nothing else was typed


@pytest.mark.parametrize(
    ("terms", "most", "expected"),
    [
        pytest.param(("user", "password"), 3, [14], id="one-line-has-all"),
        pytest.param(("open", "load", "none"), 3, [12, 13, 15], id="each-has-one"),
        pytest.param(("open", "load", "none"), 2, [12, 13], id="at-most"),
        pytest.param((), 3, [10], id="by-meaning-alone"),
    ],
)
def test_the_fewest_lines_with_all_the_words_are_shown(
    terms: tuple[str, ...], most: int, expected: list[int]
) -> None:
    lines = matching_lines(make_result(CHUNK, terms=terms), most=most)
    assert [line.number for line in lines] == expected


@pytest.mark.parametrize(
    ("chunk", "symbol", "expected"),
    [
        (
            CHUNK,
            Symbol("user", "variable", Lines(13, 13)),
            [(13, "        user = load_user(file)")],
        ),
        (OUTLINE, Symbol("size", "field", Lines(5, 5)), [(5, "    size = 3")]),
        (OUTLINE, Symbol("depth", "field", Lines(40, 40)), [(40, "    depth = 4")]),
    ],
    ids=["lines", "before-the-gaps", "between-gaps-by-name"],
)
def test_of_a_symbol_its_own_lines_are_shown(
    chunk: Chunk, symbol: Symbol, expected: list[tuple[int, str]]
) -> None:
    lines = matching_lines(make_result(chunk, terms=("read",), symbol=symbol), most=3)
    assert [(line.number, line.text) for line in lines] == expected
    (line,) = snippet(chunk, ("read",), context=0, symbol=symbol)
    assert (line.number, line.text) == expected[0]


def test_of_a_long_symbol_the_first_lines_are_shown() -> None:
    result = make_result(CHUNK, symbol=Symbol("user", "variable", Lines(11, 15)))
    assert [line.number for line in matching_lines(result, most=3)] == [11, 12, 13]


def test_a_line_is_cut_to_the_width_with_its_marks() -> None:
    lines = snippet(make_chunk("find the user of users"), ("user",), context=0)
    (cut,) = render_snippet(lines, Paint(colour=True), width=20)
    assert cut == "  \033[2m1:\033[0m find the \033[1;31muser\033[0m…"


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
