"""Splits code into functions, methods, classes and the rest, by tree-sitter.

A function or method is one chunk with its decorators, leading comment and docstring. A class is its
header, docstring, fields and the signatures of its members; their bodies are chunks of their own.
Text outside definitions (imports, constants, scripts) is kind `code`. Long chunks are split between
statements.
"""

from __future__ import annotations

import importlib
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

import tree_sitter
from tree_sitter import Node

from aurora.parsers.base import Ids, Parsed, Source
from aurora.parsers.languages import ANONYMOUS, Grammar, names_of
from aurora.parsers.plain import PlainParser
from aurora.parsers.symbols import FoundSymbol, SymbolFinder, SymbolTable, outside
from aurora.types import SYMBOLS, Chunk, Document, Json, Kind, Lines

_MAX_LINES = 120  # of a definition in one chunk: about three screens
_MAX_MODULE_LINES = 60  # of statements between definitions in one chunk
_SHORT_LEFTOVER = 10  # lines of a leftover that shares a chunk with others
_NAMES, _FIRST_WORDS = 3, 40  # symbols, or characters, in the name of a module's chunk
_WORDS_OF_A_MODULE = 3  # in Ruby: `module`, its name, and `end`
_MIN_WORDS = 3  # of text without a statement
_SIGNATURE = 300  # characters kept of a signature
_MAX_CLASSES = 20  # around a definition: each name repeats them
_MAX_NAMESPACES = 64  # around a definition: endless nesting would take quadratic time
_LONG_LINE = 2000  # characters per line on average
_SHORT_FILE = 10  # lines that are added: the only line of a file may be long
_TIMEOUT = 10.0  # seconds; the largest file that is read, 2 MiB of code, takes one
_LONGEST_LINE = 20_000  # bytes; a line of backticks takes Scala's scanner 4 s

_COMMENT = re.compile(r"\s*(?:#(?!\s*(?:include|if|define))|//|/\*|\*|--|\W*$)")
_IMPORT = re.compile(
    r"\s*(?:#\s*include|(?:import|from|use|using|package|require|require_relative|namespace"
    r"|export \*|export \{|export type \{)\b|export [*{]|<\?php"
    r"|(?:const|let|var)\s[^=;]+=\s*require\()"
)
_PACKAGE = re.compile(r"\s*package\s+[\w.]+")
_PRAGMA = re.compile(
    r"(?:\s*#\s*(?:-\*-.*|(?:frozen_string_literal|warn_indent|typed|(?:en)?coding)\s*[:=].*)\n?)+",
    re.I,
)
# What such a comment is about stands below it, as for Javadoc and JSDoc, also after a blank line.
_DOCUMENTING = re.compile(
    r"/\*\*(?!.*(?:@(?:file|module|license|package\b)|\bcopyright\b))", re.S | re.I
)
_STUB = re.compile(r"^\s*@(?:\w+\.)*(?:overload|abstractmethod)\b", re.MULTILINE)
_MAIN = re.compile(r"\s*if __name__ ==")

Span = tuple[int, int]  # of bytes


class CodeParser:
    """Splits files of one language. Creating the parser loads the grammar."""

    def __init__(self, grammar: Grammar, *, trees: TreeMaker | None = None) -> None:
        self._grammar, self._trees = grammar, trees or TreeMaker(grammar)
        self._symbols = SymbolFinder(self._trees.language, grammar.symbols)
        self._by_lines = PlainParser(Kind.CODE, grammar.language)

    def parse(self, document: Document) -> Parsed:
        text = document.text
        if len(text) > _LONG_LINE * (text.count("\n") + _SHORT_FILE):  # minified, or not code
            return self._by_lines.parse(document)
        source = Source(text.removeprefix("\ufeff"))
        root = self._trees.make(source.content)
        if root is None:
            problem = f"{document.path} takes too long to parse and is cut by lines"
            return replace(self._by_lines.parse(document), problem=problem)
        symbols = SymbolTable(self._symbols.find(root, source), source)
        chunks = _FileSplitter(self._grammar, document.path, source, symbols).chunks(root)
        return Parsed(tuple(chunks), self._problem(root, document.path))

    def _problem(self, root: Node, path: str) -> str:
        lost = lost_lines(root, self._grammar)
        lines = "1 line" if lost == 1 else f"{lost} lines"
        return f"{path} has syntax errors: {lines} could not be parsed" if lost else ""


