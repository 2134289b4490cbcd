"""Where time grows faster than the text: `python -m tests.fuzz.growth SECONDS`.

Each reader is given texts of one unit over and over, four times as many the second time. What is
linear takes four times as long, what is quadratic sixteen times: more than eight is told. It is a
search for suspects and no test. What grammars take is left out: they are stopped when it is long.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from time import monotonic, process_time
from typing import NamedTuple

from tree_sitter import Node

from aurora.embeddings.aurora.tokens import split_words
from aurora.errors import AuroraError
from aurora.install.clients import CLIENTS, Local, with_entry
from aurora.llm.expander import read_terms
from aurora.llm.reranker import read_ranks
from aurora.parsers.code import CodeParser, TreeMaker
from aurora.parsers.languages import GRAMMARS, Grammar
from aurora.parsers.registry import parser_for
from aurora.retrieval.query import parse_query
from aurora.text import chunk_text, document_terms, printable, query_terms, tokenize
from aurora.types import Chunk, Document, Kind

_SHORTEST, _LONGEST = 0.02, 2.0  # seconds that a measurement takes
_MOST = 1 << 19  # characters
_TIMES = 4
_SUSPECT = 8.0  # between linear, 4, and quadratic, 16
_NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)

_WORDS: Mapping[str, str] = {
    "words": "word ", "letters": "x", "humps": "aB", "dots": "a.", "ats": "a@", "lines": "a b\n",
    "marks": "\u0301\u0316", "accents": "é ", "han": "用户", "spaces": " ", "tabs": "\t",
    "quotes": '"', "stars": "*", "slashes": "/", "hashes": "#", "dashes": "-", "rules": "- ",
    "colons": "a:", "minus": "-a ", "phrases": '"a b" ', "open": '"a ', "curly": "“a ",
    "filters": "path:a ", "listed": "path:a,", "commas": ",", "brackets": "[", "parens": "(",
    "braces": "{", "less": "<", "backticks": "`", "fences": "```\n", "headings": "# a\n",
    "underlined": "a\n==\n", "html": "<!--\n", "phases": "## Phase 1: a\n", "fields": "a: b\n",
    "commented": "// a\n", "starred": "/*", "docstrings": '"""', "numbers": "1. ", "digits": "1",
    "returns": "\r\n", "blank": "\n", "escapes": "\\", "percent": "%a",
}  # fmt: skip
_CODE: Mapping[str, str] = {
    "classes": "class A {\n", "functions": "function f() {\n", "defs": "def f():\n  ",
    "ifs": "if (a) {\n", "blocks": "{\n", "calls": "f(\n", "templates": "a<\n", "strings": '"\n',
    "members": "a.\n", "modules": "module A\n", "whole": "class A { void m() { } }\n",
    "comments": "/* a */\n", "decorated": "@a\n", "lambdas": "x => \n", "ternaries": "a ? b :\n",
    "casts": "(a)\n", "heredocs": "<<A\n", "namespaces": "namespace a {\n",
    "else": "else if (a)\n", "unary": "!\n", "arrays": "[\n",
}  # fmt: skip


class Reader(NamedTuple):
    """What reads a text, and the texts it is shown."""

    read: Callable[[str], object]
    units: Mapping[str, str] = _WORDS
    before: str = ""
    again: bool = False  # only the second time counts


def _chunk(kind: Kind, text: str) -> str:
    return chunk_text(Chunk(id="a", kind=kind, name="a", content=text, path="a.py"))


def _parse(path: str, text: str) -> object:
    return parser_for(path).parse(Document(path, text))


def _cut(trees: _KnownTree, text: str) -> object:
    return CodeParser(trees.grammar, trees=trees).parse(Document("a.code", text))


def _client(name: str, text: str) -> object:
    return with_entry(text, CLIENTS[name], Local(("aur", "mcp")))


def _readers() -> Iterator[tuple[str, Reader]]:
    yield "tokenize", Reader(tokenize)
    yield "document_terms", Reader(document_terms)
    yield "query_terms", Reader(query_terms)
    yield "printable", Reader(printable)
    yield "own model's words", Reader(split_words)
    yield "parse_query", Reader(partial(parse_query, now=_NOW))
    yield "chunk_text of code", Reader(partial(_chunk, Kind.CODE))
    yield "chunk_text of prose", Reader(partial(_chunk, Kind.KNOWLEDGE))
    yield "read_terms", Reader(partial(read_terms, "how do we log in"))
    yield "read_ranks", Reader(partial(read_ranks, 20))
    yield "toml", Reader(partial(_client, "codex"), {"tables": "[[a]]\n", "keys": "[[a]]\nb = 1\n"})
    yield "json", Reader(partial(_client, "claude-code"), {"blank": " \n"}, "{}")
    for path in ("a.md", "a.rst", "a.txt", "a.zzz", "logs/conversations/2026/01/a.md"):
        yield path, Reader(partial(_parse, path))
    yield "front matter", Reader(partial(_parse, "a.md"), {"text": "a"}, "---\ntitle: ")
    for grammar in {grammar.language: grammar for grammar in GRAMMARS.values()}.values():
        yield grammar.language, Reader(partial(_cut, _KnownTree(grammar)), _CODE, again=True)


class _KnownTree(TreeMaker):
    """Makes the tree of a text once: asked again, it takes no time."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(grammar)
        self.grammar = grammar
        self._text, self._root = b"", super().make(b"")

    def make(self, content: bytes) -> Node | None:
        if content != self._text:
            self._text, self._root = content, super().make(content)
        return self._root


def main(seconds: int) -> int:
    """As many as there is time for, in another order each time."""
    cases = [(name, reader, unit) for name, reader in _readers() for unit in reader.units]
    random.shuffle(cases)
    measured, suspects, end = 0, 0, monotonic() + seconds
    while cases and monotonic() < end:
        name, reader, unit = cases.pop()
        told, measured = _suspicious(reader, reader.units[unit]), measured + 1
        if told:
            suspects += 1
            print(f"{name}, {unit} {reader.units[unit]!r}: {told}", flush=True)  # noqa: T201
    print(f"{suspects} suspects of {measured} measured, {len(cases)} left")  # noqa: T201
    return 1 if suspects else 0


def _suspicious(reader: Reader, unit: str) -> str:
    """What is odd about the times, in words."""
    _time(reader, unit)  # patterns are compiled, grammars loaded
    count = max(256 // len(unit), 1)
    while (took := _time(reader, unit * count)) < _SHORTEST and count * len(unit) < _MOST:
        count *= 2
    size = count * len(unit)
    if took > _LONGEST:
        return f"{took:.1f} s for {size:,} characters"
    if took < _SHORTEST:
        return ""
    took = max(took, _time(reader, unit * count))  # a slow one must not look like growth
    longer = _time(reader, unit * count * _TIMES)
    if longer < _SUSPECT * took:
        return ""
    return f"{took:.3f} s for {size:,} characters, {longer:.2f} s for {_TIMES} times that"


def _time(reader: Reader, text: str) -> float:
    """Of this process alone, whatever else runs."""
    start = 0.0
    for _ in range(1 + reader.again):
        start = process_time()
        with suppress(AuroraError):  # a refusal takes time, too
            reader.read(reader.before + text)
    return process_time() - start


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
