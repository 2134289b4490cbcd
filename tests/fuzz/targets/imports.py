"""What `aur mem import` reads: exports of ours, line by line, and documents of another program's
memory. Taken in whole, or told to be wrong; and what was taken in goes out again."""

from __future__ import annotations

import io
import shutil
from contextlib import closing, suppress
from functools import cache
from itertools import count
from pathlib import Path

from aurora.errors import AuroraError, TransferError
from aurora.indexing.export_format import Unfit, decode, decode_header, encode
from aurora.indexing.foreign_documents import take_in
from aurora.indexing.import_export import Export, export_memory, import_memory
from aurora.stores.base import Embedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import ForeignDocument
from tests.builders import NOW
from tests.fuzz.inputs import json_of, require_told, scratch

_ANY = Embedder("tiny", 3, "abc")
_numbers = count()


def check(data: bytes) -> None:
    for line in data.split(b"\n"):
        _check_line(line)
    if _is_whole(data):
        _check_import(data)
    foreign = json_of(data)
    if isinstance(foreign, dict):
        _check_foreign(foreign)


def _check_line(line: bytes) -> None:
    """A line that reads is written as it reads."""
    with suppress(Unfit):
        header = decode_header(line)
        assert decode_header(encode(header)) == header
    with suppress(Unfit):
        item = decode(line, _ANY)
        written = encode(item)
        assert written.count(b"\n") == 1
        assert decode(written, _ANY) == item


def _is_whole(data: bytes) -> bool:
    try:
        return bool(list(Export(io.BytesIO(data))))
    except TransferError as exc:
        require_told(exc)
        return False


def _check_import(data: bytes) -> None:
    with closing(_fresh_store()) as store:
        try:
            import_memory(store, Export(io.BytesIO(data)))
        except AuroraError:
            assert not store.chunks.file_states()  # all of it, or nothing
            assert not sum(store.chunks.count_namespaces().values())
            return
        first = _exported(store)
        assert import_memory(store, Export(io.BytesIO(data))).new == 0
        assert import_memory(store, Export(io.BytesIO(first))).new == 0


def _exported(store: SQLiteStore) -> bytes:
    stream = io.BytesIO()
    export_memory(store, stream)
    return stream.getvalue()


def _check_foreign(fields: dict[str, object]) -> None:
    words = ("id", "content", "namespace", "document_type", "source")
    values = {name: str(fields.get(name, name)) for name in words}
    document = ForeignDocument(**values, metadata=fields.get("metadata"))  # type: ignore[arg-type]
    with closing(_fresh_store()) as store:
        for _ in range(2):
            taken = take_in(store, [[document]], total=1, key_space="kb", now=NOW)
            assert taken.documents + taken.left_out == 1
        assert not taken.added  # the second time


def _fresh_store() -> SQLiteStore:
    path = scratch(f"{next(_numbers) % 4}.db")
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    shutil.copy(_empty(), path)
    return SQLiteStore(path)


@cache
def _empty() -> Path:
    SQLiteStore(scratch("empty.db")).close()
    return scratch("empty.db")
