"""The lines of an export: encodes and decodes the format of docs/reference/export.md.

Lines are not trusted. A shape is a table of an object's fields with a reader for each; a reader
takes any value and returns it as the field's type, or raises `Unfit`.
"""

from __future__ import annotations

import base64
import json
import math
import reprlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from aurora.packing import VECTOR_WIDTH, pack_vector, unit_vector, unpack_vector
from aurora.stores.base import Embedder, FileState, Reasoning, Record
from aurora.types import Chunk, ChunkHistory, Json, Kind, Lines, Tracking

T = TypeVar("T")
Reader: TypeAlias = Callable[[object], T]
Shape: TypeAlias = Mapping[str, Reader[Any]]  # each of its fields has a type of its own

_DEEPEST = 100  # levels of metadata; databases and Python fail at some higher number
_LARGEST = (1 << 63) - 1  # 64 bits, as in a database

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


class Unfit(Exception):  # noqa: N818 - caught where the line number is known
    """A value does not fit its field; `path` names the field."""

    def __init__(self, wanted: str, value: object, path: str = "") -> None:
        super().__init__(f"{path or 'the line'} must be {wanted}, not {_short.repr(value)}")
        self.wanted, self.value, self.path = wanted, value, path

    def below(self, name: str) -> Unfit:
        """The same, with the name of the enclosing field before the path."""
        return Unfit(self.wanted, self.value, f"{name}.{self.path}" if self.path else name)


def read_object(value: object, shape: Shape) -> dict[str, Any]:
    """The fields of an object, which must be exactly those of the shape."""
    if not isinstance(value, dict):
        raise Unfit("an object", value)
    if value.keys() != shape.keys():
        missing, unknown = shape.keys() - value.keys(), value.keys() - shape.keys()
        wrong = f"with {min(missing)}" if missing else f"without {_short.repr(min(unknown))}"
        raise Unfit(f"an object {wrong}", value)
    fields = {}
    for name, reader in shape.items():
        try:
            fields[name] = reader(value[name])
        except Unfit as exc:
            raise exc.below(name) from None
    return fields


def _typed(kind: type[T], wanted: str, fits: Callable[[T], bool] = lambda _: True) -> Reader[T]:
    """A reader of values of one type. A truth value is not a number."""

    def read(value: object) -> T:
        is_truth = isinstance(value, bool) and kind is not bool
        if is_truth or not isinstance(value, kind) or not fits(value):
            raise Unfit(wanted, value)
        return value

    return read


text = _typed(str, "a text")
name = _typed(str, "a text that is not empty", bool)
path = _typed(str, "a path without NUL", lambda path: "\0" not in path)  # no file has such a name
whole = _typed(int, "a whole number of 64 bits", lambda n: -_LARGEST - 1 <= n <= _LARGEST)
count = _typed(int, "a count", lambda n: 0 <= n <= _LARGEST)
truth = _typed(bool, "true or false")


def share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Unfit("a number from 0 to 1", value)
    return float(value)