class TreeMaker:
    """Makes the syntax trees of one language in bounded time.

    For text that is not code, some grammars would take hours: their scanners look ahead from every
    place of an endless line, or repair an error again and again. So very long lines are blanked,
    and parsing has a timeout.
    """

    def __init__(self, grammar: Grammar, *, patience: float = _TIMEOUT) -> None:
        module = importlib.import_module(grammar.module)
        self.language = tree_sitter.Language(getattr(module, grammar.entry)())
        with warnings.catch_warnings():
            # The replacement of `timeout_micros`, a callback, crashes the interpreter in 0.25.2.
            warnings.simplefilter("ignore", DeprecationWarning)
            limit = int(patience * 1_000_000)
            self._parser = tree_sitter.Parser(self.language, timeout_micros=limit)

    def make(self, content: bytes) -> Node | None:
        """Return the root of the tree, or None after a timeout. Positions are the content's."""
        try:
            return self._parser.parse(_parsable(content)).root_node
        except ValueError:
            self._parser.reset()  # otherwise the next file would continue this one
            return None


def _parsable(content: bytes) -> bytes:
    """Replace zero bytes and very long lines by blanks."""
    if b"\0" in content:
        content = content.replace(b"\0", b" ")
    lines = content.split(b"\n")
    if max(map(len, lines)) <= _LONGEST_LINE:
        return content
    return b"\n".join(line if len(line) <= _LONGEST_LINE else b" " * len(line) for line in lines)


def lost_lines(root: Node, grammar: Grammar) -> int:
    """Count the lines that the grammar does not understand.

    One line in the body of a definition does not count: the definition is found, and the cause may
    be syntax that is newer than the grammar.
    """
    definitions = grammar.functions | grammar.classes
    waiting, lines = [(root, False)], 0
    while waiting:
        node, inside = waiting.pop()
        rows = node.end_point.row - node.start_point.row + 1
        if node.type == "ERROR" or node.is_missing:
            lines += rows if rows > 1 or not inside else 0
        elif node.has_error:
            body = node.child_by_field_name("body") if node.type in definitions else None
            waiting += [(child, inside or child == body) for child in node.children]
    return lines


# Chunks


