"""Records and files as lines of JSON: any of them comes back as it was, and the page is true."""

from __future__ import annotations

import base64
import json
import re
import struct
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.indexing.export_format import Unfit, decode, encode
from aurora.packing import pack_vector, unit_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, ChunkHistory, Kind, Lines, Tracking
from tests.indexing.exports import MODEL, RECORDS, ROOT, VECTOR, exported, imported
from tests.properties import examples

PAGE = (ROOT / "docs" / "reference" / "export.md").read_text(encoding="utf-8")

LAST = datetime.max.replace(second=0, tzinfo=UTC)

texts = st.text(st.characters(codec="utf-8"))  # halves of characters are no text
ids = st.text(st.characters(codec="utf-8"), min_size=1)
paths = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
wholes = st.integers(-(2**63), 2**63 - 1)
# The last moment of the last year is one that seconds since 1970 cannot name.
moments = st.datetimes(timezones=st.just(UTC)).filter(lambda at: at < LAST)
finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | st.integers() | finite | texts
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
lines = st.tuples(st.integers(1, 2**62), st.integers(0, 2**62 - 1)).map(
    lambda pair: Lines(pair[0], pair[0] + pair[1])
)
chunks = st.builds(
    Chunk, id=ids, kind=st.sampled_from(Kind), name=texts, content=texts, qualified_name=texts,
    path=paths, lines=st.none() | lines, language=texts, namespace=texts, document_type=texts,
    created_at=st.none() | moments, metadata=st.dictionaries(texts, values, max_size=4),
)  # fmt: skip
reasonings = st.builds(
    Reasoning, pattern_type=texts, success_score=st.floats(0, 1),
    usage_count=st.integers(0, 2**63 - 1), created_at=moments,
)  # fmt: skip
histories = st.builds(
    ChunkHistory, tracking=st.sampled_from(Tracking),
    commits=st.lists(wholes).map(tuple), uncommitted=st.booleans(), read_at=st.none(),
)  # fmt: skip
vectors = st.lists(
    st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
).map(pack_vector)
wide = st.floats(width=32, allow_nan=False, allow_infinity=False)
records = st.builds(
    Record, chunk=chunks, reasoning=st.none() | reasonings,
    accesses=st.lists(moments, max_size=4).map(tuple), history=st.none() | histories,
    vector=st.none() | vectors,
)  # fmt: skip
files = st.builds(
    FileState, path=paths, size=wholes, modified_ns=wholes, digest=texts, left_out=texts,
    history_stamp=texts, history_read_at=st.none() | moments,
)  # fmt: skip


@given(records | files)
def test_any_record_and_any_file_comes_back_as_it_was(item: Record | FileState) -> None:
    line = encode(item)
    assert decode(line, MODEL) == item
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert encode(decode(line, MODEL)) == line


