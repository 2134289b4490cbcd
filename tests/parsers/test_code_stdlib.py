"""Python's own sources, with `ast` as the oracle."""

from __future__ import annotations

import ast
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.parsers.registry import parser_for
from aurora.types import Chunk, Document, Kind

STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = [
    ".", "asyncio", "collections", "concurrent", "ctypes", "curses", "dbm", "email", "encodings",
    "html", "http", "importlib", "json", "logging", "multiprocessing", "re", "sqlite3", "tkinter",
    "unittest", "urllib", "wsgiref", "xml", "xmlrpc", "zoneinfo",
]  # fmt: skip

Found = tuple[str, str, int]  # kind, qualified name, last line


def sources(package: str) -> list[Path]:
    folder = STDLIB / package
    return sorted(folder.glob("*.py") if package == "." else folder.rglob("*.py"))


def by_ast(body: list[ast.stmt], names: tuple[str, ...] = ()) -> Iterator[Found]:
    """Definitions of a module or class, through the blocks that may hold some."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_class = isinstance(node, ast.ClassDef)
            kind = Kind.CLASS if is_class else Kind.METHOD if names else Kind.FUNCTION
            yield str(kind), ".".join((*names, node.name)), node.end_lineno or 0
            if is_class:
                yield from by_ast(node.body, (*names, node.name))
            continue
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            for inner in getattr(node, part, []):
                own = inner.body if isinstance(inner, ast.ExceptHandler | ast.match_case) else None
                yield from by_ast([inner] if own is None else own, names)


def by_parser(chunks: tuple[Chunk, ...], lines: list[str]) -> Iterator[Found]:
    """What `ast` would say of the same: comments at a definition's end are nothing to it."""
    for chunk in chunks:
        if chunk.kind is Kind.CODE or chunk.lines is None:
            continue
        if chunk.metadata.get("part") != chunk.metadata.get("parts"):
            continue  # of a long definition only the last piece ends where the definition does
        last = chunk.lines.end
        while not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#"):
            last -= 1
        yield str(chunk.kind), chunk.qualified_name, last


def problems(path: Path) -> list[str]:
    """Whatever is wrong with the chunks of one file, in words."""
    text = path.read_bytes().decode("utf-8-sig")
    parsed = parser_for(path.name).parse(Document(path.name, text))
    lines = text.split("\n")
    expected, found = (
        Counter(by_ast(ast.parse(text).body)),
        Counter(by_parser(parsed.chunks, lines)),
    )
    ids = Counter(chunk.id for chunk in parsed.chunks)
    return [
        *([parsed.problem] if parsed.problem else []),
        *(f"missing: {definition}" for definition in expected - found),
        *(f"not there: {definition}" for definition in found - expected),
        *(f"id comes again: {id_}" for id_, count in ids.items() if count > 1),
        *(f"wrong text: {c.id}" for c in parsed.chunks if not shows_itself(c, lines)),
    ]


def shows_itself(chunk: Chunk, lines: list[str]) -> bool:
    """The content starts with the line it says it does, and holds the name it goes by."""
    assert chunk.lines is not None
    first = chunk.content.split("\n")[0].removesuffix(" ...")  # a body left out of an outline
    later = chunk.metadata.get("part", 1) != 1
    named = chunk.kind is Kind.CODE or later or chunk.name in chunk.content
    line = lines[chunk.lines.start - 1].strip()
    return named and line.startswith(first.strip())


@pytest.mark.parametrize("package", PACKAGES)
def test_definitions_are_those_that_ast_finds(package: str) -> None:
    files = sources(package)
    if not files:
        pytest.skip(f"this Python has no {package}")

    assert {str(path): found for path in files if (found := problems(path))} == {}
