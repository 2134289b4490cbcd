"""A file's chunks take the place of those it had: the same in every database."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from aurora.stores.base import FileState
from aurora.types import Chunk

PAGE = 1000  # chunks read or written at a time

T = TypeVar("T")


def portions(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Values in lists of at most so many, taken as they come."""
    rest = iter(values)
    while portion := list(islice(rest, size)):
        yield portion


def embedded_text(chunk: Chunk) -> tuple[str, ...]:
    """What a vector is made of: a chunk that only moved down its file keeps its vector."""
    return (chunk.path, chunk.qualified_name, chunk.name, chunk.content)


class Replacing(ABC):
    """`replace_file`, for a store that can read and write chunks by their ids."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]: ...

    @abstractmethod
    def delete_chunks(self, chunk_ids: Iterable[str]) -> int: ...

    @abstractmethod
    def add_files(self, states: Iterable[FileState]) -> None: ...

    @abstractmethod
    def _ids_of_file(self, path: str) -> set[str]: ...

    @abstractmethod
    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        """Write the chunks that differ from what is known; tells how many did."""

    def _by_id(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self.get_chunks(chunk_ids)}

    def put_chunks(self, chunks: Iterable[Chunk]) -> int:
        with self.transaction():
            wanted = {chunk.id: chunk for chunk in chunks}
            return self._replace(self._by_id(list(wanted)), wanted)

    def replace_file(self, state: FileState, chunks: Iterable[Chunk]) -> int:
        changed = 0
        with self.transaction():
            before = self._ids_of_file(state.path)
            written: set[str] = set()
            for some in portions(chunks, PAGE):
                known = self._by_id([chunk.id for chunk in some])
                wanted = self._under_own_ids(some, known, written)
                known |= self._by_id(list(wanted.keys() - {chunk.id for chunk in some}))
                changed += self._replace(known, wanted)
            gone = self.delete_chunks(before - written)
            self.add_files([state])
        return gone + changed

    def _under_own_ids(
        self, chunks: Sequence[Chunk], known: Mapping[str, Chunk], written: set[str]
    ) -> dict[str, Chunk]:
        """Chunks of one file by ids that are no other file's, nor given to this one's before."""
        wanted, reserved = {}, {chunk.id for chunk in chunks}
        for chunk in chunks:
            own = chunk
            if chunk.id in written or known.get(chunk.id, chunk).path != chunk.path:
                own = self._with_free_id(chunk, written, reserved)
            wanted[own.id] = own
            written.add(own.id)
        return wanted

    def _with_free_id(self, chunk: Chunk, *taken: Container[str]) -> Chunk:
        """The chunk under the first number of its id that is free or its own file's."""
        for number in itertools.count(2):
            renamed = replace(chunk, id=f"{chunk.id}#{number}")
            owner = self.get_chunks([renamed.id])
            own = not owner or owner[0].path == chunk.path
            if own and not any(renamed.id in ids for ids in taken):
                break
        return renamed
