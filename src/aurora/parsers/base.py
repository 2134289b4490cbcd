"""What a parser is, and the ids it gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from aurora.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class Parsed:
    """The chunks of a document; `problem` says what could not be understood, if anything."""

    chunks: tuple[Chunk, ...]
    problem: str = ""


class Parser(Protocol):
    """Cuts one document. Survives any text: what it cannot understand is still searchable."""

    def parse(self, document: Document) -> Parsed: ...


class Ids:
    """Ids made of path and name. A name that comes again is numbered: `a.py:f`, `a.py:f#2`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: Counter[str] = Counter()

    def make(self, name: str) -> str:
        return self.number(f"{self._path}:{name}")

    def number(self, wanted: str) -> str:
        """An id as wanted, or the first number of it that is free: `a#2` may be a name too."""
        made = wanted
        while made in self._seen:
            self._seen[wanted] += 1
            made = f"{wanted}#{self._seen[wanted]}"
        self._seen[made] += 1
        return made
