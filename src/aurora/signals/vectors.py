"""The vectors of a memory side by side in one file, as the store packs them.

Derived like every index: opened by mmap, in step with the store, put together again from what
stayed and what is new. Making it takes nothing but copying bytes.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from pathlib import Path

from aurora.errors import IndexVersionError
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.signals.kept import KeptIndex
from aurora.stores.base import Embedder
from aurora.types import Json

_WIDTH = 4  # bytes of a float32
_LAYOUT = 1  # grows when an index holds other arrays: those before are then rebuilt


class Vectors:
    """Rows, ascending, with the generation of each and its vector."""

    def __init__(self, arrays: Arrays, facts: Mapping[str, Json], dimension: int) -> None:
        self._arrays, self.facts, self.dimension = arrays, facts, dimension

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
        self.facts = {**facts, "layout": _LAYOUT, "dimension": self.dimension}
        write_index_file(path, kind="vectors", facts=self.facts, arrays=arrays)


_ARRAYS = ("rows", "generations", "matrix")


def join_vectors(parts: Mapping[int, tuple[int, bytes | memoryview]], dimension: int) -> Vectors:
    """Vectors of (generation, bytes) by row."""
    rows = sorted(parts)
    arrays: dict[str, Array] = {
        "rows": array("q", rows),
        "generations": array("q", (parts[row][0] for row in rows)),
        "matrix": memoryview(b"".join(parts[row][1] for row in rows)).cast("f"),
    }
    return Vectors(MemoryArrays(arrays), {}, dimension)


class VectorIndex(KeptIndex[Vectors]):
    """The vectors one embedder made of a store's chunks."""

    title = "vector index"

    def embedder(self) -> Embedder | None:
        return self._store.embedder()

    def _origin(self) -> dict[str, Json]:
        embedder = self._store.embedder()
        if embedder is None:
            return {"store": self._store.identity, "embedder": ""}
        return {
            "store": self._store.identity,
            "embedder": embedder.name,
            "fingerprint": embedder.fingerprint,
        }

    def _facts(self, index: Vectors) -> Mapping[str, Json]:
        return index.facts

    def _open_file(self) -> IndexFile:
        file = IndexFile(self._path, kind="vectors")
        known = isinstance(file.facts.get("dimension"), int)
        if file.facts.get("layout") != _LAYOUT or not known:
            raise IndexVersionError(f"{self._path} was made by another Aurora")
        return file

    def _load(self) -> Vectors:
        file = self._open_file()
        return Vectors(file, file.facts, int(str(file.facts["dimension"])))

    def _merge(self, base: Vectors) -> Vectors:
        """What stayed is copied from the index, only what is new is read from the store."""
        there, known = self._store.vector_revisions(), base.generations()
        kept = {
            row: (generation, base.vector(known[row][0]).tobytes())
            for row, generation in there.items()
            if row in known and known[row][1] == generation
        }
        return self._joined(kept, [row for row in there if row not in kept])

    def _make(self) -> Vectors:
        return self._joined({}, None)

    def _joined(self, kept: dict[int, tuple[int, bytes]], rows: list[int] | None) -> Vectors:
        embedder = self._store.embedder()
        dimension = embedder.dimension if embedder is not None else 1
        for revision, vector in self._store.iter_vectors(rows):
            if len(vector) == _WIDTH * dimension:
                kept[revision.row] = (revision.generation, _native(vector))
        return join_vectors(kept, dimension)

    def _write(self, index: Vectors, facts: Mapping[str, Json]) -> None:
        index.save(self._path, facts)

    def _difference(self, index: Vectors) -> str:
        return "vectors of another model" if len(index) else "detected the first vectors"


def _native(packed: bytes) -> bytes:
    """A stored vector in the machine's own byte order."""
    if struct.pack("<H", 1) == struct.pack("=H", 1):
        return packed
    values = array("f", packed)
    values.byteswap()
    return values.tobytes()
