"""Exports a memory as lines of JSON, imports an export, and copies a memory into another store.

An export and a copy read a snapshot. An import happens whole or not at all; a copy is written page
by page, and continues after a disconnect. Both merge with what the target holds and remove nothing:
a chunk that both have becomes that of the source, and accesses are united. A file whose chunks may
be mixed afterwards is read again by the next index run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import BinaryIO, Protocol, TypeVar

from aurora.errors import EmbedderMismatchError, StoreUnreachableError, TransferError
from aurora.indexing.export_format import ExportCounts, Header, Unfit, decode, decode_header, encode
from aurora.indexing.turns import retry_on_disconnect, write_turn
from aurora.redaction import Redactor
from aurora.stores.base import (
    SESSION_NOTES,
    TRANSCRIPT_NOTES,
    Embedder,
    FileState,
    Record,
    RecordCounts,
    Store,
)
from aurora.types import Listener, Note, Progress, ignore_events

T = TypeVar("T")

_PAGE = 500  # records, or states of files, written together
_LONGEST = 64 * 1024 * 1024  # bytes of a line: a file without line ends is not an export
_GROWTH = 4  # times as many chunks, until statistics are renewed
_UNCHANGED = "nothing was imported; mend the line, or export again"


class Writer(Protocol):
    """The target of an export: a file, a pipe or a buffer."""

    def write(self, line: bytes, /) -> object: ...


def export_memory(
    store: Store, stream: Writer, *, listen: Listener = ignore_events
) -> ExportCounts:
    """Write all that a memory holds, line by line; the counts of the last line."""
    with store.snapshot() as snapshot:
        states = _states_of(snapshot)
        chunks = sum(snapshot.chunks.count_namespaces().values())
        header = Header(
            len(states), chunks, snapshot.vectors.embedder(), snapshot.chunks.indexed_at()
        )
        stream.write(encode(header))
        for path in sorted(states):
            stream.write(encode(states[path]))
        counts = ExportCounts(len(states))
        for record in snapshot.maintenance.iter_records():
            stream.write(_encode_record(record, listen))
            counts = _counted(counts, record)
            listen(Progress("Exporting", counts.chunks, chunks))
        stream.write(encode(counts))
    return counts


def _states_of(store: Store) -> dict[str, FileState]:
    """The states of files, and what is known of sessions, without offsets in transcripts."""
    notes = store.chunks.states_from(SESSION_NOTES)
    kept = {name: notes[name] for name in notes if not name.startswith(TRANSCRIPT_NOTES)}
    return {**store.chunks.file_states(), **kept}


def _encode_record(record: Record, listen: Listener) -> bytes:
    try:
        return encode(record)
    except ValueError:  # a number that JSON does not have
        chunk = record.chunk
        listen(Note(f"Numbers in the metadata of {chunk.id} are exported as null", warning=True))
        metadata = json.loads(json.dumps(dict(chunk.metadata)), parse_constant=lambda _: None)
        return encode(replace(record, chunk=replace(chunk, metadata=metadata)))


def _counted(counts: ExportCounts, item: FileState | Record) -> ExportCounts:
    if isinstance(item, FileState):
        return replace(counts, files=counts.files + 1)
    return ExportCounts(
        counts.files,
        counts.chunks + 1,
        counts.accesses + len(item.accesses),
        counts.vectors + (item.vector is not None),
    )


class Export:
    """An export that is read line by line. Creating one reads the first line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        try:
            self.header = decode_header(stream.readline(_LONGEST))
        except Unfit as exc:
            raise TransferError(
                f"This is not an export: {exc}",
                hint="name a file that `aur mem export` wrote; one of a newer Aurora needs that "
                "Aurora",
            ) from exc

    def __iter__(self) -> Iterator[FileState | Record]:
        """Files and chunks, up to the last line, whose counts must be theirs."""
        counts = ExportCounts()
        number = 1
        while line := self._stream.readline(_LONGEST):
            number += 1
            try:
                item = decode(line, self.header.embedder)
            except Unfit as exc:
                is_cut_off = not line.endswith(b"\n") and len(line) < _LONGEST
                if is_cut_off:
                    break
                raise TransferError(f"Line {number}: {exc}", hint=_UNCHANGED) from exc
            if isinstance(item, ExportCounts):
                self._require_end(counts, item, number)
                return
            counts = _counted(counts, item)
            yield item
        raise TransferError(
            f"The export ends with line {number}: it was cut off",
            hint="nothing was imported; export again",
        )

    def _require_end(self, counts: ExportCounts, last: ExportCounts, number: int) -> None:
        first = replace(counts, files=self.header.files, chunks=self.header.chunks)
        for other, where in ((first, "first"), (last, "last")):
            if counts != other:
                raise TransferError(
                    f"Line {number}: there were {_words(counts)}; "
                    f"the {where} line tells of {_words(other)}",
                    hint="nothing was imported; lines were lost or added: export again",
                )
        if self._stream.read(1):
            raise TransferError(f"Line {number + 1}: there is more after the end", hint=_UNCHANGED)


