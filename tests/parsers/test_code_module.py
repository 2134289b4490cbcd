"""Code outside all definitions, and files that are empty or broken."""

from __future__ import annotations

import re

import pytest

from aurora.parsers.registry import parser_for
from aurora.text import chunk_text, indexed_name
from aurora.types import Chunk, Document, Kind, Lines
from tests.builders import parse


def code(source: str) -> list[tuple[tuple[int, int] | None, str]]:
    """Lines and content of each chunk of module-level code."""
    return [(c.lines, c.content) for c in parse(source) if c.kind is Kind.CODE]


def statements(first: int, last: int) -> str:
    return "\n".join(f"x{n} = {n}" for n in range(first, last + 1))


def test_a_module_without_definitions_is_one_chunk() -> None:
    assert parse('"""Settings."""\n\nDEBUG = True\n', "pkg/settings.py") == [
        Chunk(
            id="pkg/settings.py:module",
            kind=Kind.CODE,
            name="DEBUG",
            content='"""Settings."""\n\nDEBUG = True',
            path="pkg/settings.py",
            lines=Lines(1, 3),
            language="python",
            metadata={"symbols": [["DEBUG", "constant", 3, 3]]},
        )
    ]


def test_short_leftovers_between_definitions_share_a_chunk() -> None:
    source = "import a\nx = 1\n\n# of f\ndef f(): pass\n\ny = 2\n\n@d\nclass A: pass\nz = 3\n"

    assert code(source) == [((1, 11), "import a\nx = 1\n...\ny = 2\n...\nz = 3")]
    assert {chunk.id for chunk in parse(source)} == {"a.py:module", "a.py:f", "a.py:A"}


def test_a_block_is_kept_whole_without_the_bodies_it_holds() -> None:
    source = (
        "try:\n    import fast\nexcept ImportError:\n    def fast():\n        return slow\n"
        "    ready = False\nif ready:\n    class A:\n        x = 1\n"
    )

    assert code(source) == [
        (
            (1, 9),
            "try:\n    import fast\nexcept ImportError:\n    def fast(): ...\n"
            "    ready = False\nif ready:\n    class A: ...",
        )
    ]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param(statements(1, 60), [(1, 60)], id="sixty"),
        pytest.param(statements(1, 61), [(1, 60), (61, 61)], id="sixty-one"),
        pytest.param(statements(1, 150), [(1, 60), (61, 120), (121, 150)], id="many"),
        pytest.param(
            statements(1, 59) + "\ny = [\n    1,\n]", [(1, 59), (60, 62)], id="between-statements"
        ),
        pytest.param("x = [\n" + "    1,\n" * 98 + "]", [(1, 100)], id="one-long-statement"),
        pytest.param(
            statements(1, 40) + "\ndef f(): pass\n" + statements(1, 40),
            [(1, 40), (42, 81)],
            id="counted-anew-after-a-definition",
        ),
        pytest.param("a = 1\n" + "\n" * 70 + "b = 2\n", [(1, 72)], id="far-apart"),
    ],
)
def test_code_is_cut_between_statements_at_sixty_lines(
    source: str, lines: list[tuple[int, int]]
) -> None:
    assert [where for where, _ in code(source)] == lines
    words = "\n".join(content for _, content in code(source)).split()
    hidden = {"def", "f():", "pass", "..."}
    assert [w for w in words if w != "..."] == [w for w in source.split() if w not in hidden]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param("import a\nX = 1\ny = z = 2\nw = 3\n", "X, y, z", id="symbols"),
        pytest.param("# all\nimport a\nfrom b import c\n", "imports", id="imports"),
        pytest.param('if __name__ == "__main__":\n    run()\n', "main", id="script"),
        pytest.param('"""Settings of it."""\n', "Settings of it.", id="docstring"),
        pytest.param("# Only a comment.\n", "Only a comment.", id="comment"),
        pytest.param("run(first, second)\n", "run(first, second)", id="statement"),
        pytest.param(f"run({'a' * 99})\n", f"run({'a' * 36}", id="long"),
        pytest.param("()\n", "a", id="no-word"),
    ],
)
def test_code_outside_definitions_is_named_after_what_is_in_it(source: str, name: str) -> None:
    assert [chunk.name for chunk in parse(source)] == [name]


@pytest.mark.parametrize(
    ("path", "source", "name"),
    [
        ("doc.go", "// Package mux routes.\n// It is fast.\npackage mux\n", "package mux"),
        ("a.go", '// All.\npackage mux\nimport "net"\n', "imports"),
        ("a.js", "// All.\nvar fresh = require('fresh');\n", "imports"),
        ("b.js", "const { a, b: c } = require('./a'), d = require('./b').d;\n", "imports"),
        ("c.js", "const a = require('a');\nconst real = a();\n", "real"),
    ],
)
def test_imports_are_named_as_such(path: str, source: str, name: str) -> None:
    assert [chunk.name for chunk in parse(source, path)] == [name]