def moment(value: object) -> datetime:
    """A date with a time zone, which seconds since 1970 can represent."""
    try:
        at = datetime.fromisoformat(text(value))
        if at.tzinfo is None:
            raise Unfit("a moment with a time zone", value)
        at = at.astimezone(UTC)
        datetime.fromtimestamp(at.timestamp(), UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise Unfit("a moment such as 2025-12-15T08:30:00.000000+00:00", value) from exc
    return at


def line_pair(value: object) -> Lines:
    start, end = value if isinstance(value, list) and len(value) == 2 else (0, 0)
    if not 1 <= whole(start) <= whole(end):
        raise Unfit("a first and a last line, such as [1, 9]", value)
    return Lines(start, end)


def packed(value: object) -> bytes:
    try:
        return base64.b64decode(text(value), validate=True)
    except ValueError as exc:
        raise Unfit("base64", value) from exc


def metadata(value: object) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise Unfit("an object", value)
    _require_plain(value, 1)
    return value


def _require_plain(value: Json, depth: int) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Unfit("without numbers that are not finite", value)
    if isinstance(value, list | dict):
        if depth > _DEEPEST:
            raise Unfit(f"at most {_DEEPEST} levels deep", value)
        for inner in value if isinstance(value, list) else value.values():
            _require_plain(inner, depth + 1)


def optional(reader: Reader[T]) -> Reader[T | None]:
    return lambda value: None if value is None else reader(value)


def each(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise Unfit("a list", value)
        return tuple(map(reader, value))

    return read


def shaped(kind: Callable[..., T], shape: Shape) -> Reader[T]:
    """A reader of objects of this shape, which returns an instance of `kind`."""
    return lambda value: kind(**read_object(value, shape))


def one_of(kind: Callable[[str], T], words: str) -> Reader[T]:
    def read(value: object) -> T:
        try:
            return kind(text(value))
        except ValueError as exc:
            raise Unfit(f"one of {words}", value) from exc

    return read


VERSION = 1
_SHOWN = 40  # bytes of a wrong value in a message
_OLD_WIDTH = 4  # bytes for each number of a vector in the oldest exports


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what follows, and facts about the memory."""

    files: int
    chunks: int
    embedder: Embedder | None = None
    indexed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """The last line: what the export holds. An export without it was cut off."""

    files: int = 0
    chunks: int = 0
    accesses: int = 0
    vectors: int = 0


Item: TypeAlias = FileState | Record | ExportCounts

_EMBEDDER: Shape = {"name": text, "dimension": count, "fingerprint": text}
_HEADER: Shape = {
    "aurora": text, "version": whole, "files": count, "chunks": count,
    "embedder": optional(shaped(Embedder, _EMBEDDER)), "indexed_at": optional(moment),
}  # fmt: skip
_FILE: Shape = {
    "path": path, "size": whole, "modified_ns": whole, "digest": text, "left_out": text,
    "history_stamp": text, "history_read_at": optional(moment),
}  # fmt: skip
_CHUNK: Shape = {
    "id": name, "kind": one_of(Kind, ", ".join(Kind)), "name": text, "content": text,
    "qualified_name": text, "path": path, "lines": optional(line_pair), "language": text,
    "namespace": text, "document_type": text, "created_at": optional(moment), "metadata": metadata,
}  # fmt: skip
_REASONING: Shape = {
    "pattern_type": text, "success_score": share, "usage_count": count, "created_at": moment,
}  # fmt: skip
_HISTORY: Shape = {
    "tracking": one_of(Tracking, ", ".join(Tracking)), "commits": each(whole), "uncommitted": truth,
}  # fmt: skip
_HANGING: Shape = {
    "reasoning": optional(shaped(Reasoning, _REASONING)), "accesses": each(moment),
    "history": optional(shaped(ChunkHistory, _HISTORY)), "vector": optional(packed),
}  # fmt: skip
_COUNTS: Shape = {"files": count, "chunks": count, "accesses": count, "vectors": count}
_LINES: Mapping[str, Shape] = {
    kind: {"type": text, **shape}
    for kind, shape in {"file": _FILE, "chunk": {**_CHUNK, **_HANGING}, "end": _COUNTS}.items()
}


def encode(item: Header | Item) -> bytes:
    """One line, with its line end."""
    if isinstance(item, Header):
        embedder = None if item.embedder is None else item.embedder._asdict()
        return _line(aurora="export", version=VERSION, **asdict(item) | {"embedder": embedder})
    if isinstance(item, ExportCounts):
        return _line(type="end", **asdict(item))
    if isinstance(item, FileState):
        return _line(type="file", **{name: getattr(item, name) for name in _FILE})
    chunk, history, reasoning = item.chunk, item.history, item.reasoning
    return _line(
        type="chunk",
        **{name: getattr(chunk, name) for name in _CHUNK} | {"metadata": dict(chunk.metadata)},
        reasoning=None if reasoning is None else asdict(reasoning),
        accesses=item.accesses,
        history=None if history is None else {name: getattr(history, name) for name in _HISTORY},
        vector=None if item.vector is None else base64.b64encode(item.vector).decode(),
    )


def _line(**fields: object) -> bytes:
    line = json.dumps(fields, ensure_ascii=False, allow_nan=False, default=_encode_moment)
    return line.encode() + b"\n"


def _encode_moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def decode_header(line: bytes) -> Header:
    value = _parsed(line)
    if not isinstance(value, dict) or value.get("aurora") != "export":
        raise Unfit('the first line of an export: {"aurora": "export", …}', value)
    if value.get("version") != VERSION:
        raise Unfit(f"{VERSION}, the only one this Aurora reads", value.get("version"), "version")
    fields = read_object(value, _HEADER)
    return Header(fields["files"], fields["chunks"], fields["embedder"], fields["indexed_at"])


def decode(line: bytes, embedder: Embedder | None) -> Item:
    """The value of a line. `embedder` is the one in the header: it made the vectors."""
    value = _parsed(line)
    kind = value.get("type") if isinstance(value, dict) else None
    if not (isinstance(kind, str) and kind in _LINES):
        raise Unfit(f"an object with a type: one of {', '.join(_LINES)}", value)
    fields = read_object(value, _LINES[kind])
    del fields["type"]
    if kind == "file":
        return FileState(**fields)
    if kind == "end":
        return ExportCounts(**fields)
    hanging = {name: fields.pop(name) for name in _HANGING}
    if hanging["vector"] is not None:
        hanging["vector"] = _read_vector(hanging["vector"], embedder)
    return Record(Chunk(**fields), **hanging)


def _parsed(line: bytes) -> object:
    try:
        written = line.decode()
        value: object = json.loads(written)
        if "\\u" in written:  # an escape may be half of a character, which cannot be stored
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as exc:  # not UTF-8, not JSON, or too deep for Python
        raise Unfit("JSON in UTF-8", line[:_SHOWN]) from exc
    return value


def _read_vector(vector: bytes, embedder: Embedder | None) -> bytes:
    if embedder is None:
        raise Unfit("null, for the first line names no embedder", vector[:_SHOWN], "vector")
    narrow, wide = (width * embedder.dimension for width in (VECTOR_WIDTH, _OLD_WIDTH))
    if len(vector) not in (narrow, wide):
        wanted = f"{narrow} bytes, as {embedder.name} makes them"
        raise Unfit(wanted, vector[:_SHOWN], "vector")
    old = struct.unpack(f"<{embedder.dimension}f", vector) if len(vector) == wide else None
    if not all(map(math.isfinite, unpack_vector(vector) if old is None else old)):
        raise Unfit("finite numbers", vector[:_SHOWN], "vector")
    return vector if old is None else pack_vector(unit_vector(old))
