"""Text that no grammar knows, as windows of lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.types import Chunk, Kind, Lines
from tests.builders import parse


def numbered(first: int, last: int) -> str:
    return "\n".join(f"line {n}" for n in range(first, last + 1))


def windows(text: str) -> list[tuple[tuple[int, int] | None, str]]:
    return [(chunk.lines, chunk.content) for chunk in parse(text, "a.zzz")]


def test_a_short_text_is_one_chunk() -> None:
    assert parse("USER ada\nRUN make\n", "deploy/web.ini") == [
        Chunk(
            id="deploy/web.ini:text",
            kind=Kind.CODE,
            name="web.ini",
            content="USER ada\nRUN make",
            path="deploy/web.ini",
            lines=Lines(1, 2),
            language="ini",
        )
    ]


@pytest.mark.parametrize(
    ("path", "kind", "language"),
    [
        pytest.param("README.md", Kind.KNOWLEDGE, "markdown", id="markdown"),
        pytest.param("a.markdown", Kind.KNOWLEDGE, "markdown", id="markdown-in-full"),
        pytest.param("docs/a.rst", Kind.KNOWLEDGE, "restructuredtext", id="rst"),
        pytest.param("NOTES.TXT", Kind.KNOWLEDGE, "text", id="upper-case"),
        pytest.param("a.go", Kind.CODE, "go", id="code"),
        pytest.param("a.tar.yml", Kind.CODE, "yaml", id="last-suffix-counts"),
        pytest.param("Makefile", Kind.CODE, "", id="no-suffix"),
        pytest.param(".gitignore", Kind.CODE, "", id="only-a-dot"),
        pytest.param("a.zzz", Kind.CODE, "", id="unknown"),
        pytest.param("v1.md/run", Kind.CODE, "", id="suffix-of-a-folder"),
    ],
)
def test_prose_is_knowledge_and_the_rest_is_code(path: str, kind: Kind, language: str) -> None:
    assert [(c.kind, c.language) for c in parse("some words", path)] == [(kind, language)]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(1, [(1, 1)], id="one"),
        pytest.param(50, [(1, 50)], id="fifty"),
        pytest.param(51, [(1, 50), (51, 51)], id="fifty-one"),
        pytest.param(130, [(1, 50), (51, 100), (101, 130)], id="many"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"], ids=["open", "closed"])
def test_every_fiftieth_line_ends_a_window(
    count: int, expected: list[tuple[int, int]], end: str
) -> None:
    assert windows(numbered(1, count) + end) == [
        ((first, last), numbered(first, last)) for first, last in expected
    ]


def test_windows_are_numbered() -> None:
    ids = [chunk.id for chunk in parse(numbered(1, 120), "ops/a.zzz")]

    assert ids == ["ops/a.zzz:text", "ops/a.zzz:text#2", "ops/a.zzz:text#3"]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\n" * 200, "\x0c\n\u2028"])
def test_blank_text_gives_nothing(text: str) -> None:
    assert parse(text, "a.zzz") == parse(text, "a.txt") == parse(text, "a.md") == []


def test_blank_lines_around_a_window_are_left_out_and_still_counted() -> None:
    assert windows("\n\nfirst\n\nmore\n" + "\n" * 144 + "\nlast\n") == [
        ((3, 5), "first\n\nmore"),
        ((151, 151), "last"),
    ]


def test_an_endless_line_is_cut_by_length() -> None:
    line = "".join(f"{n:07} " for n in range(2500))  # 20,000 characters

    assert windows(f"before\n{line}\nafter\n") == [
        ((1, 1), "before"),
        ((2, 2), line[:8000]),
        ((2, 2), line[8000:16000]),
        ((2, 3), line[16000:] + "\nafter"),
    ]


def test_long_lines_end_a_window_early() -> None:
    lines = [str(n) * 3000 for n in range(1, 6)]

    assert windows("\n".join(lines)) == [
        ((1, 2), "\n".join(lines[:2])),
        ((3, 4), "\n".join(lines[2:4])),
        ((5, 5), lines[4]),
    ]


@pytest.mark.parametrize(
    "separator", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029", "\r"], ids=ascii
)
def test_only_newlines_count_as_lines(separator: str) -> None:
    """Editors and git count newlines; `str.splitlines` would count these as well."""
    text = numbered(1, 49) + f"\na{separator}b\n" + numbered(51, 60)

    assert [lines for lines, _ in windows(text)] == [(1, 50), (51, 60)]
    assert f"a{separator}b" in windows(text)[0][1]


def test_crlf_is_one_line_end() -> None:
    assert [lines for lines, _ in windows("a\r\n" * 60)] == [(1, 50), (51, 60)]


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(max_size=400) | st.sampled_from(["", "word"]), max_size=120).map("\n".join))
def test_every_line_is_in_one_window_of_its_number(text: str) -> None:
    lines = text.split("\n")
    seen = []
    for chunk in parse(text, "a.zzz"):
        assert chunk.lines is not None
        start, end = chunk.lines
        assert chunk.content == "\n".join(lines[start - 1 : end])
        assert 1 <= len(chunk.content.split("\n")) <= 50
        seen += range(start, end + 1)

    assert len(seen) == len(set(seen))
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(seen)
