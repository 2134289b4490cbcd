"""A whole memory into a stream of lines, and back into a memory.

Going out, it is the memory of one moment. Going in, everything is taken or nothing; it is merged
with what is there, and takes nothing away.

One memory taken into another that holds something already: what both have, and what differs.

What cannot be known to be right any more is read again by the next index.

One memory into another, whatever keeps them: in pages, each whole, so that it can go on.

It is the memory of one moment. What the other has already is compared, not written again: killed
and started anew, a copy comes to the same end. Vectors that a model to come has made so far stay.

Documents of another program's memory become ours: all that is known of them is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import BinaryIO, NamedTuple, Protocol, TypeVar

from aurora.errors import (
    AuroraError,
    EmbedderMismatchError,
    LabelError,
    StoreUnreachableError,
    TransferError,
)
from aurora.indexing.documents import (
    DOCUMENT,
    RESERVED,
    Labels,
    Outcome,
    cut_document,
    put_document,
)
from aurora.indexing.export_format import (
    Counts,
    Header,
    Unfit,
    decode,
    decode_header,
    encode,
    encode_header,
)
from aurora.indexing.turns import retry_on_disconnect, write_turn
from aurora.redaction import Redactor
from aurora.stores.base import Embedder, FileState, Record, RecordCounts, Store
from aurora.text import printable
from aurora.types import ForeignDocument, Json, Listener, Note, Progress, ignore_events


def require_embedder(store: Store, other: Embedder | None, *, doing: str) -> None:
    """Refuse vectors of another embedder; `doing` is what --no-vectors does without them."""
    owner = store.vectors.embedder()
    if owner is None or other is None:
        return
    try:
        owner.require(other)
    except EmbedderMismatchError as exc:
        hint = f"--no-vectors {doing} all but the vectors; `aur mem index` makes new ones"
        raise EmbedderMismatchError(exc.message, hint=hint) from exc


def merge_files(store: Store, files: Sequence[FileState]) -> None:
    """Of a file that both know with different content, the chunks of both are there now."""
    known = store.chunks.file_states([state.path for state in files])
    merged = (_merged(state, known.get(state.path, state)) for state in files)
    store.chunks.add_files([state for state in merged if known.get(state.path) != state])


def _merged(state: FileState, known: FileState) -> FileState:
    if state.digest == known.digest:
        return state
    left_out = state.left_out if known.left_out else ""
    return replace(_to_be_read(state), left_out=left_out)


def mark_robbed(store: Store, records: Sequence[Record]) -> None:
    """A file that loses a chunk, because another file's has its id, is read again."""
    paths = {record.chunk.id: record.chunk.path for record in records}
    robbed = {
        chunk.path
        for chunk in store.chunks.get_chunks(list(paths))
        if chunk.path != paths[chunk.id]
    }
    if robbed:
        store.chunks.put_file_states(map(_to_be_read, store.chunks.file_states(robbed).values()))


def _to_be_read(state: FileState) -> FileState:
    """No file has this content, so that the next index reads it, whatever it holds."""
    return replace(state, digest="", history_stamp="")


def put_indexed_at(store: Store, other: datetime | None) -> None:
    """When either of them was last indexed."""
    own = store.chunks.indexed_at()
    if other is not None and (own is None or other > own):
        store.chunks.put_indexed_at(other)


_IMPORT_PAGE = 500  # lines taken in at a time
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
        states = still.chunks.file_states()
        chunks = sum(still.chunks.count_namespaces().values())
        header = Header(len(states), chunks, still.vectors.embedder(), still.chunks.indexed_at())
        stream.write(encode_header(header))
        for path in sorted(states):
            stream.write(encode(states[path]))
        counts = Counts(len(states))
        for record in still.maintenance.iter_records():
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
    with write_turn(store, listen=listen), store.transaction():
        if vectors:
            require_embedder(store, export.header.embedder, doing="imports")
        items = iter(export)
        while some := list(islice(items, _IMPORT_PAGE)):
            files = [item for item in some if isinstance(item, FileState)]
            records = [_redacted(item, redactor) for item in some if isinstance(item, Record)]
            merge_files(store, files)
            mark_robbed(store, records)
            new = imported.new + store.maintenance.put_records(records, embedder=embedder)
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


T = TypeVar("T")

_PAGE = 500  # records, or states of files, in one transaction
_GROWTH = 4  # times as many chunks, until statistics are renewed


@dataclass(frozen=True, slots=True)
class Copied:
    """What there was to copy, and what the other memory holds now."""

    files: int
    new: int  # chunks whose ids the other memory did not have
    source: RecordCounts
    target: RecordCounts

    @property
    def is_merged(self) -> bool:
        """Whether the other memory holds more than was copied into it."""
        return self.target != self.source


class _Target(NamedTuple):
    store: Store
    embedder: Embedder | None
    listen: Listener

    def put(self, page: Sequence[Record]) -> int:
        with self.store.transaction():
            mark_robbed(self.store, page)
            return self.store.maintenance.put_records(page, embedder=self.embedder)

    def put_files(self, page: Sequence[FileState]) -> int:
        with self.store.transaction():
            merge_files(self.store, page)
        return len(page)

    def renew_statistics(self) -> None:
        """Or a database that does not know yet how much it holds would read all of it each time."""
        if self.store.ranking is not None:
            with suppress(StoreUnreachableError):  # the next page says so, and waits
                self.store.ranking.renew_statistics()

    def again(self, write: Callable[[Sequence[T]], int], page: Sequence[T]) -> int:
        """A page that did not arrive is sent again: one that did is not written twice."""
        return retry_on_disconnect(partial(write, page), listen=self.listen)


