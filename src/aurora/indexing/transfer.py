"""A whole memory into a stream of lines, and back into a memory.

Going out, it is the memory of one moment. Going in, everything is taken or nothing; it is merged
with what is there, and takes nothing away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import BinaryIO, Protocol

from aurora.errors import TransferError
from aurora.indexing.export_lines import (
    Counts,
    Header,
    decode,
    decode_header,
    encode,
    encode_header,
)
from aurora.indexing.fields import Unfit
from aurora.indexing.merging import (
    mark_robbed,
    merge_files,
    put_indexed_at,
    require_embedder,
)
from aurora.indexing.turns import take_turn
from aurora.redaction import Redactor
from aurora.stores.base import FileState, Record, Store
from aurora.types import Listener, Note, Progress, ignore_events

_PAGE = 500  # lines taken in at a time
_LONGEST = 64 * 1024 * 1024  # bytes of a line: what has no line ends is no export
_UNCHANGED = "nothing was imported; mend the line, or export again"


class Writer(Protocol):
    """What an export can be written to: a file, a pipe, a buffer."""

    def write(self, line: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in. `new` are the chunks whose ids the memory did not have."""

    files: int
    chunks: int
    new: int


def export_memory(store: Store, stream: Writer, *, listen: Listener = ignore_events) -> Counts:
    """Write all that a memory holds, line by line; tells how much that was."""
    with store.snapshot() as still:
        states = still.file_states()
        chunks = sum(still.count_namespaces().values())
        header = Header(len(states), chunks, still.embedder(), still.indexed_at())
        stream.write(encode_header(header))
        for path in sorted(states):
            stream.write(encode(states[path]))
        counts = Counts(len(states))
        for record in still.iter_records():
            stream.write(_encoded(record, listen))
            counts = _counted(counts, record)
            listen(Progress("Exporting", counts.chunks, chunks))
        stream.write(encode(counts))
    return counts


def _encoded(record: Record, listen: Listener) -> bytes:
    try:
        return encode(record)
    except ValueError:  # a number that JSON does not have
        chunk = record.chunk
        listen(Note(f"Numbers in the metadata of {chunk.id} are exported as null", warning=True))
        metadata = json.loads(json.dumps(dict(chunk.metadata)), parse_constant=lambda _: None)
        return encode(replace(record, chunk=replace(chunk, metadata=metadata)))


def _counted(counts: Counts, item: FileState | Record) -> Counts:
    if isinstance(item, FileState):
        return replace(counts, files=counts.files + 1)
    return Counts(
        counts.files,
        counts.chunks + 1,
        counts.accesses + len(item.accesses),
        counts.vectors + (item.vector is not None),
    )


class Export:
    """An export that is read, line by line. Making one reads the first line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        try:
            self.header = decode_header(stream.readline(_LONGEST))
        except Unfit as exc:
            hint = (
                "name a file that `aur mem export` wrote; one of a newer Aurora needs that Aurora"
            )
            raise TransferError(f"This is no export: {exc}", hint=hint) from exc

    def __iter__(self) -> Iterator[FileState | Record]:
        """Files and chunks up to the last line, which must say that these were all."""
        counts = Counts()
        number = 1
        while line := self._stream.readline(_LONGEST):
            number += 1
            try:
                item = decode(line, self.header.embedder)
            except Unfit as exc:
                if _is_cut_off(line):
                    break
                raise TransferError(f"Line {number}: {exc}", hint=_UNCHANGED) from exc
            if isinstance(item, Counts):
                self._require_end(counts, item, number)
                return
            counts = _counted(counts, item)
            yield item
        raise TransferError(
            f"The export ends with line {number}: it was cut off",
            hint="nothing was imported; export again",
        )

    def _require_end(self, counts: Counts, told: Counts, number: int) -> None:
        announced = replace(counts, files=self.header.files, chunks=self.header.chunks)
        for other, where in ((announced, "first"), (told, "last")):
            if counts != other:
                raise TransferError(
                    f"Line {number}: there were {_words(counts)}; "
                    f"the {where} line tells of {_words(other)}",
                    hint="nothing was imported; lines were lost or added: export again",
                )
        if self._stream.read(1):
            raise TransferError(f"Line {number + 1}: there is more after the end", hint=_UNCHANGED)


def _is_cut_off(line: bytes) -> bool:
    return not line.endswith(b"\n") and len(line) < _LONGEST


def _words(counts: Counts) -> str:
    return ", ".join(f"{number} {name}" for name, number in asdict(counts).items())


def import_memory(
    store: Store,
    export: Export,
    *,
    redactor: Redactor | None = None,
    vectors: bool = True,
    listen: Listener = ignore_events,
) -> Imported:
    """Take in all of an export, or nothing. It waits for who indexes, as another index would."""
    redactor = redactor or Redactor()
    embedder = export.header.embedder if vectors else None
    imported = Imported(0, 0, 0)
    with take_turn(store, listen=listen), store.transaction():
        if vectors:
            require_embedder(store, export.header.embedder, doing="imports")
        items = iter(export)
        while some := list(islice(items, _PAGE)):
            files = [item for item in some if isinstance(item, FileState)]
            records = [_redacted(item, redactor) for item in some if isinstance(item, Record)]
            merge_files(store, files)
            mark_robbed(store, records)
            new = imported.new + store.put_records(records, embedder=embedder)
            imported = Imported(imported.files + len(files), imported.chunks + len(records), new)
            listen(Progress("Importing", imported.chunks, export.header.chunks))
        put_indexed_at(store, export.header.indexed_at)
    return imported


def _redacted(record: Record, redactor: Redactor) -> Record:
    """Whoever wrote it may not have looked for secrets. A vector of another text is none of it."""
    chunk = record.chunk
    metadata = redactor.mapping(chunk.metadata)
    safe = replace(
        chunk,
        name=redactor.text(chunk.name),
        qualified_name=redactor.text(chunk.qualified_name),
        content=redactor.text(chunk.content),
        metadata=metadata,
    )
    return record if safe == chunk else replace(record, chunk=safe, vector=None)
