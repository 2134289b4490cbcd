"""A memory that can be written out whole, and take another one in."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from aurora.engine.opened import OpenedMemory

if TYPE_CHECKING:
    from aurora.indexing.export_lines import Counts
    from aurora.indexing.transfer import Imported, Writer


class TransferableMemory(OpenedMemory):
    """The part of `Memory` that is about going from one place to another."""

    def export(self, stream: Writer) -> Counts:
        """Write everything the memory holds as lines of JSON (docs/reference/export.md).

        It is the memory of one moment, whatever is written to it meanwhile.
        """
        from aurora.indexing.transfer import export_memory  # noqa: PLC0415 - rarely needed

        return export_memory(self._store, stream, listen=self._listen)

    def import_(self, stream: BinaryIO, *, vectors: bool = True) -> Imported:
        """Take in an export, all of it or nothing; the memory is made if there is none.

        A chunk whose id is known is replaced, and nothing is taken away. Vectors of another
        embedder than the memory's are refused, unless they are left out.
        """
        from aurora.indexing.transfer import Export, import_memory  # noqa: PLC0415

        export = Export(stream)  # what is no export makes no memory
        self._make()
        return import_memory(self._store, export, vectors=vectors, listen=self._listen)