def copy_memory(
    source: Store, target: Store, *, vectors: bool = True, listen: Listener = ignore_events
) -> Copied:
    """Take all of one memory into another, which may hold something already.

    A chunk that both have becomes as it is in the source, accesses are united, and nothing is taken
    away. Raises `EmbedderMismatchError` where vectors of two models would mix.
    """
    with source.snapshot() as still, write_turn(target, listen=listen):
        if vectors:
            require_embedder(target, still.vectors.embedder(), doing="copies")
        into = _Target(target, still.vectors.embedder() if vectors else None, listen)
        counts, before = still.maintenance.count_records(), target.maintenance.count_records()
        new = _copy_records(still, into, counts.chunks)
        files = _copy_files(still, into)
        put_indexed_at(target, still.chunks.indexed_at())
    copied = Copied(files, new, counts, target.maintenance.count_records())
    _require_all(copied, before, vectors=vectors)
    return copied


def _copy_records(source: Store, into: _Target, total: int) -> int:
    done = new = next_look = 0
    records = source.maintenance.iter_records()
    while page := list(islice(records, _PAGE)):
        if done >= next_look:
            into.renew_statistics()
            next_look = done * _GROWTH
        new += into.again(into.put, page)
        done += len(page)
        into.listen(Progress("Copying", done, total))
    return new


def _copy_files(source: Store, into: _Target) -> int:
    """After all chunks: a file whose state is known is not read again by an index."""
    states = source.chunks.file_states()
    rest = iter([states[path] for path in sorted(states)])
    while page := list(islice(rest, _PAGE)):
        into.again(into.put_files, page)
    return len(states)


def _require_all(copied: Copied, before: RecordCounts, *, vectors: bool) -> None:
    """Counted on the other side: no fewer than were sent, nor than there were and came."""
    wanted = copied.source if vectors else copied.source._replace(vectors=0)
    too_few = [
        f"{there:,} {name} of {sent:,}"
        for name, sent, there in zip(RecordCounts._fields, wanted, copied.target, strict=True)
        if there < sent
    ]
    if copied.target.chunks < (expected := before.chunks + copied.new):
        too_few.append(f"{copied.target.chunks:,} chunks of {expected:,}")
    if too_few:
        raise TransferError(
            f"The copy is not whole: it holds {', '.join(too_few)}",
            hint="somebody may have removed chunks meanwhile; copy again: it goes on",
        )


ORIGIN = "aurorakb"
_ID = f"{ORIGIN}_id"
_WHOLE = f"{ORIGIN}_metadata"


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of the documents."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    left_out: int = 0

    @property
    def documents(self) -> int:
        return self.added + self.replaced + self.unchanged


def take_in(
    store: Store,
    pages: Iterable[Sequence[ForeignDocument]],
    *,
    redactor: Redactor | None = None,
    total: int,
    key_space: str,
    prefix: str = "",
    now: datetime,
    listen: Listener = ignore_events,
) -> TakenIn:
    """Take in documents, each page whole. The same again changes nothing.

    `key_space` is where their ids are unique, `prefix` comes before their namespaces.
    """
    redactor = redactor or Redactor()
    counts = dict.fromkeys(Outcome, 0)
    left_out = 0
    for page in pages:
        with store.transaction():
            for document in page:
                try:
                    safe = _redacted_foreign(document, redactor)
                    outcome = _put(store, safe, key_space=key_space, prefix=prefix, now=now)
                except AuroraError as exc:
                    left_out += 1
                    listen(Note(f"Left out {document.id}: {exc.message}", warning=True))
                else:
                    counts[outcome] += 1
        listen(Progress("Taking in", sum(counts.values()) + left_out, total))
    return TakenIn(
        counts[Outcome.ADDED], counts[Outcome.REPLACED], counts[Outcome.UNCHANGED], left_out
    )


def _redacted_foreign(document: ForeignDocument, redactor: Redactor) -> ForeignDocument:
    return document._replace(
        content=redactor.text(document.content),
        source=redactor.text(document.source),
        metadata=redactor.json(document.metadata),
    )


def _put(
    store: Store, document: ForeignDocument, *, key_space: str, prefix: str, now: datetime
) -> Outcome:
    labels = _labels(document, prefix)
    key = "\0".join((ORIGIN, key_space, document.id)).encode()
    pieces = cut_document(document.content, labels, key=key, now=document.created_at or now)
    return put_document(store, pieces).outcome


def _labels(document: ForeignDocument, prefix: str) -> Labels:
    """Its own, as far as a memory can hold them; the rest goes into metadata as it was."""
    own: dict[str, Json] = {_ID: document.id}
    words = {
        "namespace": prefix + document.namespace,
        "document_type": document.document_type,
        "source": document.source,
    }
    shown = {name: printable(word) for name, word in words.items()}
    own |= {f"{ORIGIN}_{name}": words[name] for name in words if shown[name] != words[name]}
    kind = shown["document_type"].strip() and shown["document_type"]
    labels = Labels(shown["namespace"], kind or DOCUMENT, shown["source"], own)
    try:
        return replace(labels, metadata=_renamed(document.metadata) | own)
    except LabelError:  # a key that could not be asked for
        return replace(labels, metadata={_WHOLE: document.metadata, **own})


def _renamed(metadata: Json) -> dict[str, Json]:
    """Keys that every document of ours has keep their value under another name."""
    if not isinstance(metadata, dict):
        return {} if metadata is None else {_WHOLE: metadata}
    taken = (*RESERVED, _ID)
    return {f"{ORIGIN}_{key}" if key in taken else key: value for key, value in metadata.items()}
