"""What the parts of both stores are made of: pages of rows, and a database with generations."""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from aurora.stores.base import Checkout, KnownCheckout

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]  # the rows of a database have no static type
Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

PAGE = 1000  # rows read or written at a time
CHECKOUTS = "checkouts"  # the fact that lists them
UNKNOWN = -1  # the number of a checkout that was never indexed
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
    metadata_text: ClassVar[str]  # the column as JSON text
    _local: ThreadState
    used_checkout: Checkout | None = None  # None: the first one of a file
    _number: int = UNKNOWN  # of the used checkout

    def use_checkout(self, checkout: Checkout | None) -> None:
        self.used_checkout, self._number = checkout, UNKNOWN

    @property
    def checkout(self) -> int:
        """The number of the checkout whose files are read and written."""
        if self.used_checkout is None:
            return 0
        if self._number == UNKNOWN:
            known, key = self.list_checkouts(), self.used_checkout.key
            self._number = next(
                (each.number for each in known if each.checkout.key == key), UNKNOWN
            )
        return self._number

    def list_checkouts(self) -> list[KnownCheckout]:
        """The next index run of each makes a list again that Aurora has not written."""
        try:
            return [
                KnownCheckout(
                    int(entry["number"]),
                    Checkout(str(entry["key"]), str(entry["name"]), str(entry["root"])),
                    datetime.fromisoformat(entry["indexed_at"]),
                )
                for entry in json.loads(self.facts([CHECKOUTS]).get(CHECKOUTS, "[]"))
            ]
        except (ValueError, TypeError, LookupError):
            return []

    def put_checkouts(self, known: Iterable[KnownCheckout]) -> None:
        entries = [
            {
                **each.checkout._asdict(),
                "number": each.number,
                "indexed_at": each.indexed_at.isoformat(),
            }
            for each in sorted(known)
        ]
        self.set_fact(CHECKOUTS, json.dumps(entries))

    def note_checkout(self, at: datetime) -> int:
        """List the used checkout, inside a transaction; its number."""
        own = self.used_checkout
        if own is None:
            return 0
        self.use_checkout(own)  # another process may have removed it
        known, number = self.list_checkouts(), self.checkout
        if number == UNKNOWN:
            number = 1 + max((each.number for each in known), default=0)
            self.draw_generation()  # other rows are hidden now
        if not known and not own.root:  # older versions did not say whose files these are
            self.execute("UPDATE files SET checkout = ? WHERE checkout = 0", (number,))
        others = [each for each in known if each.number != number]
        self.put_checkouts([*others, KnownCheckout(number, own, at)])
        self._number = number
        return number

    def own_checkout(self) -> int:
        """The number of the checkout for which a file is written, inside a transaction."""
        is_new = self.checkout == UNKNOWN
        return self.note_checkout(datetime.now(UTC)) if is_new else self.checkout

    def other_checkouts(self) -> Set[int]:
        """The numbers of the other checkouts. Only a file has a first one without a name."""
        own = self.used_checkout
        numbers = {each.number for each in self.list_checkouts()}
        return (numbers | {0} if own is None or own.root else numbers) - {self.checkout}

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
