"""JSON from elsewhere, read field by field: each is what it must be, or it is said what is wrong.

A shape is a table of the fields an object has and who reads each. A reader takes any value and
gives it as the field's type, or raises `Unfit`.
"""

from __future__ import annotations

import base64
import math
import reprlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from aurora.types import Json, Lines

T = TypeVar("T")
Reader: TypeAlias = Callable[[object], T]
Shape: TypeAlias = Mapping[str, Reader[Any]]  # each of its fields has a type of its own

_DEEPEST = 100  # levels of metadata; databases and Python give up somewhere behind it
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1  # what a database holds of whole numbers

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


class Unfit(Exception):  # noqa: N818 - caught where the line is known, and an error only there
    """A value is not what its field must be; `path` leads to it."""

    def __init__(self, wanted: str, value: object, path: str = "") -> None:
        super().__init__(f"{path or 'the line'} must be {wanted}, not {_short.repr(value)}")
        self.wanted, self.value, self.path = wanted, value, path

    def below(self, name: str) -> Unfit:
        """The same, seen from the object around it."""
        return Unfit(self.wanted, self.value, f"{name}.{self.path}" if self.path else name)


def read_object(value: object, shape: Shape) -> dict[str, Any]:
    """The fields of an object: all of its shape, and no others."""
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


def text(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit("a text", value)
    return value


def name(value: object) -> str:
    if not text(value):
        raise Unfit("a text that is not empty", value)
    return text(value)


def path(value: object) -> str:
    if "\0" in text(value):  # no file can have such a name, and asking for one is an error
        raise Unfit("a path without NUL", value)
    return text(value)


def whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not _SMALLEST <= value <= _LARGEST:
        raise Unfit("a whole number of 64 bits", value)
    return value


def count(value: object) -> int:
    if whole(value) < 0:
        raise Unfit("a count", value)
    return whole(value)


def share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Unfit("a number from 0 to 1", value)
    return float(value)


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit("true or false", value)
    return value


def moment(value: object) -> datetime:
    """A date with its time zone, that can also be kept as seconds since 1970."""
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
    """An object of this shape, made to one of ours."""
    return lambda value: kind(**read_object(value, shape))


def one_of(kind: Callable[[str], T], words: str) -> Reader[T]:
    def read(value: object) -> T:
        try:
            return kind(text(value))
        except ValueError as exc:
            raise Unfit(f"one of {words}", value) from exc

    return read
