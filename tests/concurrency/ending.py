"""What must be true of a memory when everybody has gone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import islice

from aurora import Memory
from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.base import ProviderOptions
from aurora.engine.location import SqliteLocation
from aurora.indexing.embedding import embedding_text, vectors_of
from aurora.packing import unpack_vector
from aurora.signals.semantic import cosine
from aurora.stores.base import Store
from aurora.types import Chunk
from tests.concurrency.hands import Known
from tests.indexing.remembered import answers

WORD = re.compile(r"\b[a-z]{14}\b")  # one that `hands` drew


def require_whole(memory: Memory) -> None:
    """No damage; every chunk has a vector, made of its own text by the memory's own model."""
    assert memory.admin.check() == []
    at = memory.admin.location
    if isinstance(at, SqliteLocation):
        with closing(sqlite3.connect(at.path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert memory.admin.store.vectors.find_unembedded() == []
    assert memory.admin.store.vectors.next_embedder() is None
    untrue = list(_untrue_vectors(memory.admin.store))
    assert untrue == [], f"vectors of other texts: {untrue}"


def require_known(memory: Memory, known: Iterable[Known]) -> None:
    """What was acknowledged is there as it was, what was forgotten is not; of the rest either."""
    all_known = list(known)
    documents = _documents(memory.admin.chunks())
    for one in all_known:
        for id_, words in one.kept.items():
            assert documents.get(id_) == words, f"{id_} holds {documents.get(id_)}, not {words}"
        assert one.gone.keys().isdisjoint(documents), "something that was forgotten is there"
    sure = {words[0] for one in all_known for words in one.kept.values()}
    unsure = {word for one in all_known for word in one.unsure}
    strangers = {word for words in documents.values() for word in words} - sure - unsure
    assert not strangers, f"nobody was told that these are kept: {strangers}"


def require_current_indexes(memory: Memory, words: Iterable[str]) -> None:
    """Searches answer what they answer after everything derived is made anew."""
    asked = [*islice(words, 30), "turn", "return", "about", "worked part"]
    before = answers(memory.places, *asked)
    assert any(len(found) > 1 for found in before)
    memory.admin.rebuild_bm25()
    assert answers(memory.places, *asked) == before


def _documents(chunks: Iterable[Chunk]) -> dict[str, list[str]]:
    """The drawn words of each document and lesson, by its id."""
    found: dict[str, list[str]] = {}
    for chunk in chunks:
        if not chunk.path:
            id_ = chunk.id.partition("@")[0]
            found.setdefault(id_, []).extend(WORD.findall(chunk.content.rpartition("\n")[2]))
    return found


def _untrue_vectors(store: Store) -> Iterable[str]:
    owner = store.vectors.embedder()
    assert owner is not None
    vectors = {row: unpack_vector(vector) for (row, _), vector in store.vectors.iter_vectors()}
    chunks = store.chunks.get_rows(list(vectors))
    provider = AuroraProvider(ProviderOptions(owner.name.partition("/")[2]))
    made = map(
        unpack_vector, vectors_of(provider, [embedding_text(chunks[row]) for row in vectors])
    )
    for (row, vector), own in zip(vectors.items(), made, strict=True):
        if cosine(vector, own) < 0.9999:  # the last bit depends on a text's company
            yield chunks[row].id