class _FileSplitter:
    """Splits one file."""

    def __init__(self, grammar: Grammar, path: str, source: Source, symbols: SymbolTable) -> None:
        self._grammar, self._path, self._source, self._symbols = grammar, path, source, symbols
        self._ids = Ids(path)
        self._finder = DefinitionFinder(grammar, source)

    def chunks(self, root: Node) -> Iterator[Chunk]:
        outermost = self._finder.directly_in(root)
        waiting = outermost[::-1]
        while waiting:
            definition = waiting.pop()
            inner: list[Definition] = []  # definitions inside a function stay in its chunk
            if definition.kind is Kind.CLASS:
                names = definition.names[:_MAX_CLASSES]
                inner = self._finder.directly_in(definition.node, names)
            waiting += inner[::-1]
            if not self._only_names(definition, inner):
                yield from self._definition_chunks(definition, inner)
        # After the definitions, so that a function called `module` gets the id without a number.
        yield from self._module_chunks(root, outermost)

    def _only_names(self, definition: Definition, inner: Sequence[Definition]) -> bool:
        """True for a module in Ruby that has one class and nothing else."""
        if definition.node.type not in self._grammar.namespaces or len(inner) != 1:
            return False
        start, end = definition.start, definition.end
        around = self._source.text(start, inner[0].start) + self._source.text(inner[0].end, end)
        return len(around.split()) == _WORDS_OF_A_MODULE

    def _definition_chunks(
        self, definition: Definition, inner: Sequence[Definition]
    ) -> Iterator[Chunk]:
        """Yield one chunk, or several for a long body, all with the name and the signature."""
        qualified = ".".join(definition.names)
        signature = self._source.text(definition.node.start_byte, definition.header_end)
        about: dict[str, Json] = {"signature": " ".join(signature.split())[:_SIGNATURE]}
        if _STUB.search(self._source.text(definition.start, definition.node.start_byte)):
            about["overload"] = True
        span = (definition.start, definition.end)
        pieces = self._pieces(definition.node, span, inner, definition)
        for number, piece in enumerate(pieces, start=1):
            part: dict[str, Json] = {"part": number, "parts": len(pieces)}
            yield replace(
                self._chunk(piece, definition.names[-1], about | (part if pieces[1:] else {})),
                id=self._ids.make(qualified if number == 1 else f"{qualified}@{number}"),
                kind=definition.kind,
                qualified_name=qualified,
            )

    def _module_chunks(self, root: Node, definitions: Sequence[Definition]) -> Iterator[Chunk]:
        """Yield chunks of the text outside all definitions. Short leftovers share a chunk."""
        starts = [definition.start for definition in definitions]
        short: list[_Piece] = []
        for start, end in self._module_spans(root, definitions):
            inner = definitions[bisect_left(starts, start) : bisect_left(starts, end)]
            for piece in self._pieces(root, (start, end), inner):
                if piece.height > _SHORT_LEFTOVER:
                    yield self._module_chunk([piece])
                    continue
                if sum(each.height + 1 for each in short) + piece.height > _MAX_MODULE_LINES:
                    yield self._module_chunk(short)
                    short = []
                short.append(piece)
        if short:
            yield self._module_chunk(short)

    def _module_chunk(self, pieces: Sequence[_Piece]) -> Chunk:
        """Join pieces of a module. An ellipsis stands for what is between them."""
        joined = _Piece(
            "\n...\n".join(piece.content for piece in pieces),
            Lines(pieces[0].lines.start, pieces[-1].lines.end),
            [symbol for piece in pieces for symbol in piece.symbols],
        )
        name = _module_name(joined) or PurePosixPath(self._path).stem
        return replace(self._chunk(joined, name, {}), id=self._ids.make("module"))

    def _chunk(self, piece: _Piece, name: str, about: Mapping[str, Json]) -> Chunk:
        """A chunk without an id."""
        symbols = self._symbols.listed(piece.symbols)
        return Chunk(
            id="",
            kind=Kind.CODE,
            name=name,
            content=piece.content,
            path=self._path,
            lines=piece.lines,
            language=self._grammar.language,
            metadata={**about, SYMBOLS: symbols} if symbols else about,
        )

    def _pieces(
        self, node: Node, span: Span, inner: Sequence[Definition], own: Definition | None = None
    ) -> list[_Piece]:
        """Split a span. Inner definitions are outlined."""
        gaps = [(definition.header_end, definition.end) for definition in inner]
        return [
            _Piece(
                self._source.outline(*piece, gaps),
                self._source.lines(*piece),
                self._symbols_of(piece, inner, own),
            )
            for piece in split_span(node, span, gaps, self._source)
        ]

    def _symbols_of(
        self, piece: Span, inner: Sequence[Definition], own: Definition | None
    ) -> list[FoundSymbol]:
        """The symbols of a piece, without those that are chunks or in other chunks."""
        hidden = [(definition.start, definition.end) for definition in inner]
        symbols = outside(self._symbols.between(*piece), hidden)
        return [symbol for symbol in symbols if own is None or not own.is_named_by(symbol)]

    def _module_spans(self, root: Node, definitions: Sequence[Definition]) -> Iterator[Span]:
        """Yield the source between definitions: the tree of a broken file omits text."""
        ends = {definition.start: definition.end for definition in definitions}
        start, first_row, covered = 0, -1, -1
        for node in self._finder.statements(root):
            covered = max(covered, ends.get(node.start_byte, -1))
            inside = node.end_byte <= covered  # of a definition or the comment above it
            full = first_row >= 0 and node.end_point.row - first_row >= _MAX_MODULE_LINES
            if inside or full:
                yield from self._worthwhile(start, node.start_byte, first_row >= 0)
                start = node.end_byte if inside else node.start_byte
                first_row = -1
            if not inside and first_row < 0:
                first_row = node.start_point.row
        yield from self._worthwhile(start, len(self._source.content), first_row >= 0)

    def _worthwhile(self, start: int, end: int, has_statement: bool) -> Iterator[Span]:
        """Yield the span without white space, unless it is only `namespace x {` or a pragma."""
        start, end = self._source.stripped(start, end)
        opened = bool(self._grammar.scopes or self._grammar.guards) and end - start < _LONG_LINE
        few = opened and len(re.findall(r"\w+", self._source.text(start, end))) < _MIN_WORDS
        is_said = end - start > _LONG_LINE or not _PRAGMA.fullmatch(self._source.text(start, end))
        if start < end and is_said and (has_statement or not few):
            yield start, end


