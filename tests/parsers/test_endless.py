"""Whatever a file holds, parsing it ends soon, loses nothing, and leaves the next file alone."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.parsers.code import CodeParser, TreeMaker
from aurora.parsers.languages import GRAMMARS, PROSE
from aurora.parsers.registry import parser_for
from aurora.types import Chunk, Document
from tests.builders import parse
from tests.parsers.samples import SAMPLES
from tests.parsers.test_languages import rows
from tests.properties import examples
from tests.tables import row

PYTHON = "import os\n\n\ndef f():\n    return os\n\n\nclass A:\n    def m(self):\n        pass\n"
SOURCES = {path: sample.text for path, sample in SAMPLES.items()} | {"a.py": PYTHON}
CODE = sorted(SOURCES)  # a file of every language with a grammar
LOG = "logs/conversations/2025/12/long-2025-12-15.md"
EVERYTHING = [*CODE, *(f"a{suffix}" for suffix in PROSE), "a.zzz", LOG]
LARGEST = 2 * 1024 * 1024  # of a file that is read
LONGEST = 16_000  # characters of a chunk of text

ENDLESS = {
    "letter": "x",
    "words": "word ",
    "code": 'f(a, "b") + {c: [1]}; ',
    "brackets": "(",
    "braces": "{",
    "quotes": '"',
    "backticks": "`",
    "hashes": "#",
    "less-than": "<",
    "backslashes": "\\",
    "zero-bytes": "\0",
    "returns": "a = 1\r",
    "separators": "a = 1\u2028",
    "marks": "\ufeff",
    "astral": "𝔘",
}


def of_size(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def squeezed(text: str) -> str:
    """Without what a reader cannot see."""
    return "".join(text.replace("\ufeff", "").split())


def require_sound(chunks: list[Chunk], text: str) -> None:
    """What holds of the chunks of any text."""
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    last = text.count("\n") + 1
    for chunk in chunks:
        assert chunk.lines is not None
        assert 1 <= chunk.lines.start <= chunk.lines.end <= last
        assert chunk.name
        assert chunk.content


def require_all_in_pieces(text: str, path: str) -> None:
    """Every letter of a text without lines is in a chunk of bounded size."""
    chunks = parse(text, path)
    require_sound(chunks, text)
    assert squeezed("".join(chunk.content for chunk in chunks)) == squeezed(text)
    assert max((len(chunk.content) for chunk in chunks), default=0) <= LONGEST


def test_a_file_may_be_one_line() -> None:
    for name, unit in ENDLESS.items():
        text = of_size(unit, 300_000)
        for path in EVERYTHING:
            with row(path, name):
                require_all_in_pieces(text, path)


def test_the_largest_file_may_be_one_line() -> None:
    text = of_size(ENDLESS["code"], LARGEST)
    for path in EVERYTHING:
        with row(path):
            require_all_in_pieces(text, path)


@pytest.mark.parametrize("path", ["a.py", "a.go", "a.sh", "a.md", "a.rst", "a.zzz", LOG])
def test_a_line_of_fifty_megabytes_is_no_trouble(path: str) -> None:
    """It would be left out for its size; no parser relies on that."""
    text = of_size("twelve.words,", 50_000_000)
    assert sum(len(chunk.content) for chunk in parse(text, path)) == len(text)


@pytest.mark.parametrize("path", CODE)
def test_a_hundred_thousand_nested_brackets(path: str) -> None:
    """In lines like code, so that the grammar sees them; nobody waits for it in this test."""
    grammar = GRAMMARS[PurePosixPath(path).suffix]
    parser = CodeParser(grammar, trees=TreeMaker(grammar, patience=0.1))
    for unit in ("(", "([{", "()" * 40 + "{"):
        flat = of_size(unit, 100_000)
        text = "\n".join(flat[at : at + 79] for at in range(0, len(flat), 79))
        chunks = list(parser.parse(Document(path, text)).chunks)
        require_sound(chunks, text)
        assert sum(chunk.content.count(unit[0]) for chunk in chunks) == text.count(unit[0])
    assert parser.parse(Document(path, SOURCES[path])) == parser_for(path).parse(
        Document(path, SOURCES[path])
    )


def test_a_file_that_takes_too_long_is_cut_by_lines_and_named() -> None:
    parser = CodeParser(GRAMMARS[".js"], trees=TreeMaker(GRAMMARS[".js"], patience=1e-6))
    text = "call(1);\n" * 20_000
    parsed = parser.parse(Document("a.js", text))

    assert parsed.problem == "a.js takes too long to parse and is cut by lines"
    assert [chunk.lines for chunk in parsed.chunks][:2] == [(1, 50), (51, 100)]
    assert parsed.chunks[-1].lines == (19_951, 20_000)
    after = parser.parse(Document("b.js", "function f() { return 1; }\n"))
    assert ([chunk.id for chunk in after.chunks], after.problem) == (["b.js:f"], "")


@pytest.mark.parametrize(
    "junk", ["'" + "x" * 30_000 + "'", "`" * 30_000, "\0" * 40], ids=["data", "ticks", "zeros"]
)
@pytest.mark.parametrize("path", CODE)
def test_what_is_no_code_costs_no_definition_beside_it(path: str, junk: str) -> None:
    """A line of data in a file of code: everything else is found as without it."""
    text = SOURCES[path] * 3  # so that lines are short on the average
    quiet = text + "\n" * 25
    names = {chunk.id for chunk in parse(quiet, path) if chunk.kind != "code"}

    chunks = parse(quiet + junk + "\n", path)

    assert names <= {chunk.id for chunk in chunks}
    require_sound(chunks, quiet + junk)
    if "\0" not in junk:
        assert any(junk in chunk.content for chunk in chunks)


@pytest.mark.parametrize("path", sorted(SAMPLES))
def test_marks_and_other_line_ends_move_no_definition(path: str) -> None:
    text = SAMPLES[path].text
    assert rows(path, text.replace("\n", "\r\n")) == SAMPLES[path].rows
    definitions = [row for row in SAMPLES[path].rows if row[0] != "code"]
    assert [row for row in rows(path, "\ufeff" + text) if row[0] != "code"] == definitions
    for odd in ("\r", "\x0c", "\x85", "\u2028", "\u2029"):
        require_sound(parse(text.replace("\n", odd), path), text.replace("\n", odd))


FRAGMENTS = [
    "(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", '"""', "#", "//", "/*", "*/", "--", "\\",
    ";", ":", "::", "=>", "->", "=", "@", "$", "${", "?", "!", "\0", "\ufeff", "\u2028", "\x85",
    "\r", "\x0c", "\ufffd", "\n", "\n\n", "\t", "class", "def", "func", "fn", "function", "end",
    "if", "namespace", "<?php", "<<EOF\n", "#if X\n", "#endif\n", "'''", "r#\"", "走", "é", "𝔘",
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str]:
    """A sample of some language with pieces cut out and junk put in, or any bytes at all."""
    path = draw(st.sampled_from(CODE))
    if draw(st.booleans()):
        return path, draw(st.binary(max_size=300)).decode("utf-8", "replace")
    text = SOURCES[path]
    for _ in range(draw(st.integers(1, 4))):
        low = draw(st.integers(0, len(text)))
        high = draw(st.integers(low, min(len(text), low + 30)))
        junk = "".join(draw(st.lists(st.sampled_from(FRAGMENTS), max_size=4)))
        text = text[:low] + junk + text[high:]
    return path, text


