"""The pieces of words that a model has vectors for, by byte-pair encoding.

In such a vocabulary a piece's number is also its turn: of all neighbours that together make a piece
the lowest one joins first. So the vocabulary alone tells how a word is cut, and a word that comes
often is cut once. `tests/embeddings/test_pieces.py` compares with the `tokenizers` library, whose
loading of the same file takes longer than importing numpy does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from aurora.errors import EmbeddingError

SPACE = "▁"  # stands for the space before a word
_NEVER = sys.maxsize  # the turn of neighbours that make no piece
_KEPT = 200_000  # words; those of a large project, some tens of megabytes


class Pieces:
    """Cuts words. What is in no piece goes byte by byte."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._bytes = [numbers[f"<0x{byte:02X}>"] for byte in range(256)]
        self._known: dict[str, Sequence[int]] = {}

    def of(self, word: str) -> Sequence[int]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[word] = self._cut(SPACE + word)
        return known

    def _cut(self, word: str) -> Sequence[int]:
        whole = self._numbers.get(word)
        if whole is not None:
            return (whole,)
        numbers: list[int] = []
        for part in self._joined(list(word)):
            number = self._numbers.get(part)
            numbers += self._spelt(part) if number is None else (number,)
        return numbers

    def _joined(self, parts: list[str]) -> list[str]:
        """Only the neighbours of what was joined get another turn."""
        turn_of = self._numbers.get
        turns = [turn_of(a + b, _NEVER) for a, b in pairwise(parts)]
        while turns and (first := min(turns)) < _NEVER:
            at = turns.index(first)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del turns[at]
            if at:
                turns[at - 1] = turn_of(parts[at - 1] + parts[at], _NEVER)
            if at < len(turns):
                turns[at] = turn_of(parts[at] + parts[at + 1], _NEVER)
        return parts

    def _spelt(self, part: str) -> list[int]:
        return [self._bytes[byte] for byte in part.encode("utf-8", "replace")]


def read_pieces(path: Path) -> Pieces:
    """Those of a `tokenizer.json`. Only its vocabulary is read, a third of the file."""
    try:
        data = path.read_bytes()
        start = data.index(b"{", data.index(b'"vocab"'))
        end = data.rindex(b"}", start, data.index(b'"merges"', start)) + 1
        return Pieces(json.loads(data[start:end]))
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    except (ValueError, KeyError) as exc:
        raise EmbeddingError(f"{path} holds no vocabulary: {exc}", hint="install it again") from exc
