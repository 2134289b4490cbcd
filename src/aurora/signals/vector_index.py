"""The vectors of a memory side by side in one file, twice as wide as the store packs them.

Derived like every index: opened by mmap, in step with the store, put together again from what
stayed and what is new. In float32 a processor multiplies them as they lie there.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path

from aurora.errors import IndexFileError, IndexVersionError
from aurora.packing import VECTOR_WIDTH, unpack_vector
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.stores.base import Embedder
from aurora.types import Json

_LAYOUT = 2  # grows when an index holds other arrays: those before are then rebuilt


class Vectors:
    """Rows, ascending, with the generation of each and its vector, all made by one embedder."""

    def __init__(self, arrays: Arrays, facts: Mapping[str, Json], embedder: Embedder) -> None:
        self._arrays, self.facts, self.embedder = arrays, facts, embedder

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def __len__(self) -> int:
        return self._arrays.size("rows")

    def check(self) -> None:
        """Raise `IndexFileError` if the file was cut short: what is mapped of it is then gone."""
        self._arrays.read("rows", 0, 0)

    @property
    def rows(self) -> Array:
        return self._arrays.read("rows", 0, len(self))

    def generations(self) -> dict[int, tuple[int, int]]:
        """Row → place and generation."""
        generations = self._arrays.read("generations", 0, len(self)).tolist()
        places = enumerate(zip(self.rows.tolist(), generations, strict=True))
        return {row: (place, generation) for place, (row, generation) in places}

    def matrix(self) -> Array:
        """All vectors, one after the other: float32, `dimension` numbers each."""
        return self._arrays.read("matrix", 0, self._arrays.size("matrix"))

    def vector(self, place: int) -> Array:
        return self._arrays.read("matrix", place * self.dimension, (place + 1) * self.dimension)

    def save(self, path: Path, facts: Mapping[str, Json]) -> None:
        arrays = {name: self._arrays.read(name, 0, self._arrays.size(name)) for name in _ARRAYS}
        self.facts = {**facts, "layout": _LAYOUT, **_told(self.embedder)}
        write_index_file(path, kind="vectors", facts=self.facts, arrays=arrays)


_ARRAYS = ("rows", "generations", "matrix")
_NOBODY = Embedder("", 1, "")  # who made the vectors of a memory that has none


def join_vectors(parts: Mapping[int, tuple[int, bytes]], embedder: Embedder) -> Vectors:
    """Vectors of (generation, float32 numbers) by row."""
    rows = sorted(parts)
    arrays: dict[str, Array] = {
        "rows": array("q", rows),
        "generations": array("q", (parts[row][0] for row in rows)),
        "matrix": memoryview(b"".join(parts[row][1] for row in rows)).cast("f"),
    }
    return Vectors(MemoryArrays(arrays), {}, embedder)


def open_vectors_file(path: Path) -> IndexFile:
    """Saved vectors as they lie on disk; `IndexVersionError` when another version made them."""
    file = IndexFile(path, kind="vectors")
    dimension = file.facts.get("dimension")
    if file.facts.get("layout") != _LAYOUT or type(dimension) is not int:
        raise IndexVersionError(f"{path} was made by another Aurora")
    sizes, codes = ([of(name) for name in _ARRAYS] for of in (file.size, file.code))
    of_numbers = {"f", "d"}.isdisjoint(codes[:2]) and codes[2] == "f"
    if not of_numbers or dimension < 1 or sizes != [sizes[0], sizes[0], sizes[0] * dimension]:
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def vectors_in(file: IndexFile) -> Vectors:
    name, dimension, fingerprint = (str(file.facts.get(fact)) for fact in _told(_NOBODY))
    return Vectors(file, file.facts, Embedder(name, int(dimension), fingerprint))


class VectorIndex(DerivedIndex[Vectors]):
    """The vectors one embedder made of a store's chunks."""

    title = "vector index"

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, **_told(self._owner())}

    def _owner(self) -> Embedder:
        return self._store.vectors.embedder() or _NOBODY

    def _facts(self, index: Vectors) -> Mapping[str, Json]:
        return index.facts

    def _open_file(self) -> IndexFile:
        return open_vectors_file(self._path)

    def _load(self) -> Vectors:
        return vectors_in(self._open_file())

    def _merge(self, base: Vectors) -> Vectors:
        """What stayed is copied from the index, only what is new is read from the store."""
        there, known = self._store.vectors.vector_revisions(), base.generations()
        kept = {
            row: (generation, base.vector(known[row][0]).tobytes())
            for row, generation in there.items()
            if row in known and known[row][1] == generation
        }
        new = [row for row in there if row not in kept]
        return self._joined(base.embedder, kept, new) or self._make()

    def _make(self) -> Vectors:
        while True:
            made = self._joined(self._owner(), {}, None)
            if made is not None:
                return made

    def _joined(
        self, owner: Embedder, kept: dict[int, tuple[int, bytes]], rows: list[int] | None
    ) -> Vectors | None:
        """None when another embedder took over meanwhile: what was read may be of both."""
        for revision, vector in self._store.vectors.iter_vectors(rows):
            if len(vector) == VECTOR_WIDTH * owner.dimension:
                kept[revision.row] = (revision.generation, _widened(vector))
        return join_vectors(kept, owner) if owner == self._owner() else None

    def _write(self, index: Vectors, facts: Mapping[str, Json]) -> None:
        index.save(self._path, facts)

    def _difference(self, index: Vectors) -> str:
        return "vectors of another model" if len(index) else "detected the first vectors"


def _widened(packed: bytes) -> bytes:
    """A stored vector as float32 in the machine's own byte order."""
    return array("f", unpack_vector(packed)).tobytes()


def _told(embedder: Embedder) -> dict[str, Json]:
    return {
        "embedder": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
    }
