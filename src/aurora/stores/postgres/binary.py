"""Values and rows in PostgreSQL's binary format, for COPY. The server stores them unparsed.

Each function returns a value as its type's `recv` function reads it: numbers are big-endian, and
the row writes the length before each value.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct

from aurora.stores.postgres.rows import hide, json_text
from aurora.types import Json

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # before the rows: no options
TRAILER = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_FIELDS, _LENGTH = Struct(">h").pack, Struct(">i").pack
_EPOCH, _MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_ARRAY = Struct(">5i").pack  # dimensions, whether it has NULL, type, length, first index
_REAL, _REAL_TYPE = Struct(">if").pack, 700
_JSONB = b"\x01"  # the version of the format

bigint: Callable[[int], bytes] = Struct(">q").pack
integer: Callable[[int], bytes] = Struct(">i").pack
smallint: Callable[[int], bytes] = Struct(">h").pack
boolean: Callable[[bool], bytes] = Struct(">?").pack


def row(values: Sequence[bytes | None]) -> bytes:
    parts = [_FIELDS(len(values))]
    for value in values:
        parts += (_NULL,) if value is None else (_LENGTH(len(value)), value)
    return b"".join(parts)


def text(value: str) -> bytes:
    return hide(value).encode()


def jsonb(value: Json) -> bytes:
    return _JSONB + json_text(value).encode()


def timestamptz(at: datetime) -> bytes:
    return bigint((at.astimezone(UTC) - _EPOCH) // _MICROSECOND)


def reals(values: Sequence[float]) -> bytes:
    numbers = (_REAL(4, value) for value in values)
    return b"".join((_ARRAY(1, 0, _REAL_TYPE, len(values), 1), *numbers))


def halfvec(vector: bytes) -> bytes:
    """From a vector as `aurora.packing` writes it."""
    numbers = array("H", vector)
    numbers.byteswap()  # PostgreSQL's order is the other one
    return _FIELDS(len(numbers)) + bytes(2) + numbers.tobytes()


def columns(values: Mapping[str, object], types: Mapping[str, str]) -> list[bytes | None]:
    """Values by the names of their columns, in the order of the types."""
    return [
        None if values[name] is None else _ENCODERS[type_](values[name])
        for name, type_ in types.items()
    ]


_ENCODERS: Mapping[str, Callable[..., bytes]] = {
    "text": text, "bigint": bigint, "boolean": boolean, "jsonb": jsonb, "timestamptz": timestamptz,
}  # fmt: skip
