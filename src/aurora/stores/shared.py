"""What the parts of both stores are made of: pages of rows, and a database with generations."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]  # the rows of a database have no static type
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

PAGE = 1000  # rows read or written at a time
_STEP_BYTES = 4


def portions(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Values in lists of at most `size`, read lazily."""
    rest = iter(values)
    while portion := list(islice(rest, size)):
        yield portion


def iter_pages(read: Callable[[int, int], Sequence[T]], row_of: Callable[[T], int]) -> Iterator[T]:
    """All values of `read(last row, limit)`, page by page. No lock is held between pages."""
    last = 0
    while True:
        page = read(last, PAGE)
        yield from page
        if len(page) < PAGE:
            return
        last = row_of(page[-1])


class ThreadState(threading.local):
    """What a database knows of one thread."""

    drawn: int | None = None  # the generation after its transaction

    def begin(self) -> None:
        self.drawn = None


class Database(ABC):
    """One database: reads, writes inside a transaction, and facts by name."""

    row: ClassVar[str]  # the number of a chunk
    searchable: ClassVar[str]  # `FROM … WHERE …` of searchable chunks, before `AND …`
    folded_name: ClassVar[str]  # `text.fold_name` of a chunk's name
    like: ClassVar[str]  # the operator that ignores case
    _local: ThreadState

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]: ...

    @abstractmethod
    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]: ...

    @abstractmethod
    def rows_in(self, sql: str, values: Iterable[object]) -> Iterator[Row]:
        """The rows of a query with one `IN ?`, for any number of values, in batches."""

    @abstractmethod
    def execute(self, sql: str, values: Parameters = ()) -> int:
        """Run one statement inside a transaction; returns the rows changed."""

    def write(self, sql: str, values: Parameters = ()) -> int:
        """Like `execute`, for a change of searchable data."""
        count = self.execute(sql, values)
        if count:
            self.draw_generation()
        return count

    @abstractmethod
    def generation(self) -> int: ...

    def draw_generation(self) -> int:
        """The generation after this transaction: a random step above the last.

        In two copies of a memory that change independently, the same generation must not name
        different chunks.
        """
        if self._local.drawn is None:
            step = int.from_bytes(os.urandom(_STEP_BYTES))
            self._local.drawn = self.generation() + 1 + step
        return self._local.drawn

    @abstractmethod
    def facts(self, names: Sequence[str]) -> dict[str, str]: ...

    @abstractmethod
    def set_fact(self, name: str, value: str) -> None: ...

    @abstractmethod
    def remove_facts(self, names: Iterable[str]) -> None: ...


D = TypeVar("D", bound=Database)


class Part(Generic[D]):
    """A part of a store, in one database."""

    def __init__(self, database: D) -> None:
        self._database = database