def _words(counts: ExportCounts) -> str:
    return ", ".join(f"{number} {name}" for name, number in asdict(counts).items())


@dataclass(frozen=True, slots=True)
class Imported:
    """The counts of an import. `new` are the chunks whose ids the memory did not have."""

    files: int
    chunks: int
    new: int


def import_memory(
    store: Store,
    export: Export,
    *,
    redactor: Redactor | None = None,
    vectors: bool = True,
    listen: Listener = ignore_events,
) -> Imported:
    """Import all of an export, or nothing. Waits for a running index run."""
    redactor = redactor or Redactor()
    embedder = export.header.embedder if vectors else None
    imported = Imported(0, 0, 0)
    with write_turn(store, listen=listen), store.transaction():
        _require_embedder(store, embedder, doing="imports")
        for page in _pages(export):
            files = [item for item in page if isinstance(item, FileState)]
            records = [_redacted(item, redactor) for item in page if isinstance(item, Record)]
            _merge_files(store, files)
            new = imported.new + _put_records(store, records, embedder)
            imported = Imported(imported.files + len(files), imported.chunks + len(records), new)
            listen(Progress("Importing", imported.chunks, export.header.chunks))
        _put_indexed_at(store, export.header.indexed_at)
    return imported


def _redacted(record: Record, redactor: Redactor) -> Record:
    """The record without secrets. A vector of the original text is dropped."""
    chunk = record.chunk
    safe = replace(
        chunk,
        name=redactor.text(chunk.name),
        qualified_name=redactor.text(chunk.qualified_name),
        content=redactor.text(chunk.content),
        metadata=redactor.mapping(chunk.metadata),
    )
    return record if safe == chunk else replace(record, chunk=safe, vector=None)


@dataclass(frozen=True, slots=True)
class Copied:
    """The counts of a copy: of the source, and of the target afterwards."""

    files: int
    new: int  # chunks whose ids the target did not have
    source: RecordCounts
    target: RecordCounts

    @property
    def is_merged(self) -> bool:
        """Whether the target holds more than was copied into it."""
        return self.target != self.source


def copy_memory(
    source: Store, target: Store, *, vectors: bool = True, listen: Listener = ignore_events
) -> Copied:
    """Copy a memory into another. Raises `EmbedderMismatchError` if two models would mix."""
    with source.snapshot() as snapshot, write_turn(target, listen=listen):
        embedder = snapshot.vectors.embedder() if vectors else None
        _require_embedder(target, embedder, doing="copies")
        counts, before = snapshot.maintenance.count_records(), target.maintenance.count_records()
        new = done = next_look = 0
        # A page is written again after a disconnect; what arrived is not written twice.
        for page in _pages(snapshot.maintenance.iter_records()):
            if done >= next_look:
                _renew_statistics(target)
                next_look = done * _GROWTH
            new += retry_on_disconnect(partial(_put_records, target, page, embedder), listen=listen)
            done += len(page)
            listen(Progress("Copying", done, counts.chunks))
        # States of files after all chunks: an index run skips a file with a known state.
        states = _states_of(snapshot)
        for files in _pages(states[path] for path in sorted(states)):
            retry_on_disconnect(partial(_merge_files, target, files), listen=listen)
        _put_indexed_at(target, snapshot.chunks.indexed_at())
    copied = Copied(len(states), new, counts, target.maintenance.count_records())
    _require_all(copied, before, vectors=vectors)
    return copied


