"""Which chunks are near in meaning, and where all of them lie in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aurora.packing import unpack_vector
from aurora.signals.cosine_scores import Matrix
from aurora.signals.point_index import PointIndex, Points, unpack_all
from aurora.types import Chunk, Criteria, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from aurora.engine.memory import Memory

KINDS = tuple(Kind)


def find_near(memory: Memory, chunk: Chunk, *, limit: int) -> list[tuple[Chunk, float]]:
    """The chunks nearest in meaning with their cosine, nearest first; none for one without a
    vector."""
    opened = memory._opened
    store = opened.store
    packed = store.vectors.get_embeddings([chunk.id]).get(chunk.id)
    if packed is None:
        return []
    vector, hidden = unpack_vector(packed), store.checkouts.hidden_rows()
    most = limit + 1 + len(hidden)
    if store.ranking is not None:
        ranked = store.ranking.rank(None, vector, pool=most)
        scores = {row: ranked.scored[row].cosine or 0.0 for row in ranked.by_meaning}
    else:
        vectors = opened.retriever.vectors.usable()
        if vectors is None:
            return []
        near = Matrix(vectors).compare(vector)
        scores = {hit.row: hit.score for hit in near.hits(near.best(most))}
    chunks = store.chunks.get_rows([row for row in scores if row not in hidden])
    found = [(each, scores[row]) for row, each in chunks.items() if each.id != chunk.id]
    return sorted(found, key=lambda pair: -pair[1])[:limit]


@dataclass(frozen=True)
class MeaningMap:
    """The points of a memory that its checkout may see, and the kind of each, by number."""

    index: Points
    rows: NDArray[np.int64]
    points: NDArray[np.float32]
    kinds: NDArray[np.uint8]  # places in `KINDS`

    def to_bytes(self) -> bytes:
        """Little-endian float32 pairs, then a byte for each kind."""
        return self.points.astype("<f4").tobytes() + self.kinds.tobytes()

    def nearest(self, points: NDArray[np.float32]) -> list[int]:
        """For each point the place of the nearest one of the map."""
        return [int(((self.points - point) ** 2).sum(axis=1).argmin()) for point in points]


def read_map(memory: Memory) -> MeaningMap | None:
    """The map of a memory; None before the first during an index run."""
    opened = memory._opened
    store = opened.store
    path = opened.index_folder / "points.idx"
    index = PointIndex(store, path, now=opened.now, listen=opened.listen).usable()
    if index is None:
        return None
    rows, points = index.rows, index.points
    kinds = np.zeros(len(rows), np.uint8)
    for number, kind in enumerate(KINDS):
        of_kind = np.asarray(store.search.find_rows(Criteria(kinds=(kind,))), np.int64)
        kinds[np.isin(rows, of_kind)] = number
    hidden = store.checkouts.hidden_rows()
    if hidden:
        shown = ~np.isin(rows, np.fromiter(hidden, np.int64, len(hidden)))
        rows, points, kinds = rows[shown], points[shown], kinds[shown]
    return MeaningMap(index, rows, points, kinds)


def chunk_at(memory: Memory, map_: MeaningMap, x: float, y: float) -> Chunk | None:
    """The chunk nearest to a place of the map; None on an empty map."""
    if not len(map_.rows):
        return None
    [place] = map_.nearest(np.array([[x, y]], np.float32))
    row = int(map_.rows[place])
    return memory.admin.store.chunks.get_rows([row]).get(row)


def places_of(memory: Memory, map_: MeaningMap, ids: Sequence[str]) -> dict[str, int]:
    """The places of chunks on the map, by id, without those that have no vector."""
    packed = memory.admin.store.vectors.get_embeddings(ids)
    if not packed or not len(map_.rows):
        return {}
    points = map_.index.place(unpack_all(list(packed.values())))
    return dict(zip(packed, map_.nearest(points), strict=True))
