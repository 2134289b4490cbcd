"""A memory that can be written out whole, and take another one in.

One memory into another, each wherever it is kept.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, BinaryIO

from aurora.engine.embedding_state import EmbeddingMemory
from aurora.engine.location import (
    PostgresLocation,
    SqliteLocation,
    StoreLocation,
    require_driver,
    shown_name,
)
from aurora.errors import NoMemoryError, TransferError
from aurora.indexing.transfer import Copied, copy_memory
from aurora.stores.base import Store
from aurora.types import Listener, Note, ignore_events

if TYPE_CHECKING:
    from aurora.indexing.export_format import Counts
    from aurora.indexing.transfer import Imported, TakenIn, Writer


_OTHER_VECTORS = (
    "Its vectors ({}) are not taken: nobody knows which model made them, and long documents are "
    "cut into pieces here. New ones are made"
)


class TransferableMemory(EmbeddingMemory):
    """The part of `Memory` that is about going from one place to another."""

    def export(self, stream: Writer) -> Counts:
        """Write everything the memory holds as lines of JSON (docs/reference/export.md).

        It is the memory of one moment, whatever is written to it meanwhile. All of it is checked
        first: of a damaged one, everything that can be read is exported.
        """
        from aurora.indexing.transfer import export_memory  # noqa: PLC0415 - rarely needed

        self._tell_damage(look=True)
        return export_memory(self._store, stream, listen=self._listen)

    def import_(self, stream: BinaryIO, *, vectors: bool = True) -> Imported:
        """Take in an export, all of it or nothing; the memory is made if there is none.

        A chunk whose id is known is replaced, and nothing is taken away. Vectors of another
        embedder than the memory's are refused, unless they are left out.
        """
        from aurora.indexing.transfer import Export, import_memory  # noqa: PLC0415

        export = Export(stream)  # what is no export makes no memory
        self._make()
        with self._redacting() as redactor:
            return import_memory(
                self._store, export, redactor=redactor, vectors=vectors, listen=self._listen
            )

    def import_aurorakb(self, url: str, *, table: str, prefix: str = "") -> TakenIn:
        """Take in the documents of an AuroraKB (seed 004), and make vectors of what is new.

        Nothing is written there. What was taken in before is compared, not written again.
        """
        require_driver()
        from aurora.indexing.transfer import take_in  # noqa: PLC0415 - rarely needed
        from aurora.indexing.turns import write_turn  # noqa: PLC0415
        from aurora.stores.postgres.aurorakb import open_aurorakb  # noqa: PLC0415 - an extra

        with open_aurorakb(url, table) as source:
            total = source.count()
            self._make()
            with write_turn(self._store, listen=self._listen), self._redacting() as redactor:
                taken = take_in(
                    self._store,
                    source.pages(),
                    redactor=redactor,
                    total=total,
                    key_space=source.key_space,
                    prefix=prefix,
                    now=self._now(),
                    listen=self._listen,
                )
                if source.vector_type:
                    self._listen(Note(_OTHER_VECTORS.format(source.vector_type)))
                self._embed_all()
        if missed := total - taken.documents - taken.left_out:
            self._tell(f"{missed} rows have no id, or one that another has, and were left out")
        return taken


def copy_between(
    source: StoreLocation,
    target: StoreLocation,
    *,
    vectors: bool = True,
    listen: Listener = ignore_events,
) -> Copied:
    """Copy all that one place holds into the other; a memory is made there if there is none."""
    _require_two(source, target)
    if source.stamp() is None:
        raise NoMemoryError(
            f"There is no memory at {shown_name(source.name)}",
            hint="name the database file, such as .aurora/memory.db",
        )
    with ExitStack() as opened:
        giving = opened.enter_context(closing(source.open(listen)))
        if damage := giving.maintenance.damage(look=True):
            listen(Note(damage, warning=True))
        target.make()
        taking = opened.enter_context(closing(target.open()))
        if isinstance(source, PostgresLocation) and giving.identity == taking.identity:
            raise _same(shown_name(source.name))
        copied = copy_memory(giving, taking, vectors=vectors, listen=listen)
        _prepare(taking)
    return copied


def _prepare(store: Store) -> None:
    """What a file's searches go by is made by the next one of them."""
    if store.ranking is not None:
        store.ranking.prepare_search()


def _require_two(source: StoreLocation, target: StoreLocation) -> None:
    if source == target:
        raise _same(shown_name(source.name))
    if isinstance(source, SqliteLocation) and isinstance(target, SqliteLocation):
        stamp = source.stamp()
        if stamp is not None and stamp == target.stamp():
            raise _same(shown_name(source.name))


def _same(name: str) -> TransferError:
    return TransferError(
        f"Both places are the same memory: {name}",
        hint="name another one by --from or --to: a file, or postgresql://…#SCHEMA",
    )
