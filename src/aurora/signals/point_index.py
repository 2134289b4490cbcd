"""A place in the plane for each vector, so that chunks of the same matter lie together.

The two directions are those in which a sample of the vectors differs most (principal components).
The index is a file derived from the store. An outdated file keeps its directions, so that points
stay where they are, and only new vectors are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aurora.errors import IndexFileError, IndexVersionError
from aurora.packing import VECTOR_WIDTH
from aurora.signals.derived_index import DerivedIndex
from aurora.signals.index_file import Array, Arrays, IndexFile, MemoryArrays, write_index_file
from aurora.signals.vector_index import embedder_facts
from aurora.stores.base import Embedder
from aurora.types import Json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

_LAYOUT = 1  # increased when an index has other arrays; older files are then rebuilt
_ARRAYS = ("rows", "generations", "points", "basis")
_SAMPLE = 20_000  # vectors that the directions are computed from
_BATCH = 10_000  # vectors converted at a time
_MOST_NEW = 0.5  # share of new vectors above which the directions are computed again
_NO_EMBEDDER = Embedder("", 1, "")  # of a memory without vectors


class Points:
    """Ascending rows with their points. `basis` is the mean, then two directions."""

    def __init__(self, arrays: Arrays, facts: Mapping[str, Json]) -> None:
        self.facts = facts
        self._arrays = arrays

    def _read(self, name: str) -> NDArray[np.float32]:
        return np.asarray(self._arrays.read(name, 0, self._arrays.size(name)))

    def __len__(self) -> int:
        return self._arrays.size("rows")

    @property
    def rows(self) -> Rows:
        return self._read("rows").astype(np.int64)

    @property
    def generations(self) -> Rows:
        return self._read("generations").astype(np.int64)

    @property
    def points(self) -> Floats:
        return self._read("points").reshape(-1, 2)

    @property
    def basis(self) -> Floats:
        return self._read("basis").reshape(3, -1)

    def place(self, vectors: Floats) -> Floats:
        """The points of vectors."""
        mean, *directions = self.basis
        placed: Floats = ((vectors - mean) @ np.stack(directions).T).astype(np.float32)
        return placed

    def save_index(self, path: Path, facts: Mapping[str, Json]) -> None:
        arrays = {name: self._arrays.read(name, 0, self._arrays.size(name)) for name in _ARRAYS}
        self.facts = {**facts, "layout": _LAYOUT}
        write_index_file(path, kind="points", facts=self.facts, arrays=arrays)


class PointIndex(DerivedIndex[Points]):
    """The points of a store's chunks."""

    title = "map of points"

    def _open_file(self) -> IndexFile:
        file = IndexFile(self._path, kind="points")
        if file.facts.get("layout") != _LAYOUT:
            raise IndexVersionError(f"{self._path} was made by another version of Aurora")
        rows, generations, points, _ = (file.size(name) for name in _ARRAYS)
        if (generations, points) != (rows, 2 * rows) or file.size("basis") % 3:
            raise IndexFileError(f"{self._path} has arrays that do not fit each other")
        return file

    def _load(self) -> Points:
        file = self._open_file()
        return Points(file, file.facts)

    def _origin(self) -> dict[str, Json]:
        return {"store": self._store.identity, **embedder_facts(self._owner())}

    def _owner(self) -> Embedder:
        return self._store.vectors.embedder() or _NO_EMBEDDER

    def _merge(self, base: Points) -> Points | None:
        """Keep the points of unchanged vectors."""
        known = self._store.vectors.vector_revisions()
        pairs = zip(base.rows.tolist(), base.generations.tolist(), strict=True)
        kept = np.fromiter((known.get(row) == at for row, at in pairs), bool, len(base))
        rows = base.rows[kept]
        new = sorted(known.keys() - set(rows.tolist()))
        if len(new) > _MOST_NEW * len(known):
            return None
        parts = [(rows, base.generations[kept], base.points[kept])]
        parts += [(r, g, base.place(v)) for r, g, v in self._read(self._owner(), new)]
        return _joined(parts, base.basis)

    def _make(self) -> Points:
        owner, rows = self._owner(), list(self._store.vectors.vector_revisions())
        sampled = rows[:: -(-len(rows) // _SAMPLE)] if rows else []
        vectors = [part[2] for part in self._read(owner, sampled)]
        sample = np.concatenate(vectors) if vectors else np.zeros((0, owner.dimension), np.float32)
        basis = find_basis(sample)
        placing = Points(MemoryArrays({"basis": basis.reshape(-1)}), {})
        parts = [(r, g, placing.place(v)) for r, g, v in self._read(owner, None)]
        return _joined(parts, basis)

    def _read(self, owner: Embedder, rows: list[int] | None) -> Iterator[tuple[Rows, Rows, Floats]]:
        """Rows, generations and unit vectors in batches."""
        width = VECTOR_WIDTH * owner.dimension
        vectors = (
            (revision, packed)
            for revision, packed in self._store.vectors.iter_vectors(rows)
            if len(packed) == width
        )
        while batch := list(islice(vectors, _BATCH)):
            yield (
                np.array([revision.row for revision, _ in batch], np.int64),
                np.array([revision.generation for revision, _ in batch], np.int64),
                unpack_all([packed for _, packed in batch]),
            )

    def _difference(self, index: Points) -> str:
        return "detected vectors of other chunks" if len(index) else "detected the first vectors"


def unpack_all(packed: list[bytes]) -> Floats:
    """Stored vectors as a matrix of unit vectors."""
    flat = np.frombuffer(b"".join(packed), "<f2").astype(np.float32)
    vectors: Floats = flat.reshape(len(packed), -1)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit


def find_basis(vectors: Floats) -> Floats:
    """The mean and the two directions of the largest variance, scaled so that most points lie
    within 1. A direction and its opposite are equal; the largest part is positive."""
    dimension = vectors.shape[1]
    if len(vectors) < 2 or dimension < 2:
        return np.zeros((3, dimension), np.float32)
    mean = vectors.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    best = directions[:, :-3:-1].T
    best = best * np.sign(best[np.arange(2), np.abs(best).argmax(axis=1)])[:, None]
    reach = np.quantile(np.abs((vectors - mean) @ best.T), 0.995, axis=0)
    best = best / np.where(reach > 0, reach, 1)[:, None]
    return np.concatenate([mean[None], best]).astype(np.float32)


def _joined(parts: list[tuple[Rows, Rows, Floats]], basis: Floats) -> Points:
    if not parts:
        empty = array("q")
        lists: dict[str, Array] = {"rows": empty, "generations": empty, "points": array("f")}
        return Points(MemoryArrays({**lists, "basis": basis.reshape(-1)}), {})
    rows, generations, points = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    arrays = {
        "rows": rows[order],
        "generations": generations[order],
        "points": np.ascontiguousarray(points[order]).reshape(-1),
        "basis": np.ascontiguousarray(basis).reshape(-1),
    }
    return Points(MemoryArrays(arrays), {})
