"""All that a memory knows of its files, in a form that two memories can be compared by."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from aurora import Memory, Places
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.own.provider import OwnProvider
from aurora.indexing.elsewhere import vectors_of
from aurora.indexing.embedding import embedding_text
from aurora.packing import unpack_vector
from aurora.signals.semantic import cosine
from aurora.stores.base import FileState
from aurora.stores.sqlite import SQLiteStore
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
        assert store.check() == []
        chunks = {chunk.id: chunk for chunk in store.iter_chunks()}
        files = store.file_states().items()
        histories = store.get_histories(list(chunks)).items()
        return Remembered(
            chunks,
            {path: replace(state, history_read_at=None) for path, state in files},
            {id_: replace(history, read_at=None) for id_, history in histories},
            frozenset(store.get_embeddings(list(chunks))),
        )


def untrue_vectors(database: Path) -> list[str]:
    """Ids of chunks whose vector is of another text, by the model that made them."""
    with closing(SQLiteStore(database)) as store:
        owner = store.embedder()
        vectors = {row: unpack_vector(vector) for (row, _), vector in store.iter_vectors()}
        chunks = store.get_rows(list(vectors))
    provider = OwnProvider(ProviderOptions(owner.name.partition("/")[2] if owner else ""))
    texts = [embedding_text(chunks[row]) for row in vectors]
    made = map(unpack_vector, vectors_of(provider, texts))
    # In another company a text's numbers are added in another order, so the last bit may differ.
    pairs = zip(vectors.items(), made, strict=True)
    return [chunks[row].id for (row, vector), own in pairs if cosine(vector, own) < 0.9999]


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
