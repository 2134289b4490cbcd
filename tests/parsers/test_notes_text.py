"""reStructuredText by titles, plain text by paragraphs, and what holds for any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora.types import Chunk, Kind, Lines
from tests.builders import parse
from tests.properties import examples

LONGEST = 4000


def numbered(first: int, last: int) -> str:
    return "\n".join(f"line {n}" for n in range(first, last + 1))


def spans(text: str) -> list[tuple[int, int] | None]:
    return [chunk.lines for chunk in parse(text, "a.txt")]


def test_titles_of_restructuredtext_nest_in_the_order_their_styles_appear() -> None:
    text = (
        "=====\nGuide\n=====\n\nHello.\n\nInstall\n=======\n\nRun.\n\nLinux\n-----\n\nEasy.\n\n"
        ".. _use:\nUse\n=======\nDo.\n\nWords\n\n-----\n\nmore\n"
    )

    assert [(c.qualified_name, c.lines, c.language) for c in parse(text, "a.rst")] == [
        ("Guide", (1, 5), "restructuredtext"),
        ("Guide > Install", (7, 10), "restructuredtext"),
        ("Guide > Install > Linux", (12, 17), "restructuredtext"),
        ("Guide > Use", (18, 26), "restructuredtext"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Title\n==", id="too-short"),
        pytest.param("    Title\n    =====", id="literal"),
        pytest.param("of a\nparagraph\n=========", id="paragraph"),
        pytest.param("=====  =====\na      b\n=====  =====", id="table"),
        pytest.param("=====\nTitle\n-----", id="unlike-lines"),
        pytest.param("=====\n\n=====", id="nothing-between"),
        pytest.param("Title\n=-=-=", id="mixed"),
        pytest.param("# Heading", id="markdown"),
    ],
)
def test_what_is_no_title(text: str) -> None:
    (chunk,) = parse(f"{text}\nafter\n", "a.rst")

    assert (chunk.name, chunk.content) == ("a.rst", f"{text}\nafter")


@pytest.mark.parametrize("title", ["Hi\n==", "A longer title\n~~~~", "====\n Hi\n====", "走る\n=="])
def test_what_is_a_title(title: str) -> None:
    first, second = parse(f"Before.\n\n{title}\nafter", "a.rst")

    assert (first.content, second.content) == ("Before.", f"{title}\nafter")
    assert second.name in title


def test_a_short_text_is_one_chunk() -> None:
    assert parse("Buy milk.\nCall Ada.\n", "lists/today.txt") == [
        Chunk(
            id="lists/today.txt:text",
            kind=Kind.KNOWLEDGE,
            name="today.txt",
            content="Buy milk.\nCall Ada.",
            path="lists/today.txt",
            lines=Lines(1, 2),
            language="text",
            metadata={"source": "note"},
        )
    ]


def test_plain_text_is_cut_at_a_paragraph_near_fifty_lines() -> None:
    text = f"{numbered(1, 40)}\n\n{numbered(42, 80)}\n\n{numbered(82, 90)}\n"

    assert spans(text) == [(1, 40), (42, 90)]


def test_plain_text_without_paragraphs_is_cut_at_fifty_lines() -> None:
    assert spans(numbered(1, 120)) == [(1, 50), (51, 100), (101, 120)]
    assert spans(f"{numbered(1, 3)}\n\n{numbered(5, 70)}") == [(1, 50), (51, 70)]


@pytest.mark.parametrize(("second", "count"), [(2000, 1), (2001, 2)])
def test_a_chunk_holds_four_thousand_characters_and_no_more(second: int, count: int) -> None:
    assert len(spans("x" * 1999 + "\n" + "y" * second)) == count


def test_plain_text_has_no_headings() -> None:
    assert spans("# one\n\nTwo\n===\n") == [(1, 4)]


FRAGMENTS = [
    "# A", "## B", "###### F", "#", "# ", "Title", "===", "---", "=====\n", "```", "~~~~", "<!--",
    "-->", "<pre>", "</pre>", "title: x", "tags: [a", "- a", "date: 9999-99-99", "", "", " ", "\t",
    "\r", "word", "走る", "\ufeff", "\0", "\x0c", "\x85", "\u2028", "    code", "> q", ".. _x:",
    "# A#2", "# text", "x" * 3999, "y" * 9000, "# " + "z" * 5000,
]  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=60).map("\n".join),
    st.text(max_size=300),
    st.text(alphabet="#=-` ~<!>\n\ra", max_size=120),
)
paths = st.sampled_from(["a.md", "a.rst", "a.txt"])
checked = settings(max_examples=examples(400), deadline=None, derandomize=True, database=None)


@checked
@given(texts, paths)
@example("# A\nx\n# A\nx\n# A#2\nx", "a.md")
@example("---\na: b\n---", "a.md")
def test_ids_are_unique_and_pieces_are_bounded(text: str, path: str) -> None:
    chunks = parse(text, path)

    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert all(chunk.name and chunk.content.strip() for chunk in chunks)
    assert all(len(chunk.content) <= LONGEST for chunk in chunks)


@checked
@given(texts, paths)
def test_every_line_is_in_one_chunk_as_it_was(text: str, path: str) -> None:
    lines = text.removeprefix("\ufeff").split("\n")
    covered: list[int] = []
    for chunk in parse(text, path):
        assert chunk.lines is not None
        start, end = chunk.lines
        whole = "\n".join(lines[start - 1 : end])
        assert chunk.content == whole or (chunk.content in whole and len(whole) > LONGEST)
        covered += range(start, end + 1)

    assert covered == sorted(covered)
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(covered)
