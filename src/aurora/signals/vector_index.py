"""The vectors of a memory in one index file, in float32.

The file is derived from the store. An outdated file is updated: unchanged vectors are copied, new
ones are read from the store and converted from the store's half precision.
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

_LAYOUT = 2  # increased when an index has other arrays; older files are then rebuilt
_ARRAYS = ("rows", "generations", "matrix")
_NO_EMBEDDER = Embedder("", 1, "")  # of a memory without vectors


class Vectors:
    """Ascending rows with their generations and their vectors, all made by one embedder."""

    def __init__(self, arrays: Arrays, facts: Mapping[str, Json], embedder: Embedder) -> None:
        self._arrays, self.facts, self.embedder = arrays, facts, embedder

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    def __len__(self) -> int:
        return self._arrays.size("rows")

    def check(self) -> None:
        """Raise `IndexFileError` if the mapped file was truncated."""
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

    def save_index(self, path: Path, facts: Mapping[str, Json]) -> None:
        arrays = {name: self._arrays.read(name, 0, self._arrays.size(name)) for name in _ARRAYS}
        self.facts = {**facts, "layout": _LAYOUT, **_embedder_facts(self.embedder)}
        write_index_file(path, kind="vectors", facts=self.facts, arrays=arrays)


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
    """A saved index; raises `IndexVersionError` when another version made it."""
    file = IndexFile(path, kind="vectors")
    dimension = file.facts.get("dimension")
    if file.facts.get("layout") != _LAYOUT or type(dimension) is not int:
        raise IndexVersionError(f"{path} was made by another version of Aurora")
    sizes, codes = ([of(name) for name in _ARRAYS] for of in (file.size, file.code))
    has_types = {"f", "d"}.isdisjoint(codes[:2]) and codes[2] == "f"
    if not has_types or dimension < 1 or sizes != [sizes[0], sizes[0], sizes[0] * dimension]:
        raise IndexFileError(f"{path} has arrays that do not fit each other")
    return file


def vectors_in(file: IndexFile) -> Vectors:
    name, dimension, fingerprint = (str(file.facts.get(fact)) for fact in _embedder_facts())
    return Vectors(file, file.facts, Embedder(name, int(dimension), fingerprint))


class VectorIndex(DerivedIndex[Vectors]):
    """The vectors that one embedder made of a store's chunks."""

    title = "vector index"

    def _open_file(self) -> IndexFile:
        return open_vectors_file(self._path)

    def _load(self) -> Vectors:
        return vectors_in(self._open_file())

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, **_embedder_facts(self._owner())}

    def _owner(self) -> Embedder:
        return self._store.vectors.embedder() or _NO_EMBEDDER

    def _merge(self, base: Vectors) -> Vectors:
        """Copy unchanged vectors from the index and read only the new ones from the store."""
        revisions, indexed = self._store.vectors.vector_revisions(), base.generations()
        kept = {
            row: (generation, base.vector(indexed[row][0]).tobytes())
            for row, generation in revisions.items()
            if row in indexed and indexed[row][1] == generation
        }
        new = [row for row in revisions if row not in kept]
        return self._read_store(base.embedder, kept, new) or self._make()

    def _make(self) -> Vectors:
        while True:
            vectors = self._read_store(self._owner(), {}, None)
            if vectors is not None:
                return vectors

    def _read_store(
        self, owner: Embedder, parts: dict[int, tuple[int, bytes]], rows: list[int] | None
    ) -> Vectors | None:
        """Add the store's vectors to `parts`. None when the embedder changed meanwhile: the
        vectors may then be of both."""
        for revision, packed in self._store.vectors.iter_vectors(rows):
            if len(packed) == VECTOR_WIDTH * owner.dimension:
                parts[revision.row] = (revision.generation, _as_float32(packed))
        return join_vectors(parts, owner) if owner == self._owner() else None

    def _difference(self, index: Vectors) -> str:
        return "vectors of another model" if len(index) else "detected the first vectors"


def _as_float32(packed: bytes) -> bytes:
    """A stored vector as float32 in the machine's own byte order."""
    return array("f", unpack_vector(packed)).tobytes()


def _embedder_facts(embedder: Embedder = _NO_EMBEDDER) -> dict[str, Json]:
    return {
        "embedder": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
    }
