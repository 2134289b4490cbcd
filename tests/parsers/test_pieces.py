"""Long definitions: cut between statements, every line kept, outlines kept short."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from aurora.types import Chunk
from tests.builders import parse


def long_function(statements: int) -> str:
    body = "\n".join(f"    value_{n} = compute({n},\n        more={n})" for n in range(statements))
    return f'def long(a, b):\n    """Doc."""\n{body}\n    return a\n'


def sizes(chunks: list[Chunk]) -> list[int]:
    return [chunk.lines.end - chunk.lines.start + 1 for chunk in chunks if chunk.lines]


def test_a_function_of_three_screens_is_one_chunk() -> None:
    chunks = parse(long_function(58))
    assert [(chunk.id, chunk.metadata.get("parts")) for chunk in chunks] == [("a.py:long", None)]


def test_a_longer_one_is_cut_between_statements() -> None:
    text = long_function(200)
    chunks = parse(text)
    assert [chunk.id for chunk in chunks] == [
        "a.py:long", "a.py:long@2", "a.py:long@3", "a.py:long@4",
    ]  # fmt: skip
    assert "\n".join(part for chunk in chunks for part in [chunk.content]).count("value_") == 200
    assert max(sizes(chunks)) <= 121
    for number, chunk in enumerate(chunks, start=1):
        assert (chunk.name, chunk.qualified_name, chunk.kind) == ("long", "long", "function")
        assert chunk.metadata == {"signature": "def long(a, b):", "part": number, "parts": 4}
    for chunk in chunks[1:]:
        ast.parse(chunk.content.replace("return a", ""))  # no statement was cut in two


def test_a_long_statement_is_looked_into() -> None:
    entries = "\n".join(f"        {n}: [{n}, {n}]," for n in range(400))
    chunks = parse(f"def table():\n    return {{\n{entries}\n    }}\n")
    assert len(chunks) == 4
    assert max(sizes(chunks)) <= 121


def test_a_class_is_measured_by_its_outline() -> None:
    """A hundred long methods leave a short outline; three hundred do not."""
    method = "    def m{n}(self):\n" + "        pass\n" * 30
    short = parse("class Big:\n" + "".join(method.format(n=n) for n in range(100)))
    assert [chunk.id for chunk in short if chunk.kind == "class"] == ["a.py:Big"]
    tall = parse("class Big:\n" + "".join(method.format(n=n) for n in range(300)))
    pieces = [chunk for chunk in tall if chunk.kind == "class"]
    assert [chunk.metadata["part"] for chunk in pieces] == [1, 2, 3]
    assert sum(chunk.content.count("def m") for chunk in pieces) == 300
    assert sum(chunk.kind == "method" for chunk in tall) == 300


def test_long_module_code_is_cut_too() -> None:
    data = "\n".join(f"    'name {n}'," for n in range(500))
    chunks = parse(f"NAMES = [\n{data}\n]\n")
    assert len(chunks) == 5
    assert sum(chunk.content.count("'name ") for chunk in chunks) == 500


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(0, 3))
def test_no_line_is_lost_or_doubled(blocks: list[int], depth: int) -> None:
    """Nested blocks of any length: the pieces are the function's lines, in order."""
    lines, number = ["def f():"], 0
    for block in blocks:
        indent = "    " * (1 + depth % 3)
        lines += ["    " * level + "if True:" for level in range(1, 1 + depth % 3)]
        for _ in range(block):
            lines.append(f"{indent}line_{number} = {number}")
            number += 1
    chunks = parse("\n".join(lines) + "\n")
    words = [word for chunk in chunks for word in chunk.content.split() if word.startswith("line_")]
    assert words == [f"line_{n}" for n in range(number)]
