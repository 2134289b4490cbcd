"""Checkouts that share a memory: worktrees of one repository, or the people of a team.

Each checkout has rows of its own in `files`. Equal files share their chunks. Where two checkouts
have different versions of a file, each version is a variant: its chunks have its name in their
metadata. The first version has none, so a memory of one checkout knows nothing of this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.files import digest_of
from aurora.lazy_patterns import lazy_pattern
from aurora.stores.base import Checkout, Checkouts, FileState, KnownCheckout
from aurora.stores.shared import UNKNOWN, D, Part
from aurora.types import Chunk

if TYPE_CHECKING:
    from aurora.stores.parts import ChunkPart

_FIRST = "main checkout"
_COPY = lazy_pattern(r"#\d+\Z")  # the number of an id that another file or variant has, too


class CheckoutPart(Part[D], Checkouts):
    """`Checkouts` in both databases."""

    def __init__(self, database: D, chunks: ChunkPart[D]) -> None:
        super().__init__(database)
        self._chunks = chunks
        self._hidden: tuple[int, int, Set[int]] | None = None  # with generation and checkout

    def use(self, checkout: Checkout | None) -> None:
        self._database.use_checkout(checkout)

    def known(self) -> list[KnownCheckout]:
        return self._database.list_checkouts()

    @property
    def is_known(self) -> bool:
        return self._database.checkout != UNKNOWN

    def enter(self, at: datetime, gone: Collection[str] = ()) -> None:
        with self._database.transaction():
            for number, checkout, _ in self.known():
                if checkout.key in gone or (checkout.root and not _exists(checkout)):
                    self.forget(number)
            self._database.note_checkout(at)

    def forget(self, number: int) -> int:
        with self._database.transaction():
            rows = self._database.rows("SELECT path FROM files WHERE checkout = ?", (number,))
            self._database.put_checkouts(each for each in self.known() if each.number != number)
            self._database.draw_generation()
            return self._chunks.release([path for (path,) in rows], [number])

    def elsewhere(self) -> Mapping[str, Sequence[FileState]]:
        return self._chunks.states_elsewhere()

    def adopt(self, states: Iterable[FileState]) -> None:
        adopted = list(states)
        if adopted:
            with self._database.transaction():
                self._chunks.add_files(adopted)
                self._chunks.drop_unheld([state.path for state in adopted])
                self._database.draw_generation()

    def hidden_rows(self) -> Set[int]:
        database = self._database
        if not database.other_checkouts():
            return frozenset()
        generation, checkout = database.generation(), database.checkout
        if self._hidden is None or self._hidden[:2] != (generation, checkout):
            self._hidden = (generation, checkout, self._find_hidden(checkout))
        return self._hidden[2]

    def _find_hidden(self, checkout: int) -> Set[int]:
        database = self._database
        if checkout == UNKNOWN:  # any version will do, but only one
            rows = database.rows(
                "SELECT path, min(variant) FROM files GROUP BY path "
                "HAVING count(DISTINCT variant) > 1"
            )
        else:
            rows = database.rows(
                "SELECT DISTINCT own.path, own.variant FROM files AS own JOIN files AS other "
                "ON other.path = own.path AND other.variant <> own.variant WHERE own.checkout = ?",
                (checkout,),
            )
        shown: dict[str, str] = dict(rows)
        variants = self._chunks.variants(shown)
        return {row for row, _, path, variant in variants if variant != shown[path]}

    def own_versions(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        if not self._database.other_checkouts():
            return [*chunks]
        states = self._chunks.file_states({chunk.path for chunk in chunks})
        ids = {chunk.id: chunk.id for chunk in chunks}
        for chunk in chunks:
            own = states.get(chunk.path)
            if own is not None and own.variant != chunk.variant:
                rows = self._chunks.variants([chunk.path])
                mine = [id_ for _, id_, _, variant in rows if variant == own.variant]
                ids |= same_definitions([chunk.id], mine)
        return self._chunks.get_chunks([*dict.fromkeys(ids.values())])

    def owners(self, paths: Collection[str]) -> Mapping[str, str]:
        database = self._database
        if not database.other_checkouts():
            return {}
        names = {0: _FIRST} | {each.number: each.checkout.name for each in self.known()}
        sql = "SELECT path, checkout FROM files WHERE path IN ?"
        holders: defaultdict[str, list[int]] = defaultdict(list)
        for path, number in database.rows_in(sql, paths):
            holders[path].append(number)
        own = database.checkout
        return {
            path: names.get(min(numbers), "another checkout")
            for path, numbers in holders.items()
            if own not in numbers
        }


def variant_of(state: FileState) -> str:
    """A name for the version of a file that this state describes."""
    return digest_of(state.digest.encode())[:8]


def same_definitions(old: Iterable[str], new: Iterable[str]) -> dict[str, str]:
    """New ids by old ones, where both name the same definition of a file."""
    by_name = {_COPY.sub("", id_): id_ for id_ in new}
    pairs = ((id_, by_name.get(_COPY.sub("", id_))) for id_ in old)
    return {old_id: new_id for old_id, new_id in pairs if new_id and new_id != old_id}


def missing_uses(
    pairs: Mapping[str, str], uses: Mapping[str, Sequence[datetime]]
) -> list[tuple[str, datetime]]:
    """The uses of old ids that the new ones lack. Two uses at one moment are two."""
    return [
        (new, at)
        for old, new in pairs.items()
        for at in (Counter(uses.get(old, ())) - Counter(uses.get(new, ()))).elements()
    ]


def _exists(checkout: Checkout) -> bool:
    with suppress(OSError, ValueError):
        return Path(checkout.root).is_dir()
    return True  # in a folder that may not be read
