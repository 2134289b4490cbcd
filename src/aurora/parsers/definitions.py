"""Finding the functions, methods and classes in a syntax tree, each with what belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from aurora.parsers.languages import Grammar
from aurora.parsers.names import names_of
from aurora.parsers.source import Source
from aurora.types import Kind

_MOST_NAMES = 64  # of namespaces around a definition; nested without end they would be quadratic


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class in its file, from its leading comment or decorator to its last line."""

    node: Node
    kind: Kind
    names: tuple[str, ...]  # of the classes around it, then its own
    start: int
    end: int
    header_end: int  # where signature or class line end and the body begins


@dataclass(frozen=True, slots=True)
class _Place:
    """A node on the way, and what a definition found there would be called and be."""

    node: Node
    names: tuple[str, ...]
    in_class: bool


class DefinitionFinder:
    """Walks one file's tree in the order of its text."""

    def __init__(self, grammar: Grammar, source: Source) -> None:
        self._grammar, self._source = grammar, source
        self._kinds = grammar.functions | grammar.classes | grammar.holders.keys()
        self._inner = self._kinds | grammar.scopes.keys() | grammar.wrappers

    def directly_in(self, parent: Node, names: tuple[str, ...] = ()) -> list[Definition]:
        """The definitions of a module or class, through ifs, guards and namespaces, in order."""
        found: list[Definition] = []
        comments = _LeadingComments(self._source)
        waiting = self._below(_Place(parent, names, bool(names)))
        while waiting:
            place = waiting.pop()
            target = self._unwrapped(place.node)
            if place.node.type in self._grammar.comments:
                comments.add(place.node)
            elif self._is_definition(target):
                start = comments.start_for(place.node)
                found.append(self._definition(target, place, start))
            elif inside := self._inside(place, target):
                waiting += inside
            else:
                comments.clear()
        return found

    def statements(self, root: Node) -> Iterator[Node]:
        """A module's statements; what may hold a whole file is opened, not taken as one."""
        waiting = root.named_children[::-1]
        while waiting:
            node = waiting.pop()
            opened = self._unwrapped(node)
            if opened.type in self._grammar.scopes or opened.type in self._grammar.guards:
                waiting += (opened.child_by_field_name("body") or opened).named_children[::-1]
            else:
                yield node

    def _inside(self, place: _Place, target: Node) -> list[_Place]:
        """Where to look on, when a node is no definition but may hold some."""
        if target.type in self._grammar.scopes:
            own = names_of(target, self._grammar, self._source)
            names = (*place.names, *own)[:_MOST_NAMES]
            return self._below(_Place(target, names, self._grammar.scopes[target.type]))
        if place.node.type in self._grammar.blocks or self._holds_several(place.node):
            return self._below(place)
        return []

    def _below(self, place: _Place) -> list[_Place]:
        children = place.node.named_children[::-1]
        return [_Place(child, place.names, place.in_class) for child in children]

    def _unwrapped(self, node: Node) -> Node:
        """The one definition inside export, decorator, template or declaration; or the node."""
        inner = node
        while inner.type in self._grammar.wrappers:
            held = [child for child in inner.named_children if child.type in self._inner]
            if len(held) != 1:
                return node
            inner = held[0]
        return inner

    def _holds_several(self, node: Node) -> bool:
        wrapped = node.type in self._grammar.wrappers
        return wrapped and sum(self._is_definition(child) for child in node.named_children) > 1

    def _is_definition(self, node: Node) -> bool:
        """Declarations without a body stay with what they are declared in."""
        grammar = self._grammar
        if node.type in grammar.holders:
            value = node.child_by_field_name(grammar.holders[node.type][1])
            return value is not None and value.type in grammar.values
        if node.type in grammar.functions:
            return self._body(node) is not None or node.type in grammar.bodiless
        if node.type not in grammar.classes:
            return False
        return not node.type.endswith("_specifier") or self._body(node) is not None

    def _definition(self, node: Node, place: _Place, start: int) -> Definition:
        own = names_of(node, self._grammar, self._source)
        kind = Kind.METHOD if place.in_class or len(own) > 1 else Kind.FUNCTION
        if node.type in self._grammar.classes:
            kind = Kind.CLASS
        names = (*place.names, *own)
        return Definition(node, kind, names, start, place.node.end_byte, self._header_end(node))

    def _held(self, node: Node) -> Node:
        """What has the body: the function that a name is given to, or the definition itself."""
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
        """The end of what comes before the body; a comment in between belongs to the body."""
        body = self._body(node)
        if body is None:
            return node.end_byte
        ends = [
            child.end_byte
            for child in self._held(node).children
            if child.end_byte <= body.start_byte and child.type not in self._grammar.comments
        ]
        return max(ends, default=body.start_byte)


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
        # Some grammars count the line's end to the comment, which then ends on the next line.
        self._last_row = comment.end_point.row - (comment.end_point.column == 0)

    def start_for(self, node: Node) -> int:
        """Where a definition begins, with the comment directly above it."""
        joined = self._last_row == node.start_point.row - 1
        start = self._start if joined else node.start_byte
        self.clear()
        return start

    def clear(self) -> None:
        self._start, self._last_row = -1, -2