def _pages(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while page := list(islice(rest, _PAGE)):
        yield page


def _renew_statistics(store: Store) -> None:
    """Without statistics, a database would read all of its rows for each page."""
    if store.ranking is not None:
        with suppress(StoreUnreachableError):  # the next page retries
            store.ranking.renew_statistics()


def _put_records(store: Store, records: Sequence[Record], embedder: Embedder | None) -> int:
    """Store records; the number of new chunks. A file that loses a chunk id is read again."""
    with store.transaction():
        paths = {record.chunk.id: record.chunk.path for record in records}
        stored = store.chunks.get_chunks(list(paths))
        if robbed := {chunk.path for chunk in stored if chunk.path != paths[chunk.id]}:
            states = store.chunks.file_states(robbed).values()
            store.chunks.put_file_states(map(_to_be_read, states))
        return store.maintenance.put_records(records, embedder=embedder)


def _require_all(copied: Copied, before: RecordCounts, *, vectors: bool) -> None:
    """Raise if the target holds less than was sent, or less than before plus the new chunks."""
    wanted = copied.source if vectors else copied.source._replace(vectors=0)
    too_few = [
        f"{count:,} {name} of {sent:,}"
        for name, sent, count in zip(RecordCounts._fields, wanted, copied.target, strict=True)
        if count < sent
    ]
    if copied.target.chunks < (expected := before.chunks + copied.new):
        too_few.append(f"{copied.target.chunks:,} chunks of {expected:,}")
    if too_few:
        raise TransferError(
            f"The copy is not whole: it holds {', '.join(too_few)}",
            hint="another process may have removed chunks meanwhile; copy again: it continues",
        )


def _require_embedder(store: Store, other: Embedder | None, *, doing: str) -> None:
    """Refuse vectors of another embedder. The hint says what --no-vectors is `doing`."""
    owner = store.vectors.embedder()
    if owner is None or other is None:
        return
    try:
        owner.require(other)
    except EmbedderMismatchError as exc:
        hint = f"--no-vectors {doing} all but the vectors; `aur mem index` makes new ones"
        raise EmbedderMismatchError(exc.message, hint=hint) from exc


def _merge_files(store: Store, files: Sequence[FileState]) -> None:
    """Store states of files. A file with other content than stored now has chunks of both."""

    def merged(state: FileState, stored: FileState) -> FileState:
        if state.digest == stored.digest:
            return state
        if state.path.startswith(SESSION_NOTES):
            return max(state, stored, key=lambda note: (note.modified_ns, note.size))
        return replace(_to_be_read(state), left_out=state.left_out if stored.left_out else "")

    with store.transaction():
        stored = store.chunks.file_states([state.path for state in files])
        states = [merged(state, stored.get(state.path, state)) for state in files]
        store.chunks.add_files([state for state in states if stored.get(state.path) != state])


def _to_be_read(state: FileState) -> FileState:
    """The state with a digest that no content has, so that the next index run reads the file."""
    return replace(state, digest="", history_stamp="")


def _put_indexed_at(store: Store, other: datetime | None) -> None:
    """Store the later time of both memories' last index runs."""
    own = store.chunks.indexed_at()
    if other is not None and (own is None or other > own):
        store.chunks.put_indexed_at(other)
