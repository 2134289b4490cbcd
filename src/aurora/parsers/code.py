"""Code into functions, methods, classes and the rest, by tree-sitter.

A function or method is one chunk with its decorators, leading comment and docstring. A class is its
header, docstring, fields and the signatures of what it holds; the bodies are chunks of their own.
What belongs to no definition (imports, constants, scripts) is kind `code`, cut between statements.
"""

from __future__ import annotations

import importlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import tree_sitter
from tree_sitter import Node

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.definitions import Definition, find_definitions
from aurora.parsers.languages import Grammar
from aurora.parsers.source import Source
from aurora.types import Chunk, Document, Kind

_MOST_LINES = 60  # of module-level statements in one chunk
_SIGNATURE = 300  # characters kept of a signature


class CodeParser:
    """Cuts files of one language. The grammar is loaded when the parser is made."""

    def __init__(self, grammar: Grammar) -> None:
        module = importlib.import_module(grammar.module)
        self._grammar = grammar
        self._parser = tree_sitter.Parser(tree_sitter.Language(module.language()))

    def parse(self, document: Document) -> Parsed:
        source = Source(document.text)
        root = self._parser.parse(source.content).root_node
        cutting = _Cutting(self._grammar, document.path, source)
        problem = f"{document.path} has syntax errors" if root.has_error else ""
        return Parsed(tuple(cutting.chunks(root)), problem)


class _Cutting:
    """One file being cut."""

    def __init__(self, grammar: Grammar, path: str, source: Source) -> None:
        self._grammar, self._path, self._source = grammar, path, source
        self._ids = Ids(path)

    def chunks(self, root: Node) -> Iterator[Chunk]:
        outermost = find_definitions(root, (), self._grammar, self._source)
        waiting = outermost[::-1]
        while waiting:
            definition = waiting.pop()
            inner = self._inner(definition)
            waiting += inner[::-1]
            yield self._definition_chunk(definition, inner)
        # After the definitions, so that a function called `module` keeps its name to itself.
        yield from self._module_chunks(root, outermost)

    def _inner(self, definition: Definition) -> list[Definition]:
        if definition.kind is not Kind.CLASS:
            return []  # what a function defines inside is its own business
        return find_definitions(definition.node, definition.names, self._grammar, self._source)

    def _definition_chunk(self, definition: Definition, inner: Sequence[Definition]) -> Chunk:
        qualified = ".".join(definition.names)
        signature = self._source.text(definition.node.start_byte, definition.header_end)
        return Chunk(
            id=self._ids.make(qualified),
            kind=definition.kind,
            name=definition.names[-1],
            content=self._outline(definition.start, definition.end, inner),
            qualified_name=qualified,
            path=self._path,
            lines=self._source.lines(definition.start, definition.end),
            language=self._grammar.language,
            metadata={"signature": " ".join(signature.split())[:_SIGNATURE]},
        )

    def _outline(self, start: int, end: int, inner: Sequence[Definition]) -> str:
        """Source with the bodies of inner definitions left out."""
        return self._source.outline(start, end, [(one.header_end, one.end) for one in inner])

    def _module_chunks(self, root: Node, definitions: Sequence[Definition]) -> Iterator[Chunk]:
        """Chunks of the text outside all definitions."""
        starts = [definition.start for definition in definitions]
        for span in self._runs(root, definitions):
            start, end = self._source.stripped(*span)
            if start == end:
                continue
            inner = definitions[bisect_left(starts, start) : bisect_left(starts, end)]
            yield Chunk(
                id=self._ids.make("module"),
                kind=Kind.CODE,
                name=PurePosixPath(self._path).stem,
                content=self._outline(start, end, inner),
                path=self._path,
                lines=self._source.lines(start, end),
                language=self._grammar.language,
            )

    def _runs(self, root: Node, definitions: Sequence[Definition]) -> Iterator[tuple[int, int]]:
        """Spans between the definitions of a module, a new one where sixty lines are full.

        Spans of the source, not lists of nodes: the tree of a broken file leaves text out.
        """
        ends = {definition.start: definition.end for definition in definitions}
        start, first_row, covered = 0, -1, -1
        for node in root.children:
            covered = max(covered, ends.get(node.start_byte, -1))
            inside = node.end_byte <= covered  # of a definition or the comment above it
            full = first_row >= 0 and node.end_point.row - first_row >= _MOST_LINES
            if inside or full:
                yield start, node.start_byte
                start = node.end_byte if inside else node.start_byte
                first_row = -1
            if not inside and first_row < 0:
                first_row = node.start_point.row
        yield start, len(self._source.content)
