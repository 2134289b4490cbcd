"""Whose vectors a memory holds: those in use, and beside them those of the model that takes over.

The rules are the same in every database; only where vectors lie is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from aurora.errors import StoreError
from aurora.packing import VECTOR_WIDTH
from aurora.stores.base import Embedder

USED, NEXT = "embeddings", "next_embeddings"  # tables
_FACTS = {USED: "embedder", NEXT: "next_embedder"}
_PARTS = ("name", "dimension", "fingerprint")


class Owning(ABC):
    """The part of `Store` that is about who made the vectors."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def _facts(self, names: Sequence[str]) -> Mapping[str, str]: ...

    @abstractmethod
    def _set_fact(self, name: str, value: str) -> None: ...

    @abstractmethod
    def _forget_facts(self, names: Iterable[str]) -> None: ...

    @abstractmethod
    def _draw_generation(self) -> int: ...

    @abstractmethod
    def _empty_next(self) -> None:
        """Drop the vectors of the next embedder."""

    @abstractmethod
    def _promote_next(self) -> None:
        """Let them take the place of those in use, at no cost, however many there are."""

    @abstractmethod
    def _put_vectors(self, table: str, vectors: Iterable[tuple[str, bytes]]) -> None: ...

    def embedder(self) -> Embedder | None:
        return self._owner(USED)

    def next_embedder(self) -> Embedder | None:
        return self._owner(NEXT)

    def _owner(self, table: str) -> Embedder | None:
        names = [f"{_FACTS[table]}.{part}" for part in _PARTS]
        facts = self._facts(names)
        if len(facts) < len(names):
            return None
        name, dimension, fingerprint = map(facts.__getitem__, names)
        return Embedder(name, int(dimension), fingerprint)

    def _claim(self, table: str, embedder: Embedder) -> None:
        for part, value in zip(_PARTS, embedder, strict=True):
            self._set_fact(f"{_FACTS[table]}.{part}", str(value))

    def start_reembedding(self, embedder: Embedder) -> None:
        with self.transaction():
            if self._owner(USED) in (None, embedder):
                raise StoreError(f"There are no vectors that {embedder.name} could replace")
            if self._owner(NEXT) != embedder:
                self.stop_reembedding()
                self._claim(NEXT, embedder)

    def stop_reembedding(self) -> None:
        with self.transaction():
            if self._owner(NEXT) is not None:
                self._empty_next()
                self._forget_next()

    def _forget_next(self) -> None:
        self._forget_facts(f"{_FACTS[NEXT]}.{part}" for part in _PARTS)

    def finish_reembedding(self) -> None:
        with self.transaction():
            owner = self._owner(NEXT)
            if owner is None:
                raise StoreError("No other model's vectors are being made in this memory")
            self._promote_next()
            self._forget_next()
            self._claim(USED, owner)
            self._draw_generation()

    def put_embeddings(self, embedder: Embedder, vectors: Iterable[tuple[str, bytes]]) -> None:
        with self.transaction():
            table, is_new = self._table_of(embedder)
            checked = [_of_its_width(chunk_id, vector, embedder) for chunk_id, vector in vectors]
            if checked and is_new:  # the first vector makes the memory its embedder's own
                self._claim(table, embedder)
            self._put_vectors(table, checked)

    def _table_of(self, embedder: Embedder) -> tuple[str, bool]:
        """Where its vectors belong, and whether they would be the first. Others' are refused."""
        owner = self._owner(USED)
        if owner is not None and owner != embedder and self._owner(NEXT) == embedder:
            return NEXT, False
        if owner is not None:
            owner.require(embedder)
        return USED, owner is None


def _of_its_width(chunk_id: str, vector: bytes, embedder: Embedder) -> tuple[str, bytes]:
    wanted = VECTOR_WIDTH * embedder.dimension
    if len(vector) != wanted:
        raise ValueError(
            f"vector of {chunk_id!r} has {len(vector)} bytes, {embedder.name} makes {wanted}"
        )
    return chunk_id, vector