@settings(max_examples=examples(400), deadline=None, derandomize=True, database=None)
@given(damaged())
def test_no_damage_breaks_a_parser(given_: tuple[str, str]) -> None:
    path, text = given_
    chunks = parse(text, path)

    require_sound(chunks, text)
    words = set(re.findall(r"\b[a-z]{4,}\b", text))
    found = set(re.findall(r"\b[a-z]{4,}\b", " ".join(chunk.content for chunk in chunks)))
    assert len(words - found) <= 2 * len(chunks) + 2  # a scope's own line is no chunk
    assert parse(text, path) == chunks


def test_names_of_namespaces_without_end_stay_short() -> None:
    """Each would have the names of all around it, which is the square of what the file has."""
    depth = 500
    text = "".join(f"namespace n{n} {{\nvoid f{n}() {{ }}\n" for n in range(depth)) + "}\n" * depth
    chunks = [chunk for chunk in parse(text, "a.cpp") if chunk.name.startswith("f")]
    assert len(chunks) == depth
    assert max(chunk.qualified_name.count(".") for chunk in chunks) == 64
    assert chunks[3].qualified_name == "n0.n1.n2.n3.f3"


@pytest.mark.timeout(60)
def test_a_type_of_nested_arguments_takes_no_longer_than_its_length() -> None:
    """They are taken off its name, and not from the inside out, one pair after the other."""
    text = "impl " + "A<\n" * 100_000 + "B" + ">\n" * 100_000 + " { fn f() {} }\n"
    assert max(len(chunk.name) for chunk in parse(text, "a.rs")) <= 1000
