"""What a Unigram tokenizer replaces in a text, in the form that the tokenizers library reads.

The form is SentencePiece's: a double-array trie (Darts) of what is replaced, and the replacements,
each ended by a NUL. A unit of the trie is 32 bits:

    a letter's byte in bits 0 to 7, "a value hangs here" in bit 8, and from bit 10 on the offset:
    the units below are at (place ^ offset ^ byte), the value at (place ^ offset)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypeAlias

_VALUE, _HAS_VALUE, _OFFSET = 1 << 31, 1 << 8, 10
_END = 0  # no letter of UTF-8 has this byte but NUL itself, which ends a text

_Trie: TypeAlias = "dict[int, _Trie | int]"


def compile_charsmap(replacements: Mapping[str, str]) -> bytes:
    """The bytes of `precompiled_charsmap`, for replacements of single letters or more."""
    trie: _Trie = {}
    texts = bytearray()
    for found, replaced in sorted(replacements.items()):
        if found and "\0" not in found + replaced:
            _insert(trie, found.encode(), len(texts))
            texts += replaced.encode() + b"\0"
    units = _DoubleArray(trie).units
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(texts)


def _insert(trie: _Trie, key: bytes, value: int) -> None:
    node = trie
    for byte in key:
        below = node.setdefault(byte, {})
        assert isinstance(below, dict)  # noqa: S101 - only `_END` leads to a number
        node = below
    node[_END] = value


class _DoubleArray:
    """Puts the nodes of a trie into one array, each where its children find room."""

    def __init__(self, trie: _Trie) -> None:
        self.units = [0] * 256
        self._taken = {0}
        self._bases: set[int] = set()  # one node each, or children would be found by a stranger
        self._tried = 0  # no base before this one is tried again
        ends = self._place_branches(trie)
        self._tried = 0
        for node, place in ends:
            self._place(node, place)

    def _place_branches(self, trie: _Trie) -> list[tuple[_Trie, int]]:
        """Ends of words are left over: they fit between all others, and would be in their way."""
        ends: list[tuple[_Trie, int]] = []
        branches = [(trie, 0)]
        while branches:
            node, place = branches.pop()
            base = self._place(node, place)
            for byte, below in node.items():
                if isinstance(below, dict):
                    (ends if below.keys() == {_END} else branches).append((below, base ^ byte))
        return ends

    def _place(self, node: _Trie, place: int) -> int:
        base = self._find_base(sorted(node))
        self._bases.add(base)
        self._taken |= {base ^ byte for byte in node}
        self.units += [0] * ((base | 255) + 1 - len(self.units))  # any byte may be looked up
        self.units[place] |= (place ^ base) << _OFFSET
        for byte, below in node.items():
            self.units[base ^ byte] = _VALUE | below if isinstance(below, int) else byte
        if _END in node:
            self.units[place] |= _HAS_VALUE
        return base

    def _find_base(self, bytes_: list[int]) -> int:
        while not self._fits(self._tried, bytes_):
            self._tried += 1
        return self._tried

    def _fits(self, base: int, bytes_: list[int]) -> bool:
        return base not in self._bases and self._taken.isdisjoint([base ^ byte for byte in bytes_])