class _Piece(NamedTuple):
    """A part of a file that fits into a chunk."""

    content: str
    lines: Lines
    symbols: list[FoundSymbol]

    @property
    def height(self) -> int:
        return self.content.count("\n") + 1


def _module_name(piece: _Piece) -> str:
    """Return the first names in it, else what it is: imports, a script, or its first words."""
    if names := dict.fromkeys(symbol.name for symbol in piece.symbols):
        return ", ".join(list(names)[:_NAMES])
    lines = [line for line in piece.content.split("\n") if re.search(r"\w", line)]
    statements = [line for line in lines if not _COMMENT.match(line)]
    statement = statements[0] if statements else ""
    documents = len(statements) == 1 < len(lines)
    if documents and (package := _PACKAGE.match(statement)):
        return package[0].strip()
    if _IMPORT.match(statement):
        return "imports"
    if _MAIN.match(statement):
        return "main"
    words = " ".join((statement or "".join(lines[:1])).split()).strip("#/*-\"'` ")
    return words[:_FIRST_WORDS].rstrip(" ({[,;:=\"'`")


# Definitions


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class in its file, from its leading comment or decorator to its last line."""

    node: Node
    kind: Kind
    names: tuple[str, ...]  # of the classes around it, then its own
    start: int
    end: int
    header_end: int  # where the signature or class line ends

    def is_named_by(self, symbol: FoundSymbol) -> bool:
        """True for the symbol that is this definition: a body may contain others of its name."""
        in_body = self.header_end <= symbol.at < self.node.end_byte
        return not in_body and symbol.name.lstrip("$") == self.names[-1]


class _Place(NamedTuple):
    """A node during the walk, and the names and class around it."""

    node: Node
    names: tuple[str, ...]
    in_class: bool


class DefinitionFinder:
    """Finds functions, methods and classes in the tree of one file, in the order of the text."""

    def __init__(self, grammar: Grammar, source: Source) -> None:
        self._grammar, self._source = grammar, source
        self._kinds = grammar.functions | grammar.classes | grammar.holders.keys()
        self._blocks = grammar.blocks | {"ERROR"}
        self._inner = self._kinds | grammar.scopes.keys() | grammar.wrappers | grammar.overloads

    def directly_in(self, parent: Node, names: tuple[str, ...] = ()) -> list[Definition]:
        """List the definitions of a module or class, also inside ifs, guards and namespaces."""
        definitions: list[Definition] = []
        comments = _LeadingComments(self._source)
        waiting = _below(_Place(parent, names, bool(names)))
        while waiting:
            place = waiting.pop()
            target = self._unwrapped(place.node)
            if place.node.type in self._grammar.comments:
                comments.add(place.node)
            elif self._is_overload(target, waiting):
                comments.keep(place.node)
            elif self._is_definition(target):
                start = comments.start_for(place.node)
                definitions.append(self._definition(target, place, start))
            elif inside := self._inside(place, target):
                waiting += inside
            else:
                comments.clear()
        return definitions

    def statements(self, root: Node) -> Iterator[Node]:
        """Yield the statements of a module, including those inside scopes and guards."""
        waiting = root.named_children[::-1]
        while waiting:
            node = waiting.pop()
            opened = self._unwrapped(node)
            if opened.type in self._grammar.scopes or opened.type in self._grammar.guards:
                waiting += (opened.child_by_field_name("body") or opened).named_children[::-1]
            else:
                yield node

    def _inside(self, place: _Place, target: Node) -> list[_Place]:
        """The children to visit of a node that is not a definition but may contain some."""
        if target.type in self._grammar.scopes:
            own = names_of(target, self._grammar, self._source)
            names = (*place.names, *own)[:_MAX_NAMESPACES]
            return _below(_Place(target, names, self._grammar.scopes[target.type]))
        wrapped = place.node.type in self._grammar.wrappers
        several = wrapped and sum(map(self._is_definition, place.node.named_children)) > 1
        return _below(place) if several or place.node.type in self._blocks else []

    def _unwrapped(self, node: Node) -> Node:
        """The single definition inside an export, decorator or declaration; or the node itself."""
        inner = node
        while inner.type in self._grammar.wrappers:
            held = [child for child in inner.named_children if child.type in self._inner]
            if len(held) != 1:
                return node
            inner = held[0]
        return inner

    def _is_definition(self, node: Node) -> bool:
        """False for declarations without a body, which stay in the text around them."""
        grammar = self._grammar
        if node.type in grammar.holders:
            return self._held(node).type in grammar.values
        if node.type in grammar.functions:
            return self._body(node) is not None or node.type in grammar.bodiless
        if node.type not in grammar.classes:
            return False
        if not node.type.endswith("_specifier"):
            return True
        return self._body(node) is not None and self._own_name(node) != ANONYMOUS

    def _is_overload(self, node: Node, waiting: Sequence[_Place]) -> bool:
        """True for a signature that the next node repeats or implements."""
        if node.type not in self._grammar.overloads:
            return False
        nodes = (self._unwrapped(place.node) for place in reversed(waiting))
        following = next((n for n in nodes if n.type not in self._grammar.comments), None)
        return (
            following is not None
            and (following.type in self._grammar.overloads or self._is_definition(following))
            and self._own_name(following) == self._own_name(node)
        )

    def _own_name(self, node: Node) -> str:
        return names_of(node, self._grammar, self._source)[-1]

    def _definition(self, node: Node, place: _Place, start: int) -> Definition:
        own = names_of(node, self._grammar, self._source)
        kind = Kind.METHOD if place.in_class or len(own) > 1 else Kind.FUNCTION
        if node.type in self._grammar.classes:
            kind = Kind.CLASS
        names = (*place.names, *own)
        return Definition(node, kind, names, start, place.node.end_byte, self._header_end(node))

    def _held(self, node: Node) -> Node:
        """The function that a holder assigns to a name, or the definition itself."""
        if node.type in self._grammar.holders:
            return node.child_by_field_name(self._grammar.holders[node.type][1]) or node
        return node

    def _body(self, node: Node) -> Node | None:
        node = self._held(node)
        body = node.child_by_field_name("body")
        if body is not None:
            return body
        named = reversed(node.named_children)
        return next((child for child in named if child.type in self._grammar.bodies), None)

    def _header_end(self, node: Node) -> int:
        """The end of the text before the body; a comment in between belongs to the body."""
        body = self._body(node)
        if body is None:
            return node.end_byte
        ends = [
            child.end_byte
            for child in self._held(node).children
            if child.end_byte <= body.start_byte and child.type not in self._grammar.comments
        ]
        return max(ends, default=body.start_byte)


def _below(place: _Place) -> list[_Place]:
    children = place.node.named_children[::-1]
    return [_Place(child, place.names, place.in_class) for child in children]


class _LeadingComments:
    """The adjacent comment lines just before the current node.

    In the tree, a comment above the first statement of a block stands before the block. Visiting
    the nodes in the order of the text finds it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start, self._last_row, self._kept = -1, -3, -1
        self._gap = 0  # blank lines between the last comment and what it belongs to

    def add(self, comment: Node) -> None:
        if not self._source.starts_line(comment.start_byte):
            if comment.start_point.row != self._last_row:
                self.clear()  # it belongs to the code before it on the line
            return
        if comment.start_point.row != self._last_row + 1:
            self._start = comment.start_byte
        # In some grammars a comment includes the line end, and so ends on the next row.
        self._last_row = comment.end_point.row - (comment.end_point.column == 0)
        text = self._source.text(comment.start_byte, comment.end_byte)
        self._gap = 1 if _DOCUMENTING.match(text) else 0

    def start_for(self, node: Node) -> int:
        """The start of a definition, including the comment directly above it."""
        joined = 1 <= node.start_point.row - self._last_row <= 1 + self._gap
        start = self._start if joined else node.start_byte
        if self._kept >= 0:
            start = self._kept
        self.clear()
        return start

    def keep(self, overload: Node) -> None:
        """Let the next definition start with this one, also after blank lines."""
        self._kept = self.start_for(overload)

    def clear(self) -> None:
        self._start, self._last_row, self._kept = -1, -3, -1
        self._gap = 0  # blank lines between the last comment and what it belongs to


