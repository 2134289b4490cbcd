"""The vectors of a memory in an index of segments, and the way it follows the store.

Each segment has its vectors by ascending row, as the store packs them, and a large one has short
codes beside them (`vector_codes`). A change writes a segment of the new vectors and lists the
removed ones, so that the others are neither read nor written. Neither reading nor making an index
needs numpy; without it, no segment has codes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from aurora.errors import IndexFileError, IndexVersionError
from aurora.packing import VECTOR_WIDTH, unpack_vector
from aurora.signals.base import import_if_numpy
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays
from aurora.signals.segments import (
    Segment,
    SegmentedFile,
    discard,
    open_segments,
    pick_merges,
    save_segments,
    write_draft,
)
from aurora.stores.base import Embedder
from aurora.types import Json

_KIND = "vectors"
_LAYOUT = 4  # raise it when arrays change: older files are then rebuilt
_CODES = ("bytes", "scales", "signs", "frame")  # all empty without codes
_ARRAYS = ("rows", "generations", "matrix", *_CODES)
_MOST = 1 << 18  # vectors of a segment: bounds the memory of a build, and what a change writes
_SMALL = 2_000  # vectors: segments of so many are merged at once, 1 MB of them
_GROWTH = 8  # times as many vectors as all newer segments: a larger one is not merged
_NO_EMBEDDER = Embedder("", 1, "")  # of a memory without vectors

Parts = dict[int, tuple[int, bytes | memoryview]]  # generation and packed vector, by row


class VectorSegment:
    """Vectors by place, with ascending rows, and the ascending places of removed ones."""

    def __init__(self, arrays: Arrays, removed: Array, dimension: int) -> None:
        self.arrays, self.removed, self.dimension = arrays, removed, dimension

    @property
    def segment(self) -> Segment:
        return Segment(self.arrays, self.removed)

    @property
    def size(self) -> int:
        """The number of places."""
        return self.arrays.size("rows")

    def __len__(self) -> int:
        return self.size - len(self.removed)

    @property
    def rows(self) -> Array:
        return self.read("rows")

    @property
    def has_codes(self) -> bool:
        return self.arrays.size("signs") > 0

    def read(self, name: str) -> Array:
        """A whole array."""
        return self.arrays.read(name, 0, self.arrays.size(name))

    def items(self) -> Iterator[tuple[int, int, memoryview]]:
        """Row, generation and packed vector of all that were not removed."""
        gone = frozenset(self.removed.tolist())
        rows, generations = self.rows.tolist(), self.read("generations").tolist()
        packed = memoryview(self.read("matrix")).cast("B")  # type: ignore[arg-type]
        width = VECTOR_WIDTH * self.dimension
        for place, (row, generation) in enumerate(zip(rows, generations, strict=True)):
            if place not in gone:
                yield row, generation, packed[place * width : (place + 1) * width]


class Vectors:
    """Rows with their generations and their vectors, all made by one embedder."""

    def __init__(
        self, segments: Iterable[Segment], facts: Mapping[str, Json], embedder: Embedder
    ) -> None:
        self.facts, self.embedder = facts, embedder
        self._use(segments)

    def _use(self, segments: Iterable[Segment]) -> None:
        dimension = self.embedder.dimension
        self.segments = [VectorSegment(*each, dimension) for each in segments]

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def check(self) -> None:
        """Raise `IndexFileError` if a mapped file was truncated."""
        for each in self.segments:
            each.arrays.read("rows", 0, 0)

    def check_all(self) -> None:
        """Compare every checksum."""
        for each in self.segments:
            for name in _ARRAYS:
                each.read(name)

    def items(self) -> Iterator[tuple[int, int, Sequence[float]]]:
        """Row, generation and vector."""
        for each in self.segments:
            for row, generation, packed in each.items():
                yield row, generation, unpack_vector(bytes(packed))

    def save_index(self, path: Path, facts: Mapping[str, Json]) -> None:
        self.facts = {**facts, "layout": _LAYOUT, **embedder_facts(self.embedder)}
        segments = [each.segment for each in self.segments]
        saved = save_segments(path, kind=_KIND, facts=self.facts, segments=segments, names=_ARRAYS)
        self._use(saved.segments)


def join_vectors(parts: Parts, embedder: Embedder) -> Vectors:
    """Vectors in memory."""
    return Vectors([make_segment({**parts}, embedder.dimension)] if parts else [], {}, embedder)


def make_segment(parts: Parts, dimension: int) -> Segment:
    """A segment of these vectors. Empties `parts`: memory use is highest here."""
    rows, matrix = sorted(parts), bytearray()
    generations = array("q", (parts[row][0] for row in rows))
    for row in rows:
        matrix += parts.pop(row)[1]
    arrays: dict[str, Array] = {
        "rows": array("q", rows),
        "generations": generations,
        "matrix": memoryview(matrix).cast("H"),
    }
    numpy = import_if_numpy("vector_codes")
    codes = numpy and numpy.encode(arrays["matrix"], dimension)
    return Segment(MemoryArrays(arrays | (codes or dict.fromkeys(_CODES, array("b")))))


def open_vectors_file(path: Path) -> SegmentedFile:
    """A saved index; raises `IndexVersionError` when another version made it."""
    file = open_segments(path, kind=_KIND)
    dimension = file.facts.get("dimension")
    if file.facts.get("layout") != _LAYOUT or type(dimension) is not int:
        raise IndexVersionError(f"{path} was made by another version of Aurora")
    if dimension < 1 or not all(_fits(*segment, dimension) for segment in file.segments):
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def _fits(arrays: Arrays, removed: Array, dimension: int) -> bool:
    """True when the lengths of the arrays agree, and their types are those of `make_segment`."""
    count = arrays.size("rows")
    sizes = {"generations": count, "matrix": count * dimension}
    if arrays.size("signs"):
        numpy = import_if_numpy("vector_codes")
        sizes |= numpy.code_sizes(count, dimension) if numpy else {}
    codes = {"rows": "q", "generations": "q", "matrix": "H"}
    if any(arrays.size(name) != size for name, size in sizes.items()):
        return False
    if isinstance(arrays, IndexFile) and any(arrays.code(n) not in c for n, c in codes.items()):
        return False
    gone = removed.tolist()
    return gone == sorted({*gone}) and (not gone or 0 <= gone[0] <= gone[-1] < count)


def vectors_in(file: SegmentedFile) -> Vectors:
    name, dimension, fingerprint = (str(file.facts.get(fact)) for fact in embedder_facts())
    return Vectors(file.segments, file.facts, Embedder(name, int(dimension), fingerprint))


class VectorIndex(DerivedIndex[Vectors]):
    """The vectors that one embedder made of a store's chunks."""

    title = "vector index"

    def _open_file(self) -> SegmentedFile:
        return open_vectors_file(self._path)

    def _load(self) -> Vectors:
        return vectors_in(self._open_file())

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, **embedder_facts(self._owner())}

    def _owner(self) -> Embedder:
        return self._store.vectors.embedder() or _NO_EMBEDDER

    def _merge(self, base: Vectors) -> Vectors:
        """Keep the segments, and read only the new vectors from the store."""
        removed, new = self._changes(base)
        segments = [
            Segment(each.arrays, gone)
            for each, gone in zip(base.segments, removed, strict=True)
            if len(gone) < each.size
        ]
        return self._read_store(base.embedder, segments, new) or self._make()

    def _changes(self, base: Vectors) -> tuple[list[Array], list[int]]:
        """The removed places of each segment, and the rows that have perhaps a new vector.

        Where all rows of a generation are the same, none of them is read.
        """
        chunks, segments = self._store.chunks, [each.segment for each in base.segments]
        numpy = import_if_numpy("bm25_index")
        if numpy is not None:
            generations = numpy.find_changed(segments, chunks.revision_groups, base.facts)
            difference = numpy.compare(segments, generations, chunks.revisions(generations))
            return difference.removed, difference.rows
        revisions, known, removed = chunks.revisions(), set[int](), list[Array]()
        for each in base.segments:
            gone = {*each.removed.tolist()}
            pairs = zip(each.rows.tolist(), each.read("generations").tolist(), strict=True)
            for place, (row, generation) in enumerate(pairs):
                if revisions.get(row) != generation:
                    gone.add(place)
                elif place not in gone:
                    known.add(row)
            removed.append(array("i", sorted(gone)))
        return removed, [row for row in revisions if row not in known]

    def _make(self) -> Vectors:
        while True:
            vectors = self._read_store(self._owner(), [], None)
            if vectors is not None:
                return vectors

    def _read_store(
        self, owner: Embedder, segments: list[Segment], rows: list[int] | None
    ) -> Vectors | None:
        """Add the store's vectors to `segments`. None when the embedder changed meanwhile: the
        vectors may then be of both."""
        parts: Parts = {}
        try:
            for revision, packed in self._store.vectors.iter_vectors(rows):
                if len(packed) == VECTOR_WIDTH * owner.dimension:
                    parts[revision.row] = (revision.generation, packed)
                if len(parts) == _MOST:
                    segments.append(self._draft(make_segment(parts, owner.dimension)))
                    parts = {}
            if parts:
                segments.append(make_segment(parts, owner.dimension))
            merge_segments(segments, owner.dimension)
            is_whole = owner == self._owner()
        except BaseException:
            discard(segments)
            raise
        if not is_whole:
            discard(segments)
        return Vectors(segments, {}, owner) if is_whole else None

    def _draft(self, segment: Segment) -> Segment:
        """A full segment, written before the next is read, where it can be written."""
        if self._store.is_read_only:
            return segment
        arrays = {name: segment.arrays.read(name, 0, segment.arrays.size(name)) for name in _ARRAYS}
        try:
            return Segment(write_draft(self._path, kind=_KIND, arrays=arrays))
        except OSError:  # `save_index` reports why
            return segment

    def _without_removed(self, index: Vectors) -> Vectors | None:
        if not any(len(each.removed) for each in index.segments):
            return None
        segments = [each.segment for each in index.segments]
        for number, each in enumerate(index.segments):
            if len(each.removed):
                segments[number] = merge([segments[number]], index.dimension)
        return Vectors(segments, index.facts, index.embedder)

    def _difference(self, index: Vectors) -> str:
        if not len(index):
            return "detected the first vectors"
        is_other = index.embedder != self._owner()
        return "vectors of another model" if is_other else "vectors of other chunks"


def merge_segments(segments: list[Segment], dimension: int) -> None:
    """Replace the newest segments, or one that has lost many vectors, by one segment."""
    sizes = [(arrays.size("rows"), len(removed)) for arrays, removed in segments]
    if sum(size for size, _ in sizes) <= _SMALL:
        is_one = len(sizes) == 1 and not sizes[0][1]
        merged = None if is_one or not sizes else slice(0, len(sizes))
    else:
        merged = pick_merges(sizes, most=_MOST, growth=_GROWTH, small=_SMALL)
    if merged:
        segments[merged] = [merge(segments[merged], dimension)]


def merge(segments: Iterable[Segment], dimension: int) -> Segment:
    """One segment of all vectors that were not removed."""
    parts: Parts = {}
    for each in segments:
        for row, generation, packed in VectorSegment(*each, dimension).items():
            parts[row] = (generation, packed)
    return make_segment(parts, dimension)


def embedder_facts(embedder: Embedder = _NO_EMBEDDER) -> dict[str, Json]:
    return {
        "embedder": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
    }
