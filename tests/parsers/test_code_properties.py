"""What holds for any text at all, Python or not."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

import aurora.text
import aurora.types
from aurora.types import Chunk
from tests.builders import parse
from tests.properties import examples

FRAGMENTS = [
    "def f():\n", "def g(a, *b):\n", "    def m(self):\n", "class A:\n", "class (", "def (", "):\n",
    "    pass\n", "        return 1\n", "@dec\n", "# note\n", "    # note\n", "async ", "await ",
    "lambda: ", "if x:\n", "else:\n", "try:\n", "except* E:\n", "with a as b:\n", "match x:\n",
    "    case 1:\n", "import a", "from . import b\n", "x = 1", "; ", "= ", "...", "*", "->",
    "type X = int\n", "def", "class", '"""', "'", '"', 'f"{', "}", "(", ")", "[", "{", ":", "$",
    "?", "`", "!", "word", "été = 1\n", "走る", " ", "  ", "\t", "\n", "\r\n", "\r", "\x0c", "\\\n",
    "\\", "\0", "\x85", "\u2028", "\u200b", "\ufeff", "print >>x, 1\n", 'exec "a"\n',
]  # fmt: skip
SOURCES = [
    Path(str(module.__file__)).read_text(encoding="utf-8") for module in (aurora.text, aurora.types)
]
_NO_TEXT = re.compile(r"[\s\\\ufeff\u200b\u2060\0]*")  # blank to a reader of Python


@st.composite
def damaged_sources(draw: st.DrawFn) -> str:
    """A part of a real source, with something that does not belong there."""
    source = draw(st.sampled_from(SOURCES))
    start = draw(st.integers(0, len(source)))
    part = source[start : start + draw(st.integers(0, 3000))]
    at = draw(st.integers(0, len(part)))
    return part[:at] + draw(st.sampled_from(["", *FRAGMENTS])) + part[at:]


any_text = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join),
    damaged_sources(),
    st.text(max_size=200),
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")),
)
checked = settings(max_examples=examples(300), deadline=None, derandomize=True, database=None)


def spans(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [chunk.lines or (0, 0) for chunk in chunks]


@checked
@given(any_text)
def test_ids_are_unique_and_chunks_have_names_and_text(text: str) -> None:
    chunks = parse(text)

    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert all(chunk.name and chunk.content for chunk in chunks)


@checked
@given(any_text)
@example("\\\n")
@example("w ):\n\t}`\n")
def test_lines_are_lines_of_the_file(text: str) -> None:
    last = len(text.removesuffix("\n").split("\n"))

    for start, end in spans(parse(text)):
        assert 1 <= start <= end <= last


@checked
@given(any_text)
@example('"{w1 s(d(s(x:\n lost ')
def test_every_line_with_text_is_in_a_chunk(text: str) -> None:
    covered = {n for start, end in spans(parse(text)) for n in range(start, end + 1)}
    written = {
        number
        for number, line in enumerate(text.split("\n"), start=1)
        if not _NO_TEXT.fullmatch(line)
    }

    assert written - covered == set()


@checked
@given(st.lists(st.sampled_from([*FRAGMENTS, " w1 ", " w2 ", " w3\n"]), max_size=30).map("".join))
@example('"{w1 s(d(s(x:\n w2 ')
def test_every_word_is_in_the_content_of_a_chunk_of_its_line(text: str) -> None:
    chunks = parse(text)

    for number, line in enumerate(text.split("\n"), start=1):
        near = [c.content for c in chunks if c.lines and c.lines.start <= number <= c.lines.end]
        for word in re.findall(r"\bw[123]\b", line):
            assert any(word in content for content in near)


@checked
@given(any_text)
def test_the_same_text_gives_the_same_chunks(text: str) -> None:
    assert parse(text) == parse(text)
