"""Code outside all definitions, and files that are empty or broken."""

from __future__ import annotations

import pytest

from aurora.parsers.registry import parser_for
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
            name="settings",
            content='"""Settings."""\n\nDEBUG = True',
            path="pkg/settings.py",
            lines=Lines(1, 3),
            language="python",
        )
    ]


def test_code_is_cut_around_definitions() -> None:
    source = "import a\nx = 1\n\n# of f\ndef f(): pass\n\ny = 2\n\n@d\nclass A: pass\nz = 3\n"

    assert code(source) == [((1, 2), "import a\nx = 1"), ((7, 7), "y = 2"), ((11, 11), "z = 3")]
    assert {chunk.id for chunk in parse(source)} == {
        "a.py:module", "a.py:module#2", "a.py:module#3", "a.py:f", "a.py:A",
    }  # fmt: skip


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
        pytest.param("a = 1\n" + "\n" * 70 + "b = 2\n", [(1, 1), (72, 72)], id="far-apart"),
    ],
)
def test_code_is_cut_between_statements_at_sixty_lines(
    source: str, lines: list[tuple[int, int]]
) -> None:
    assert [where for where, _ in code(source)] == lines
    assert "\n".join(content for _, content in code(source)).split() == [
        word for word in source.split() if word not in {"def", "f():", "pass"}
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

    assert parsed.problem == "a.py has syntax errors"
    assert found["a.py:before"] == "def before():\n    return 1"
    assert found["a.py:After.m"] == "def m(self): pass"
    for word in broken.split():
        assert any(word in content for content in found.values())


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
