"""Damage to a file, as data: bytes that are others, and an end that comes too early."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECTOR, PAGE = 512, 4096


@dataclass(frozen=True, slots=True)
class Damage:
    """What happened to a file, and where."""

    kind: str
    at: int
    edits: tuple[tuple[int, bytes], ...] = ()
    cut: int | None = None

    def inflict(self, file: Path) -> None:
        data = bytearray(file.read_bytes())
        for offset, new in self.edits:
            data[offset : offset + len(new)] = new
        file.write_bytes(data if self.cut is None else data[: self.cut])


class Vandal:
    """Thinks of damage to a file, the same every time."""

    def __init__(self, data: bytes, seed: int = 0) -> None:
        self._data = data
        self._random = random.Random(seed)  # noqa: S311 - the same places every time

    def choose(self, places: Sequence[int], count: int) -> list[int]:
        return self._random.choices(places, k=count)

    def flip_at(self, offset: int) -> Damage:
        bit = 1 << self._random.randrange(8)
        return Damage("bit", offset, ((offset, bytes([self._data[offset] ^ bit])),))

    def flips(self, count: int, start: int = 0, stop: int | None = None) -> Iterator[Damage]:
        """Single bits anywhere."""
        for _ in range(count):
            yield self.flip_at(self._random.randrange(start, stop or len(self._data)))

    def cuts(self, count: int) -> Iterator[Damage]:
        """Ends at sectors and in between, and nothing at all."""
        places = [0, 1, len(self._data) - 1]
        places += [self._random.randrange(len(self._data)) for _ in range(count)]
        yield from (Damage("cut", place, cut=place) for place in places)
        for place in places[3:]:
            start = place // SECTOR * SECTOR
            yield Damage("cut at a sector", start, cut=start)

    def overwritten(self, count: int, size: int) -> Iterator[Damage]:
        """Sectors or pages of zeros, and of noise."""
        blocks = -(-len(self._data) // size)
        for _ in range(count):
            at = self._random.randrange(blocks) * size
            length = min(size, len(self._data) - at)
            yield Damage(f"zeros of {size}", at, ((at, bytes(length)),))
            yield Damage(f"noise of {size}", at, ((at, self._random.randbytes(length)),))

    def swaps(self, count: int) -> Iterator[Damage]:
        """Two pages in each other's place."""
        pages = len(self._data) // PAGE
        for _ in range(count if pages > 1 else 0):
            one, two = (page * PAGE for page in self._random.sample(range(pages), 2))
            parts = self._data[one : one + PAGE], self._data[two : two + PAGE]
            yield Damage("swap", one, ((one, parts[1]), (two, parts[0])))
