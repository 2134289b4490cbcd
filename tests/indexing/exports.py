"""Records with everything there can be, and exports of them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from aurora.indexing.export_format import ExportCounts, Header, encode
from aurora.indexing.import_export import Export, Imported, export_memory, import_memory
from aurora.packing import pack_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record, Store
from aurora.types import ChunkHistory, Kind, Tracking
from tests.builders import NOW, make_chunk

ROOT = Path(__file__).parents[2]
MODEL = Embedder("tiny", 3, "abc")
VECTOR = pack_vector([0.5, -1.0, 0.25])
LATER = NOW + timedelta(microseconds=5)
DEEP = {"x": [None, {"y": 1e-7}], "é": True}
FILES = [
    FileState("a.py", 10, -1, "4:x", history_stamp="abc", history_read_at=LATER),
    FileState("b.bin", 5, 2**62, "4:", left_out="binary"),
]
RECORDS = [
    Record(make_chunk(name="z"), history=ChunkHistory(Tracking.TRACKED, (-5, 2**40), True)),
    Record(
        make_chunk(
            "用户 \u2028 ✓ \0", name="a", created_at=LATER, metadata={"x": [None, {"y": 1e-7}]}
        ),
        accesses=(NOW, NOW, LATER),
        vector=VECTOR,
    ),
    Record(
        make_chunk("guess", "", "failed", kind=Kind.REASONING, lines=None, id="failed"),
        Reasoning("pattern", 0.1, 0, LATER),
    ),
    Record(make_chunk(name="m"), history=ChunkHistory(Tracking.UNTRACKED), vector=VECTOR),
]


def fill(store: Store) -> None:
    store.chunks.add_files(FILES)
    store.maintenance.put_records(RECORDS, embedder=MODEL)
    store.chunks.put_indexed_at(LATER)


def exported(store: Store) -> bytes:
    stream = io.BytesIO()
    export_memory(store, stream)
    return stream.getvalue()


def imported(store: Store, export: bytes, *, vectors: bool = True) -> Imported:
    return import_memory(store, Export(io.BytesIO(export)), vectors=vectors)


def lines_of(
    records: Iterable[Record] = (),
    files: Iterable[FileState] = (),
    embedder: Embedder | None = MODEL,
) -> bytes:
    """An export of these, as any program could write one."""
    records, files = list(records), list(files)
    counts = ExportCounts(
        len(files),
        len(records),
        sum(len(record.accesses) for record in records),
        sum(record.vector is not None for record in records),
    )
    header = Header(len(files), len(records), embedder)
    return encode(header) + b"".join(map(encode, [*files, *records, counts]))


def everything(store: Store) -> tuple[object, ...]:
    """All that a memory holds, to be compared with another one's.

    The identities of files belong to a file system, and are not exported.
    """
    return (
        list(store.maintenance.iter_records()),
        {path: replace(state, identity="") for path, state in store.chunks.file_states().items()},
        store.vectors.embedder(),
        store.chunks.indexed_at(),
        store.maintenance.check(),
    )