# Splitting long spans


def split_span(node: Node, span: Span, gaps: Sequence[Span], source: Source) -> list[Span]:
    """Split a span into pieces of at most 120 visible lines, where the syntax allows it.

    A piece starts where a node starts its line. Only nodes that are too long themselves are
    searched for such places, so that pieces end as far out in the tree as possible.
    """
    start, end = span
    ruler = _Ruler(source, gaps)
    if ruler.visible(start, end) <= _MAX_LINES:
        return [span]
    places = sorted({at for at in _line_starts(node, source) if start < at < end})
    visible_places = [at for at in places if not ruler.is_hidden(at)]
    pieces, begin = [], start
    for here, following in pairwise([*visible_places, end]):
        if here > begin and ruler.visible(begin, following) > _MAX_LINES:
            pieces.append((begin, here))
            begin = here
    return [*pieces, (begin, end)]


def _line_starts(node: Node, source: Source) -> Iterator[int]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.end_point.row - current.start_point.row < _MAX_LINES:
            continue
        for child in current.named_children:
            if source.starts_line(child.start_byte):
                yield child.start_byte
            waiting.append(child)


class _Ruler:
    """Measures spans in lines, without the lines in the gaps of an outline."""

    def __init__(self, source: Source, gaps: Sequence[Span]) -> None:
        self._source = source
        self._starts, self._ends = [low for low, _ in gaps], [high for _, high in gaps]
        hidden = (source.count_lines(low, high) for low, high in gaps)
        self._hidden = [0, *accumulate(hidden)]  # lines hidden in the first n gaps

    def visible(self, start: int, end: int) -> int:
        first, last = bisect_left(self._starts, start), bisect_right(self._ends, end)
        hidden = self._hidden[last] - self._hidden[first] if last > first else 0
        return self._source.count_lines(start, end) - hidden

    def is_hidden(self, at: int) -> bool:
        gap = bisect_left(self._starts, at) - 1
        return gap >= 0 and at < self._ends[gap]
