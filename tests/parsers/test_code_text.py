"""Line numbers and text are those of the file, whatever it is written in."""

from __future__ import annotations

from textwrap import dedent

import pytest

from aurora.types import Kind
from tests.builders import parse

SOURCE = '''\
# Größen — 大きさ 🐍
"""Modul über Größen."""
import os

π = 3.14  # “approximately”

# Höhe × Breite
@cache
def fläche(höhe: int, breite: int) -> int:
    """面積を計算する。"""
    return höhe * breite

class Körper:
    """Ein Körper — mit Höhe."""

    größe: int = 1

    # 体積
    def volumen(self):
        return "🐍" * self.größe

    class Ñandú:
        def 走る(self):
            return "走"

LETZTE = "ß"
'''


def by_id(source: str, path: str = "a.py") -> dict[str, str]:
    return {chunk.id: chunk.content for chunk in parse(source, path)}


def test_non_ascii_text_before_and_in_names_moves_nothing() -> None:
    assert by_id(SOURCE) == {
        "a.py:module": '# Größen — 大きさ 🐍\n"""Modul über Größen."""\nimport os\n\n'
        'π = 3.14  # “approximately”\n...\nLETZTE = "ß"',
        "a.py:fläche": "# Höhe × Breite\n@cache\ndef fläche(höhe: int, breite: int) -> int:\n"
        '    """面積を計算する。"""\n    return höhe * breite',
        "a.py:Körper": 'class Körper:\n    """Ein Körper — mit Höhe."""\n\n    größe: int = 1\n\n'
        "    # 体積\n    def volumen(self): ...\n\n    class Ñandú: ...",
        "a.py:Körper.volumen": '# 体積\ndef volumen(self):\n    return "🐍" * self.größe',
        "a.py:Körper.Ñandú": "class Ñandú:\n    def 走る(self): ...",
        "a.py:Körper.Ñandú.走る": 'def 走る(self):\n    return "走"',
    }


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(SOURCE, id="plain"),
        pytest.param(SOURCE.replace("\n", "\r\n"), id="crlf"),
        pytest.param(SOURCE.replace("    ", "\t"), id="tabs"),
        pytest.param(SOURCE.replace("    ", "  "), id="two-spaces"),
        pytest.param("\n\n\n" + SOURCE, id="blank-lines-first"),
        pytest.param(SOURCE.rstrip(), id="no-last-newline"),
        pytest.param(SOURCE.replace("\n\n", "\n\x0c\n"), id="form-feeds"),
        pytest.param(SOURCE.replace("—", "\u2028\x85\x1c"), id="other-line-separators"),
        pytest.param(SOURCE.replace("import os", "import os, \\\n    sys"), id="continued-line"),
    ],
)
def test_the_first_and_last_line_of_a_chunk_are_those_of_the_file(source: str) -> None:
    lines = [line.strip() for line in source.split("\n")]
    chunks = parse(source)

    assert len(chunks) == 6
    for chunk in chunks:
        assert chunk.lines is not None
        content = chunk.content.split("\n")
        assert content[0].strip() == lines[chunk.lines.start - 1]
        if chunk.kind is not Kind.CLASS:  # a class may end in a body that is left out
            assert content[-1].strip() == lines[chunk.lines.end - 1]
        if chunk.kind in (Kind.FUNCTION, Kind.METHOD):
            assert len(content) == chunk.lines.end - chunk.lines.start + 1


def test_crlf_stays_in_the_content_and_out_of_names() -> None:
    source = "class A:\r\n    x = 1\r\n\r\n    def f(self):\r\n        return 1\r\n"

    chunks = parse(source)

    assert [(c.id, c.content, c.metadata["signature"]) for c in chunks] == [
        ("a.py:A", "class A:\r\n    x = 1\r\n\r\n    def f(self): ...", "class A:"),
        ("a.py:A.f", "def f(self):\r\n    return 1", "def f(self):"),
    ]


@pytest.mark.parametrize("indent", ["\t", "  ", "    ", "\t\t"])
def test_a_method_is_shown_without_the_indentation_of_its_class(indent: str) -> None:
    source = f"class A:\n{indent}def f(self):\n{indent}{indent}if 1:\n{indent}{indent * 2}pass\n"

    assert by_id(source)["a.py:A.f"] == f"def f(self):\n{indent}if 1:\n{indent * 2}pass"


def test_text_that_stands_further_left_than_its_method_is_kept() -> None:
    source = 'class A:\n    def f(self):\n        return """\nleft\n  half\n"""\n'

    assert by_id(source)["a.py:A.f"] == 'def f(self):\n    return """\nleft\n  half\n"""'


def test_a_type_stub_gives_signatures() -> None:
    source = dedent("""\
        from typing import overload
        version: str
        def f(x: int) -> str: ...
        class A:
            name: str
            @overload
            def get(self, key: int) -> int: ...
            @overload
            def get(self, key: str) -> str: ...
    """)

    assert by_id(source, "lib/a.pyi") == {
        "lib/a.pyi:module": "from typing import overload\nversion: str",
        "lib/a.pyi:f": "def f(x: int) -> str: ...",
        "lib/a.pyi:A": source[source.index("class A") :].rstrip(),
        "lib/a.pyi:A.get": "@overload\ndef get(self, key: int) -> int: ...",
        "lib/a.pyi:A.get#2": "@overload\ndef get(self, key: str) -> str: ...",
    }
