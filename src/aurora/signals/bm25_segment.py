"""One segment of the keyword index, opened for questions."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from weakref import WeakKeyDictionary

from aurora.errors import IndexFileError, IndexVersionError
from aurora.signals.base import import_dense_scores
from aurora.signals.bm25_formula import find_place
from aurora.signals.index_file import Array, Arrays, IndexFile, Lexicon, MemoryArrays, Strings
from aurora.signals.segments import Segment, SegmentedFile, open_segments
from aurora.text import EXACT, Analysis

KIND = "bm25"
ARRAYS = (
    "term_bytes", "term_offsets", "posting_offsets", "documents", "frequencies",
    "id_bytes", "id_offsets", "lengths", "rows", "generations",
)  # fmt: skip
LAYOUT = 3  # raise it when arrays change: older files are then rebuilt
_OFFSETS = {"term_offsets": "term_bytes", "id_offsets": "id_bytes", "posting_offsets": "documents"}
_LOOKED_UP = ("posting_offsets", "rows", "lengths")  # by every question
# What is kept in memory of a segment, also for the next version of an index that has it.
_REMEMBERED: WeakKeyDictionary[Arrays, tuple[Lexicon, Arrays]] = WeakKeyDictionary()


class KeywordSegment:
    """Documents by place, and the postings of terms. Removed documents have no postings."""

    def __init__(self, arrays: Arrays, removed: Array) -> None:
        self.arrays, self.removed = arrays, removed
        self._cached = _REMEMBERED.get(arrays)

    @property
    def segment(self) -> Segment:
        return Segment(self.arrays, self.removed)

    @property
    def size(self) -> int:
        """The number of places."""
        return self.arrays.size("rows")

    def __len__(self) -> int:
        """The number of documents."""
        return self.size - len(self.removed)

    @property
    def rows(self) -> Array:
        return self._lookup()[1].read("rows", 0, self.size)

    @property
    def lengths(self) -> Array:
        return self._lookup()[1].read("lengths", 0, self.size)

    def count_tokens(self) -> int:
        lengths: list[int] = self.lengths.tolist()
        gone: list[int] = self.removed.tolist()
        return sum(lengths) - sum(lengths[place] for place in gone)

    def id(self, place: int) -> str:
        return Strings(self.arrays, "id")[place]

    def place(self, row: int) -> int | None:
        """The place of a row; None for a removed one."""
        place = find_place(row, self.rows)
        return None if place is None or find_place(place, self.removed) is not None else place

    def terms(self) -> Iterator[str]:
        terms = Strings(self.arrays, "term")
        return (terms[place] for place in range(len(terms)))

    def bounds(self, term: str) -> tuple[int, int]:
        """Where the postings of a term are."""
        vocabulary, arrays = self._lookup()
        place = vocabulary.find(term)
        if place is None:
            return 0, 0
        start, stop = arrays.read("posting_offsets", place, place + 2).tolist()
        return start, stop

    def postings(self, bounds: tuple[int, int], *, quickly: bool = True) -> tuple[Array, Array]:
        """Places and frequencies of the documents between bounds; `quickly` with numpy."""
        documents = self.arrays.read("documents", *bounds)
        frequencies = self.arrays.read("frequencies", *bounds)
        if not len(self.removed) or not len(documents):
            return documents, frequencies
        if quickly and (numpy := import_dense_scores()):
            kept: tuple[Array, Array] = numpy.leave_out(self.removed, documents, frequencies)
            return kept
        places = (find_place(place, documents) for place in self.removed.tolist())
        gone = {place for place in places if place is not None}
        if not gone:
            return documents, frequencies
        stay = [place for place in range(len(documents)) if place not in gone]
        return array("i", (documents[n] for n in stay)), array("i", (frequencies[n] for n in stay))

    def remember(self) -> None:
        """Keep the vocabulary and the arrays that every question reads in memory."""
        if self._cached is None:
            arrays = MemoryArrays(read_arrays(self.arrays, *_LOOKED_UP))
            self._cached = _REMEMBERED[self.arrays] = (Lexicon(self.arrays, "term"), arrays)

    def _lookup(self) -> tuple[Lexicon | Strings, Arrays]:
        if self._cached is None:
            return Strings(self.arrays, "term"), self.arrays
        return self._cached


def open_bm25_file(path: Path, analysis: Analysis = EXACT) -> SegmentedFile:
    """A saved index; raises `IndexVersionError` when another version made it."""
    file = open_segments(path, kind=KIND)
    if file.facts.get("layout") != LAYOUT:
        raise IndexVersionError(f"{path} was made by another version of Aurora")
    if file.facts.get("analysis") != analysis.name:
        raise IndexVersionError(f"{path} was made of other terms")
    for arrays, removed in file.segments:
        if not isinstance(arrays, IndexFile) or not _fits(arrays, removed):
            raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def _fits(file: IndexFile, removed: Array) -> bool:
    """True when the lengths of the arrays agree, and all are whole numbers."""
    sizes = {name: file.size(name) for name in ARRAYS}
    per_document = {sizes[name] for name in ("rows", "generations", "lengths")}
    agree = per_document == {sizes["id_offsets"] - 1}
    agree = agree and sizes["documents"] == sizes["frequencies"]
    inside = not len(removed) or 0 <= removed[0] <= removed[-1] < sizes["rows"]
    whole = all(file.code(name) not in "fd" for name in ARRAYS)
    return whole and agree and inside and 0 < sizes["term_offsets"] == sizes["posting_offsets"]


def require_ends(arrays: Arrays) -> None:
    """Check that offsets span their arrays: wrong offsets could allocate any amount of memory."""
    for name, target in _OFFSETS.items():
        last = arrays.size(name) - 1
        ends = (arrays.read(name, 0, 1)[0], arrays.read(name, last, last + 1)[0])
        if ends != (0, arrays.size(target)):
            raise IndexFileError(f"{name} of the index do not fit {target}")


def read_arrays(arrays: Arrays, *names: str) -> Mapping[str, Array]:
    return {name: arrays.read(name, 0, arrays.size(name)) for name in names}
