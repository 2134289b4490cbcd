"""Code into functions, methods, classes and the rest, by tree-sitter.

A function or method is one chunk with its decorators, leading comment and docstring. A class is its
header, docstring, fields and the signatures of what it holds; the bodies are chunks of their own.
What belongs to no definition (imports, constants, scripts) is kind `code`, cut between statements.
All positions are bytes: slicing text by them would garble every file with a non-ASCII character.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import tree_sitter
from tree_sitter import Node

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.languages import Grammar
from aurora.types import Chunk, Document, Json, Kind, Lines

_MOST_LINES = 60  # of module-level statements in one chunk
_SIGNATURE = 300  # characters kept of a signature
_ELLIPSIS = b" ..."


@dataclass(frozen=True, slots=True)
class _Definition:
    """A function or class in its file: `outer` spans decorators and leading comment too."""

    node: Node
    start: int
    end: int
    first_line: int
    names: tuple[str, ...]
    kind: Kind

    @property
    def body(self) -> Node | None:
        return self.node.child_by_field_name("body")


class CodeParser:
    """Cuts files of one language. The grammar is loaded when the parser is made."""

    def __init__(self, grammar: Grammar) -> None:
        module = importlib.import_module(grammar.module)
        self._grammar = grammar
        self._parser = tree_sitter.Parser(tree_sitter.Language(module.language()))

    def parse(self, document: Document) -> Parsed:
        source = document.text.encode()
        root = self._parser.parse(source).root_node
        cutting = _Cutting(self._grammar, document.path, source)
        problem = f"{document.path} has syntax errors" if root.has_error else ""
        return Parsed(tuple(cutting.chunks(root)), problem)


class _Cutting:
    """One file being cut."""

    def __init__(self, grammar: Grammar, path: str, source: bytes) -> None:
        self._grammar, self._path, self._source = grammar, path, source
        self._ids = Ids(path)
        self._module = PurePosixPath(path).stem

    def chunks(self, root: Node) -> Iterator[Chunk]:
        outermost = self._definitions(root, ())
        yield from self._module_code(root, outermost)
        waiting = outermost[::-1]
        while waiting:
            definition = waiting.pop()
            inner: list[_Definition] = []
            if definition.kind is Kind.CLASS:
                inner = self._definitions(definition.node, definition.names)
                waiting += inner[::-1]
            yield self._definition_chunk(definition, inner)

    def _definitions(self, parent: Node, names: tuple[str, ...]) -> list[_Definition]:
        """The definitions directly in a module or class, through ifs and tries, in order."""
        found, waiting = [], list(reversed(parent.children))
        while waiting:
            node = waiting.pop()
            inner = self._unwrapped(node)
            if inner.type in self._grammar.functions | self._grammar.classes:
                found.append(self._definition(node, inner, names, in_class=bool(names)))
            elif node.type in self._grammar.blocks:
                waiting.extend(reversed(node.children))
        return found

    def _unwrapped(self, node: Node) -> Node:
        if node.type not in self._grammar.wrappers:
            return node
        return node.child_by_field_name("definition") or node

    def _definition(
        self, outer: Node, node: Node, names: tuple[str, ...], *, in_class: bool
    ) -> _Definition:
        if node.type in self._grammar.classes:
            kind = Kind.CLASS
        else:
            kind = Kind.METHOD if in_class else Kind.FUNCTION
        first = self._with_leading_comment(outer)
        name = node.child_by_field_name("name")
        own = self._text(name.start_byte, name.end_byte) if name is not None else "anonymous"
        return _Definition(
            node, first.start_byte, outer.end_byte, first.start_point.row, (*names, own), kind
        )

    def _with_leading_comment(self, node: Node) -> Node:
        """The first of the comment lines that stand directly above a definition."""
        above = node.prev_sibling
        while (
            above is not None
            and above.type in self._grammar.comments
            and above.end_point.row == node.start_point.row - 1
            and self._starts_its_line(above)
        ):
            node, above = above, above.prev_sibling
        return node

    def _starts_its_line(self, node: Node) -> bool:
        line = self._source.rfind(b"\n", 0, node.start_byte) + 1
        return not self._source[line : node.start_byte].strip()

    def _definition_chunk(self, definition: _Definition, inner: Sequence[_Definition]) -> Chunk:
        qualified = ".".join(definition.names)
        return Chunk(
            id=self._ids.make(qualified),
            kind=definition.kind,
            name=definition.names[-1],
            content=self._outline(definition.start, definition.end, inner),
            qualified_name=qualified,
            path=self._path,
            lines=Lines(definition.first_line + 1, definition.node.end_point.row + 1),
            language=self._grammar.language,
            metadata=self._signature(definition),
        )

    def _signature(self, definition: _Definition) -> dict[str, Json]:
        body = definition.body
        end = body.start_byte if body is not None else definition.end
        words = self._text(definition.node.start_byte, end).split()
        return {"signature": " ".join(words)[:_SIGNATURE]}

    def _outline(self, start: int, end: int, inner: Sequence[_Definition]) -> str:
        """Source with the bodies of inner definitions left out; indented as the first line is."""
        line = self._source.rfind(b"\n", 0, start) + 1
        at = line if not self._source[line:start].strip() else start
        pieces = []
        for definition in inner:
            body = definition.body
            cut = body.start_byte if body is not None else definition.end
            pieces += [self._source[at:cut].rstrip(), _ELLIPSIS]
            at = definition.end
        pieces.append(self._source[at:end])
        return _dedent(b"".join(pieces).decode())

    def _module_code(self, root: Node, definitions: Sequence[_Definition]) -> Iterator[Chunk]:
        """Chunks of the statements outside all definitions."""
        for run in self._runs(root, definitions):
            start, end = run[0].start_byte, run[-1].end_byte
            inner = [d for d in definitions if start <= d.start and d.end <= end]
            yield Chunk(
                id=self._ids.make("module"),
                kind=Kind.CODE,
                name=self._module,
                content=self._outline(start, end, inner),
                path=self._path,
                lines=Lines(run[0].start_point.row + 1, run[-1].end_point.row + 1),
                language=self._grammar.language,
            )

    def _runs(self, root: Node, definitions: Sequence[_Definition]) -> Iterator[list[Node]]:
        """Neighbouring statements of a module, a new run after each definition or sixty lines."""
        ends = {definition.start: definition.end for definition in definitions}
        run: list[Node] = []
        covered = -1  # end of the definition, with its comment, that the walk is inside of
        for node in root.children:
            covered = max(covered, ends.get(node.start_byte, -1))
            inside = node.end_byte <= covered
            full = bool(run) and node.end_point.row - run[0].start_point.row >= _MOST_LINES
            if run and (inside or full):
                yield run
                run = []
            if not inside:
                run.append(node)
        if run:
            yield run

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].decode()


def _dedent(text: str) -> str:
    """Take the first line's indentation off every line that has it."""
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    if not indent:
        return text
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))
