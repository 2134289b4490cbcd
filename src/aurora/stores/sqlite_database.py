"""One SQLite file as the parts of the store use it: transactions, moments, facts, generation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Self, TypeAlias

from aurora.stores.base import SEARCHABLE_SUCCESS
from aurora.stores.sqlite_checksums import checksum, damaged
from aurora.stores.sqlite_connection import require_known, translated
from aurora.stores.sqlite_file import SQLiteFile
from aurora.stores.sqlite_rows import fact_from
from aurora.stores.sqlite_schema import is_damaged

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]

# What is damaged may be found, too, and is refused when it is: hidden, nobody would hear of it.
MAY_BE_FOUND = f"""(
    reasoning.success_score IS NULL OR reasoning.success_score >= {SEARCHABLE_SUCCESS}
    OR {is_damaged("reasoning")})"""
# Follows a list of columns; what comes after it is `AND …`.
SEARCHABLE = f"""
    FROM chunks LEFT JOIN reasoning ON reasoning.chunk = chunks.rowid
    WHERE {MAY_BE_FOUND}"""

# A generation lies a random step above the last: a copy of a memory that goes its own way must not
# come to one that the original had with other chunks, or an index of those would pass for its own.
_STEP_BYTES = 4
_GENERATION = """
    SELECT facts.*, (SELECT user_version FROM pragma_user_version) FROM facts
    WHERE name = 'generation'"""


class SQLiteDatabase(SQLiteFile):
    """One file and what it knows of itself."""

    @cached_property
    def identity(self) -> str:
        identity = self._fact("identity")
        if identity is None:
            raise damaged(str(self.path), "it has lost its identity")
        # An index of what is shown now is not one of all rows.
        return f"{identity}-{self.waiting}" if self.waiting else identity

    def _be_mended(self) -> None:
        super()._be_mended()
        self.__dict__.pop("identity", None)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._connection.in_transaction:
            with translated(self.path):
                yield
            return
        self._require_whole()
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with super()._writing():
            self._require_known()
            self._local.drawn = None
            yield
            if self._local.drawn is not None:
                self._set_fact("generation", str(self._local.drawn))

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """On a connection of its own: this thread may go on writing beside it."""
        if self._find_damage():
            yield self._rescued()[0]
            return
        still = type(self)(self.path, waiting=self.waiting)
        try:
            with translated(self.path):
                still._connection.execute("PRAGMA query_only = ON")
                still._connection.execute("BEGIN")
            still._local.drawn = None
            still.generation()  # the moment is that of the first reading
            yield still
        finally:
            still.close()

    def _row_numbers(self, which: str, values: Sequence[object] = ()) -> set[int]:
        """The numbers of the chunks that may be found and fit `which`, an `AND …`.

        As one text: SQLite hands over fifty thousand single rows in twice the time.
        """
        numbers = self._rows(f"SELECT group_concat(chunks.rowid) {SEARCHABLE} {which}", values)
        return set(map(int, numbers[0][0].split(","))) if numbers[0][0] else set()

    def _write(self, sql: str, values: Parameters = ()) -> int:
        """Run one change of what can be found, inside a transaction; returns the rows changed."""
        count = self._connection.execute(sql, values).rowcount
        if count:
            self._draw_generation()
        return count

    def _drop_vectors(self, which: str, value: object) -> None:
        """Vectors of the chunks that fit `which`: what they were made of has changed."""
        for table in ("embeddings", "next_embeddings"):
            chunks = f"SELECT rowid FROM chunks WHERE {which}"
            self._write(f"DELETE FROM {table} WHERE chunk IN ({chunks})", (value,))

    def _draw_generation(self) -> int:
        """What the generation will be when this transaction has made its changes."""
        if self._local.drawn is None:
            step = int.from_bytes(os.urandom(_STEP_BYTES))
            self._local.drawn = self.generation() + 1 + step
        drawn: int = self._local.drawn
        return drawn

    def _fact(self, name: str) -> str | None:
        for row in self._rows("SELECT * FROM facts WHERE name = ?", (name,)):
            return fact_from(row)[1]
        return self._facts([name]).get(name)

    def _facts(self, names: Sequence[str]) -> dict[str, str]:
        """By reading all: one whose name is damaged must not pass for one that is missing."""
        facts = dict(map(fact_from, self._rows("SELECT * FROM facts")))
        return {name: facts[name] for name in names if name in facts}

    def _set_fact(self, name: str, value: str) -> None:
        # Writing what is there already would be a write all the same.
        self._connection.execute(
            "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value, checksum = excluded.checksum "
            "WHERE value IS NOT excluded.value",
            (name, value, checksum(name, value)),
        )

    def _forget_facts(self, names: Iterable[str]) -> None:
        for name in names:
            self._connection.execute("DELETE FROM facts WHERE name = ?", (name,))

    def _require_known(self) -> None:
        """A server runs on while its users upgrade."""
        require_known(int(self._connection.execute("PRAGMA user_version").fetchone()[0]), self.path)

    def generation(self) -> int:
        for *fact, version in self._rows(_GENERATION):
            require_known(version, self.path)
            try:
                return int(fact_from(tuple(fact))[1])
            except ValueError as exc:
                raise damaged(str(self.path), exc) from exc
        with translated(self.path):
            self._require_known()
        self._facts([])  # a damaged one must not pass for none
        return 0
