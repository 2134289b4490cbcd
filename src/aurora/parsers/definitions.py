"""Finding the functions, methods and classes in a syntax tree, each with what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from aurora.parsers.languages import Grammar
from aurora.parsers.source import Source
from aurora.types import Kind


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class in its file, from its leading comment or decorator to its last line."""

    node: Node
    kind: Kind
    names: tuple[str, ...]  # of the classes around it, then its own
    start: int
    end: int
    header_end: int  # where signature or class line end and the body begins


def find_definitions(
    parent: Node, names: tuple[str, ...], grammar: Grammar, source: Source
) -> list[Definition]:
    """The definitions directly in a module or class, through ifs and tries, in order."""
    found: list[Definition] = []
    comments = _LeadingComments(source)
    waiting = parent.children[::-1]
    while waiting:
        node = waiting.pop()
        inner = _unwrapped(node, grammar)
        if node.type in grammar.comments:
            comments.add(node)
        elif inner.type in grammar.functions | grammar.classes:
            start = comments.start_for(node)
            found.append(_definition(inner, names, grammar, source, span=(start, node.end_byte)))
        elif node.type in grammar.blocks:
            waiting += node.children[::-1]
        else:
            comments.clear()
    return found


class _LeadingComments:
    """The comment lines just walked over, while they stand directly below each other.

    A comment above the first statement of a block stands before the block in the tree; walking the
    nodes in the order of the text finds it all the same.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start, self._last_row = -1, -2

    def add(self, comment: Node) -> None:
        if not self._source.starts_line(comment.start_byte):
            self.clear()  # it ends a line of code and speaks of that
            return
        if comment.start_point.row != self._last_row + 1:
            self._start = comment.start_byte
        self._last_row = comment.end_point.row

    def start_for(self, node: Node) -> int:
        """Where a definition begins, with the comment directly above it."""
        joined = self._last_row == node.start_point.row - 1
        start = self._start if joined else node.start_byte
        self.clear()
        return start

    def clear(self) -> None:
        self._start, self._last_row = -1, -2


def _unwrapped(node: Node, grammar: Grammar) -> Node:
    if node.type not in grammar.wrappers:
        return node
    return node.child_by_field_name("definition") or node


def _definition(
    node: Node, names: tuple[str, ...], grammar: Grammar, source: Source, *, span: tuple[int, int]
) -> Definition:
    kind = Kind.METHOD if names else Kind.FUNCTION
    if node.type in grammar.classes:
        kind = Kind.CLASS
    name = node.child_by_field_name("name")
    own = source.text(name.start_byte, name.end_byte) if name is not None else "anonymous"
    return Definition(node, kind, (*names, own), *span, _header_end(node, grammar))


def _header_end(node: Node, grammar: Grammar) -> int:
    """The end of what comes before the body; a comment in between belongs to the body."""
    body = node.child_by_field_name("body")
    if body is None:
        return node.end_byte
    before = [child for child in node.children if child.end_byte <= body.start_byte]
    ends = [child.end_byte for child in before if child.type not in grammar.comments]
    return max(ends, default=body.start_byte)
