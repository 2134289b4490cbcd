"""All that a memory knows of its files, in a form that two memories can be compared by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aurora import Memory, Places
from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.base import ProviderOptions
from aurora.indexing.embedding import ChunkText, embedding_text, vectors_of
from aurora.stores.base import FileState
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, ChunkHistory


@dataclass(frozen=True)
class Remembered:
    """Everything but when it was read, and in which order."""

    chunks: dict[str, Chunk]
    files: dict[str, FileState]
    histories: dict[str, ChunkHistory]
    embedded: frozenset[str]  # the ids that have vectors

    def of_file(self, path: str) -> dict[str, Chunk]:
        return {id_: chunk for id_, chunk in self.chunks.items() if chunk.path == path}

    def by_file(self) -> dict[str, dict[str, Chunk]]:
        found: defaultdict[str, dict[str, Chunk]] = defaultdict(dict)
        for id_, chunk in self.chunks.items():
            found[chunk.path][id_] = chunk
        return found


def remembered(database: Path) -> Remembered:
    """What a whole database holds: damage of any kind fails the test."""
    with closing(SQLiteStore(database)) as store:
        assert store.maintenance.check() == []
        chunks = {chunk.id: chunk for chunk in store.chunks.iter_chunks()}
        files = store.chunks.file_states().items()
        histories = store.chunks.get_histories(list(chunks)).items()
        return Remembered(
            chunks,
            {path: replace(state, history_read_at=None) for path, state in files},
            {id_: replace(history, read_at=None) for id_, history in histories},
            frozenset(store.vectors.get_embeddings(list(chunks))),
        )


def untrue_vectors(database: Path) -> list[str]:
    """Ids of chunks whose vector is of another text, by the model that made them."""
    with closing(SQLiteStore(database)) as store:
        owner = store.vectors.embedder()
        vectors = {row: vector for (row, _), vector in store.vectors.iter_vectors()}
        chunks = store.chunks.get_rows(list(vectors))
    if not vectors:
        return []
    made = _made(owner.name.partition("/")[2] if owner else "")
    texts = [embedding_text(chunks[row]) for row in vectors]
    missing = [text for text in texts if text not in made.by_text]
    made.by_text.update(zip(missing, vectors_of(made.provider, missing), strict=True))
    # In another company a text's numbers are added in another order, so the last bit may differ.
    cosines = (_rows(vectors.values()) * _rows(made.by_text[text] for text in texts)).sum(axis=1)
    return [chunks[row].id for row, cosine in zip(vectors, cosines, strict=True) if cosine < 0.9999]


def _rows(vectors: Iterable[bytes]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Of length 1, which half floats are only nearly."""
    rows = np.array([np.frombuffer(vector, "<f2") for vector in vectors], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class _Made(NamedTuple):
    """A model, and what it has made of texts: most of them are asked for again and again."""

    provider: AuroraProvider
    by_text: dict[ChunkText, bytes]


@cache
def _made(model: str) -> _Made:
    return _Made(AuroraProvider(ProviderOptions(model)), {})


_LIMIT = 50


def answers(places: Places, *queries: str) -> list[list[tuple[str, float]]]:
    """Ids and scores for each query, as keyword search gives them."""
    with Memory(places) as memory:
        found = [memory.search(query, limit=_LIMIT, mode="keyword").results for query in queries]
    return [
        _comparable([(result.chunk_id, result.score) for result in results]) for results in found
    ]


def _comparable(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Among equals the older chunk comes first, and of those at the end only some are seen."""
    last = pairs[-1][1] if len(pairs) == _LIMIT else 0.0
    clear = [pair for pair in pairs if pair[1] > last]
    return [*sorted(clear, key=lambda pair: (-pair[1], pair[0])), ("", last)]
