"""Code into functions, methods, classes and the rest, by tree-sitter.

A function or method is one chunk with its decorators, leading comment and docstring. A class is its
header, docstring, fields and the signatures of what it holds; the bodies are chunks of their own.
What belongs to no definition (imports, constants, scripts) is kind `code`, cut between statements.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tree_sitter import Node

from aurora.parsers.base import Ids, Parsed
from aurora.parsers.definitions import Definition, DefinitionFinder
from aurora.parsers.languages import Grammar
from aurora.parsers.pieces import Span, cut
from aurora.parsers.plain import PlainParser
from aurora.parsers.source import Source
from aurora.parsers.trees import TreeMaker
from aurora.types import Chunk, Document, Json, Kind

_MOST_LINES = 120  # of a definition in one chunk: about three screens
_MOST_MODULE_LINES = 60  # of statements between definitions in one chunk
_FEWEST_WORDS = 3  # of text that is no statement, to be worth a chunk
_SIGNATURE = 300  # characters kept of a signature
_MOST_NAMES = 20  # of classes around a definition: nobody nests deeper, and each name has them all
_LONG_LINE = 2000  # characters a line on the average
_SHORT_FILE = 10  # lines that a file of one is taken to have: its one line may be a long one


class CodeParser:
    """Cuts files of one language. The grammar is loaded when the parser is made."""

    def __init__(self, grammar: Grammar, *, trees: TreeMaker | None = None) -> None:
        self._grammar, self._trees = grammar, trees or TreeMaker(grammar)
        self._by_lines = PlainParser(Kind.CODE, grammar.language)

    def parse(self, document: Document) -> Parsed:
        if _is_data(document.text):
            return self._by_lines.parse(document)
        source = Source(document.text.removeprefix("\ufeff"))
        root = self._trees.make(source.content)
        if root is None:
            problem = f"{document.path} takes too long to parse and is cut by lines"
            return replace(self._by_lines.parse(document), problem=problem)
        cutting = _Cutting(self._grammar, document.path, source)
        problem = f"{document.path} has syntax errors" if root.has_error else ""
        return Parsed(tuple(cutting.chunks(root)), problem)


def _is_data(text: str) -> bool:
    """True for a text of endless lines: minified, or no code at all."""
    return len(text) > _LONG_LINE * (text.count("\n") + _SHORT_FILE)


class _Cutting:
    """One file being cut."""

    def __init__(self, grammar: Grammar, path: str, source: Source) -> None:
        self._grammar, self._path, self._source = grammar, path, source
        self._ids = Ids(path)
        self._finder = DefinitionFinder(grammar, source)

    def chunks(self, root: Node) -> Iterator[Chunk]:
        outermost = self._finder.directly_in(root)
        waiting = outermost[::-1]
        while waiting:
            definition = waiting.pop()
            inner = self._inner(definition)
            waiting += inner[::-1]
            yield from self._definition_chunks(definition, inner)
        # After the definitions, so that a function called `module` keeps its name to itself.
        yield from self._module_chunks(root, outermost)

    def _inner(self, definition: Definition) -> list[Definition]:
        if definition.kind is not Kind.CLASS:
            return []  # what a function defines inside is its own business
        return self._finder.directly_in(definition.node, definition.names[:_MOST_NAMES])

    def _definition_chunks(
        self, definition: Definition, inner: Sequence[Definition]
    ) -> Iterator[Chunk]:
        """One chunk, or several when the body is very long; all carry name and signature."""
        qualified = ".".join(definition.names)
        signature = self._source.text(definition.node.start_byte, definition.header_end)
        about: dict[str, Json] = {"signature": " ".join(signature.split())[:_SIGNATURE]}
        span, gaps = (definition.start, definition.end), _gaps(inner)
        pieces = cut(definition.node, span, gaps, self._source, most=_MOST_LINES)
        for number, piece in enumerate(pieces, start=1):
            part: dict[str, Json] = {"part": number, "parts": len(pieces)}
            yield Chunk(
                id=self._ids.make(qualified if number == 1 else f"{qualified}@{number}"),
                kind=definition.kind,
                name=definition.names[-1],
                content=self._source.outline(*piece, gaps),
                qualified_name=qualified,
                path=self._path,
                lines=self._source.lines(*piece),
                language=self._grammar.language,
                metadata=about | part if len(pieces) > 1 else about,
            )

    def _module_chunks(self, root: Node, definitions: Sequence[Definition]) -> Iterator[Chunk]:
        """Chunks of the text outside all definitions."""
        starts = [definition.start for definition in definitions]
        for start, end in self._runs(root, definitions):
            inner = definitions[bisect_left(starts, start) : bisect_left(starts, end)]
            for piece in cut(root, (start, end), _gaps(inner), self._source, most=_MOST_LINES):
                yield Chunk(
                    id=self._ids.make("module"),
                    kind=Kind.CODE,
                    name=PurePosixPath(self._path).stem,
                    content=self._source.outline(*piece, _gaps(inner)),
                    path=self._path,
                    lines=self._source.lines(*piece),
                    language=self._grammar.language,
                )

    def _runs(self, root: Node, definitions: Sequence[Definition]) -> Iterator[Span]:
        """Spans between the definitions of a module, a new one where sixty lines are full.

        Spans of the source, not lists of nodes: the tree of a broken file leaves text out.
        """
        ends = {definition.start: definition.end for definition in definitions}
        start, first_row, covered = 0, -1, -1
        for node in self._finder.statements(root):
            covered = max(covered, ends.get(node.start_byte, -1))
            inside = node.end_byte <= covered  # of a definition or the comment above it
            full = first_row >= 0 and node.end_point.row - first_row >= _MOST_MODULE_LINES
            if inside or full:
                yield from self._worthwhile(start, node.start_byte, first_row >= 0)
                start = node.end_byte if inside else node.start_byte
                first_row = -1
            if not inside and first_row < 0:
                first_row = node.start_point.row
        yield from self._worthwhile(start, len(self._source.content), first_row >= 0)

    def _worthwhile(self, start: int, end: int, has_statement: bool) -> Iterator[Span]:
        """The span without white space; nothing for the `namespace x {` and `}` of a scope."""
        start, end = self._source.stripped(start, end)
        opened = bool(self._grammar.scopes or self._grammar.guards) and end - start < _LONG_LINE
        few = opened and len(re.findall(r"\w+", self._source.text(start, end))) < _FEWEST_WORDS
        if start < end and (has_statement or not few):
            yield start, end


def _gaps(inner: Sequence[Definition]) -> list[Span]:
    """The bodies that an outline leaves out."""
    return [(definition.header_end, definition.end) for definition in inner]
