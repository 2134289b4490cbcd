"""What a definition is called, and by whom it is held: every language writes it elsewhere."""

from __future__ import annotations

import re

from tree_sitter import Node

from aurora.parsers.languages import Grammar
from aurora.parsers.source import Source

_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")  # of a generic type: not part of its name
_RECEIVER = re.compile(r"(\w+)\W*$")
_LONGEST = 1000  # characters of a name; a type of nested arguments may go on for pages
_PLUMBING = {"module", "exports", "prototype", "this", "self", "window"}  # JavaScript's, not ours
_NAMELESS = {
    "conversion_operator_declaration": "operator",
    "deinit_declaration": "deinit",
    "init_declaration": "init",
    "operator_declaration": "operator",
    "secondary_constructor": "constructor",
    "subscript_declaration": "subscript",
}


def names_of(node: Node, grammar: Grammar, source: Source) -> tuple[str, ...]:
    """The holders a definition names itself (`Server.Run`, `Foo::bar`), then its own name."""
    if node.type in grammar.holders:
        left = _field(node, grammar.holders[node.type][0], source)
        words = [word for word in left.lstrip("$#").split(".") if word not in _PLUMBING]
        return tuple(words) or ("anonymous",)
    receiver = _RECEIVER.search(_plain(_field(node, "receiver", source)).rstrip(") "))
    own = _field(node, "name", source) or _declared(node, source)
    if not own and node.type in grammar.scopes:
        own = _field(node, "type", source)  # Rust's impl is called after its type
    words = [word.strip() for word in _plain(own).split("::") if word.strip()]
    words = words or [_NAMELESS.get(node.type, "anonymous")]
    return (receiver[1], *words) if receiver else tuple(words)


def _declared(node: Node, source: Source) -> str:
    """The name inside C's declarators: `int (*f(void))[3]` declares f; a typedef names a struct."""
    inner = node.child_by_field_name("declarator")
    # To find a parent, tree-sitter walks down from the root: not where it cannot matter.
    parent = node.parent if inner is None and node.type.endswith("_specifier") else None
    if parent is not None and parent.type == "type_definition":
        inner = parent.child_by_field_name("declarator")
    while inner is not None:
        below = inner.child_by_field_name("declarator")
        if below is None and inner.type.endswith("declarator"):
            below = inner.named_child(0)
        if below is None:
            return _text(inner, source)
        inner = below
    return ""


def _plain(name: str) -> str:
    """A type's name without its arguments: `Map<K, List<V>>` is Map."""
    before = ""
    while before != name:
        before, name = name, _ARGUMENTS.sub("", name)
    return name.strip()


def _field(node: Node, name: str, source: Source) -> str:
    found = node.child_by_field_name(name)
    return _text(found, source) if found is not None else ""


def _text(node: Node, source: Source) -> str:
    """What follows looks at each character several times, so the text has an end."""
    return source.text(node.start_byte, node.end_byte).strip()[:_LONGEST]