@pytest.mark.parametrize(
    "pragma",
    ["# frozen_string_literal: true", "# -*- coding: utf-8 -*-",
     "# encoding: utf-8\n# frozen_string_literal: true"],
)  # fmt: skip
def test_a_pragma_is_no_chunk(pragma: str) -> None:
    found = parse(f"{pragma}\n\nclass A\nend\n", "a.rb")
    assert [chunk.name for chunk in found] == ["A"]
    assert len(parse(f"{pragma}\n# Why it is here.\n\nclass A\nend\n", "a.rb")) == 2


def test_code_outside_definitions_is_indexed_under_the_name_of_its_file() -> None:
    """Its own name repeats words of the content, and would outweigh the definitions."""
    module, function = parse("X = 1\n", "pkg/settings.py") + parse("def f(): pass\n")

    assert (module.name, indexed_name(module), indexed_name(function)) == ("X", "settings", "f")
    assert chunk_text(module).startswith("settings\nsettings\n")


def test_leftovers_fill_chunks_of_sixty_lines() -> None:
    source = "\n".join(f"def f{n}(): pass\nx{n} = {n}\n" for n in range(70))
    chunks = [chunk for chunk in parse(source) if chunk.kind is Kind.CODE]

    assert [chunk.id for chunk in chunks] == ["a.py:module", "a.py:module#2", "a.py:module#3"]
    assert all(chunk.content.count("\n") < 60 for chunk in chunks)
    assert [symbol.name for chunk in chunks for symbol in chunk.symbols] == [
        f"x{n}" for n in range(70)
    ]


@pytest.mark.parametrize("source", ["", "\n", "  \n\t\n", "\r\n\r\n", "\x0c"])
def test_nothing_gives_no_chunk_and_is_no_problem(source: str) -> None:
    parsed = parser_for("a.py").parse(Document("a.py", source))

    assert (parsed.chunks, parsed.problem) == ((), "")


def test_comments_alone_are_kept() -> None:
    assert code("#!/bin/sh\n# one\n\n# two\n") == [((1, 4), "#!/bin/sh\n# one\n\n# two")]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("def broken(:\n    return 2\n", id="parameters"),
        pytest.param("x = = 1\n", id="expression"),
        pytest.param("class Broken(\n\n", id="open-bracket"),
        pytest.param("print 'two', 'words'\n%%\n", id="foreign"),
    ],
)
def test_a_broken_file_gives_what_parses_and_says_so(broken: str) -> None:
    source = f"def before():\n    return 1\n\n{broken}\nclass After:\n    def m(self): pass\n"

    parsed = parser_for("a.py").parse(Document("a.py", source))
    found = {chunk.id: chunk.content for chunk in parsed.chunks}

    assert re.fullmatch(r"a.py has syntax errors: \d+ lines? could not be parsed", parsed.problem)
    assert found["a.py:before"] == "def before():\n    return 1"
    assert found["a.py:After.m"] == "def m(self): pass"
    for word in broken.split():
        assert any(word in content for content in found.values())


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        pytest.param("interface A {\n  b: import('c').D[];\n}\n", "", id="line-of-a-definition"),
        pytest.param("const a = = 1;\n", "1 line", id="statement"),
        pytest.param(
            "function f() {\n<<<<<<< a\n  b c\n=======\n  d }\n>>>>>>> e\n}\n",
            "5 lines",
            id="conflict",
        ),
    ],
)
def test_a_problem_says_how_many_lines_are_lost(source: str, lost: str) -> None:
    """The grammar for TypeScript does not know all types: the interface is found all the same."""
    parsed = parser_for("a.ts").parse(Document("a.ts", source))

    expected = f"a.ts has syntax errors: {lost} could not be parsed" if lost else ""
    assert parsed.problem == expected


def test_no_text_of_a_broken_file_is_lost() -> None:
    """Tree-sitter leaves characters at the end out of its tree; they are text all the same."""
    source = '"{w1 s(d(s(x:\n lost '

    assert any("lost" in chunk.content for chunk in parse(source))


@pytest.mark.parametrize(
    "source", ["\\\n", '):\n w """é = 1\n', "# c\n!\n\r\n w `\n", "w ):\n\t}`\n"]
)
def test_the_last_line_of_a_broken_file_is_the_last_there_is(source: str) -> None:
    last = source.count("\n")

    assert [c.lines for c in parse(source) if c.lines is None or c.lines.end > last] == []
