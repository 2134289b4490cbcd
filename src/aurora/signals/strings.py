"""Sorted strings in the arrays of an index."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping

from aurora.signals.index_file import Arrays


class Strings:
    """A list of strings kept as one array of bytes and one of offsets."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._arrays, self._bytes, self._offsets = arrays, f"{name}_bytes", f"{name}_offsets"

    def __len__(self) -> int:
        return self._arrays.size(self._offsets) - 1

    def bytes_at(self, place: int) -> bytes:
        start, stop = self._arrays.read(self._offsets, place, place + 2).tolist()
        return self._arrays.read(self._bytes, start, stop).tobytes()

    def __getitem__(self, place: int) -> str:
        return self.bytes_at(place).decode()

    def find(self, value: str) -> int | None:
        """The place of a value in a sorted list."""
        wanted = value.encode()
        place = bisect_left(range(len(self)), wanted, key=self.bytes_at)
        return place if place < len(self) and self.bytes_at(place) == wanted else None


class Lexicon:
    """Sorted strings in memory: finding one takes a microsecond or two, not twenty."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        offsets = f"{name}_offsets"
        whole = arrays.read(offsets, 0, arrays.size(offsets))
        self._offsets = memoryview(whole)  # type: ignore[arg-type] # numpy's numbers are slower
        self._bytes = arrays.read(f"{name}_bytes", 0, arrays.size(f"{name}_bytes")).tobytes()

    def find(self, value: str) -> int | None:
        wanted, offsets, letters = value.encode(), self._offsets, self._bytes
        low, high = 0, len(offsets) - 1
        while low < high:  # written out: this is the inner loop of a search
            middle = (low + high) // 2
            if letters[offsets[middle] : offsets[middle + 1]] < wanted:
                low = middle + 1
            else:
                high = middle
        at_end = low >= len(offsets) - 1
        found = not at_end and letters[offsets[low] : offsets[low + 1]] == wanted
        return low if found else None


class Rarities(Mapping[str, float]):
    """Term → rarity, looked up in the index, one at a time."""

    def __init__(self, terms: Strings, rarity_of: Callable[[int | None], float]) -> None:
        self._terms, self._rarity_of = terms, rarity_of

    def __getitem__(self, term: str) -> float:
        place = self._terms.find(term)
        if place is None:
            raise KeyError(term)
        return self._rarity_of(place)

    def __iter__(self) -> Iterator[str]:
        return (self._terms[place] for place in range(len(self._terms)))

    def __len__(self) -> int:
        return len(self._terms)
