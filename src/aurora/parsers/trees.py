"""Syntax trees in bounded time: for what is no code, some grammars would take hours.

Their scanners look ahead from every place of an endless line, or mend an error over and over: a
hundred thousand quotes in a row take JavaScript's grammar minutes. So a grammar is not shown what
no code has, and is stopped when it takes too long.
"""

from __future__ import annotations

import importlib
import warnings

import tree_sitter
from tree_sitter import Node

from aurora.parsers.languages import Grammar

_PATIENCE = 10.0  # seconds; the largest file that is read, 2 MiB, takes one when it is code
_LONGEST_LINE = 20_000  # bytes; a scanner of Scala's takes 4 s for one of backticks


class TreeMaker:
    """Makes the trees of one language. The grammar is loaded with it."""

    def __init__(self, grammar: Grammar, *, patience: float = _PATIENCE) -> None:
        module = importlib.import_module(grammar.module)
        language = tree_sitter.Language(getattr(module, grammar.entry)())
        with warnings.catch_warnings():
            # What should take its place, a callback, crashes the interpreter in 0.25.2.
            warnings.simplefilter("ignore", DeprecationWarning)
            limit = int(patience * 1_000_000)
            self._parser = tree_sitter.Parser(language, timeout_micros=limit)

    def make(self, content: bytes) -> Node | None:
        """The root of the tree, or nothing when it takes too long. Positions are the content's."""
        try:
            return self._parser.parse(_as_code(content)).root_node
        except ValueError:
            self._parser.reset()  # or the next file would go on with this one
            return None


def _as_code(content: bytes) -> bytes:
    """The content with blanks for zero bytes and for lines that nobody wrote."""
    if b"\0" in content:
        content = content.replace(b"\0", b" ")
    lines = content.split(b"\n")
    if max(map(len, lines)) <= _LONGEST_LINE:
        return content
    return b"\n".join(line if len(line) <= _LONGEST_LINE else b" " * len(line) for line in lines)