@settings(max_examples=examples(50))  # each has a database of its own
@given(records)
def test_any_record_is_kept_by_a_store_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, record: Record
) -> None:
    """What a line may say, a memory can hold: nothing that is imported cannot be read again."""
    path = tmp_path_factory.mktemp("store") / "memory.db"
    with closing(SQLiteStore(path)) as store:
        decoded = decode(encode(record), MODEL)
        assert isinstance(decoded, Record)
        store.maintenance.put_records([decoded], embedder=MODEL)
        (kept,) = store.maintenance.iter_records()
        assert kept.chunk.metadata == record.chunk.metadata
        assert (kept.reasoning is None, kept.history) == (record.reasoning is None, record.history)
        assert len(kept.accesses) == len(record.accesses)
        store.search.dated_paths()
        assert store.maintenance.check() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": None}, "id must be a text that is not empty, not None"),
        ({"id": ""}, "id must be a text that is not empty"),
        ({"path": "a\0b"}, "path must be a path without NUL, not 'a\\x00b'"),
        ({"content": 7}, "content must be a text, not 7"),
        ({"name": "\ud800"}, "the line must be JSON in UTF-8"),
        ({"kind": "poem"}, "kind must be one of function, method, class, code, reasoning"),
        ({"kind": ["code"]}, "kind must be a text"),
        ({"lines": [1]}, "lines must be a first and a last line"),
        ({"lines": [0, 1]}, "lines must be a first and a last line"),
        ({"lines": [9, 1]}, "lines must be a first and a last line, such as [1, 9], not [9, 1]"),
        ({"lines": [1, 2**63]}, "lines must be a whole number of 64 bits"),
        ({"lines": [1, 2.5]}, "lines must be a whole number"),
        ({"lines": [1, True]}, "lines must be a whole number"),
        ({"created_at": 5}, "created_at must be a text"),
        ({"created_at": "yesterday"}, "created_at must be a moment such as 2025-12-15T"),
        ({"created_at": "2025-12-15T08:30:00"}, "created_at must be a moment with a time zone"),
        ({"created_at": "9999-12-31T23:59:59.999999+00:00"}, "created_at must be a moment"),
        ({"created_at": "0001-01-01T00:00:00+14:00"}, "created_at must be a moment"),
        ({"metadata": []}, "metadata must be an object, not []"),
        ({"metadata": {"x": float("inf")}}, "metadata must be without numbers that are not finite"),
        ({"metadata": {"x": float("nan")}}, "metadata must be without numbers"),
        ({"metadata": {"x": 10**5000}}, "the line must be JSON"),
        ({"reasoning": {}}, "reasoning must be an object with created_at"),
        ({"reasoning": "good"}, "reasoning must be an object, not 'good'"),
        (
            {"reasoning": {"pattern_type": "p", "success_score": 1.5, "usage_count": 1,
                           "created_at": "2025-12-15T00:00:00+00:00"}},
            "reasoning.success_score must be a number from 0 to 1, not 1.5",
        ),
        ({"accesses": None}, "accesses must be a list"),
        ({"accesses": ["soon"]}, "accesses must be a moment"),
        (
            {"history": {"tracking": "lost", "commits": [], "uncommitted": False}},
            "history.tracking must be one of tracked, untracked, unavailable, not 'lost'",
        ),
        (
            {"history": {"tracking": "tracked", "commits": [2**63], "uncommitted": False}},
            "history.commits must be a whole number of 64 bits",
        ),
        (
            {"history": {"tracking": "tracked", "commits": [], "uncommitted": 0}},
            "history.uncommitted must be true or false, not 0",
        ),
        ({"vector": "AAAA"}, "vector must be 6 bytes, as tiny makes them"),
        ({"vector": "not base64!"}, "vector must be base64"),
        ({"vector": "é"}, "vector must be base64"),
        ({"vector": "AH4AfgB+"}, "vector must be finite numbers"),
        ({"vector": "AHwAAAAA"}, "vector must be finite numbers"),
        ({"vector": "AADAfwAAwH8AAMB/"}, "vector must be finite numbers"),
        ({"vector": "AAAAAAAAgP8AAAAA"}, "vector must be finite numbers"),
        ({"vector": "A" * 32}, "vector must be 6 bytes, as tiny makes them"),
        ({"type": "poem"}, "the line must be an object with a type: one of file, chunk, end"),
        ({"type": ["chunk"]}, "the line must be an object with a type"),
        ({"type": "file"}, "the line must be an object with digest"),
        ({"extra": 1}, "the line must be an object without 'extra'"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_what_it_must_be_is_named(change: dict[str, object], told: str) -> None:
    line = json.loads(encode(RECORDS[1])) | change
    sys.set_int_max_str_digits(0)
    try:
        written = json.dumps(line).encode()
    finally:
        sys.set_int_max_str_digits(4300)
    with pytest.raises(Unfit) as caught:
        decode(written, MODEL)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("field", sorted(json.loads(encode(RECORDS[1]))))
def test_every_field_must_be_there(field: str) -> None:
    line = json.loads(encode(RECORDS[1]))
    del line[field]
    with pytest.raises(Unfit, match=field):
        decode(json.dumps(line).encode(), MODEL)


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"null", b"[]", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000, b"1" * 5000],
    ids=["empty", "blank", "null", "list", "open", "bytes", "bom", "deep", "long-number"],
)  # fmt: skip
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(Unfit):
        decode(line, MODEL)


@pytest.mark.parametrize(("levels", "fits"), [(99, True), (100, False), (800, False)])
def test_metadata_is_not_deeper_than_a_database_reads(levels: int, fits: bool) -> None:
    nested = json.loads("[" * levels + "]" * levels)
    line = json.dumps(json.loads(encode(RECORDS[1])) | {"metadata": {"x": nested}}).encode()
    if fits:
        assert decode(line, MODEL)
    else:
        with pytest.raises(Unfit, match="metadata must be at most 100 levels deep"):
            decode(line, MODEL)


def test_a_vector_without_its_embedder_is_refused() -> None:
    with pytest.raises(Unfit, match="vector must be null, for the first line names no embedder"):
        decode(encode(RECORDS[1]), None)
    with pytest.raises(Unfit, match="vector must be 8 bytes, as big makes them"):
        decode(encode(RECORDS[1]), Embedder("big", 4, "x"))
    assert decode(encode(RECORDS[1]), MODEL) == RECORDS[1]
    assert RECORDS[1].vector == VECTOR


@given(st.lists(wide, min_size=3, max_size=3))
def test_a_vector_of_an_older_export_is_read_at_length_1_and_half_as_wide(
    values: list[float],
) -> None:
    line = json.loads(encode(RECORDS[1]))
    line["vector"] = base64.b64encode(struct.pack("<3f", *values)).decode()
    narrow = replace(RECORDS[1], vector=pack_vector(unit_vector(values)))
    assert decode(json.dumps(line).encode(), MODEL) == narrow


def test_the_example_of_the_page_is_what_an_export_writes(tmp_path: Path) -> None:
    """It goes into a memory and comes out of it the same to the last byte."""
    example = re.search(r"```json\n(.+?)```", PAGE, re.DOTALL)
    assert example is not None
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        imported(store, example[1].encode())
        assert exported(store).decode() == example[1]


def test_every_field_is_on_the_page() -> None:
    example = re.search(r"```json\n(.+?)```", PAGE, re.DOTALL)
    assert example is not None
    told = set(re.findall(r"`(\w+)`", PAGE))
    for line in map(json.loads, example[1].splitlines()):
        inner = {key for value in line.values() if isinstance(value, dict) for key in value}
        assert (line.keys() | inner) - (line.get("metadata") or {}).keys() <= told
