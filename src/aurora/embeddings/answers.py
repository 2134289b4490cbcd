"""What an endpoint answered, into vectors. Nothing of it is believed before it was looked at."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from aurora.endpoints.wire import BadAnswerError, read_code

if TYPE_CHECKING:
    import numpy as np

    Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


def read_vectors(answer: bytes, count: int) -> list[Vector]:
    """So many vectors of one dimension, in the order of the texts.

    An `index` says which text a vector belongs to; where none has one, they come in order.
    """
    vectors = [_vector(item) for item in _in_order(_items(answer), count)]
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1:
        raise BadAnswerError(f"gave vectors of {min(sizes)} and of {max(sizes)} numbers at once")
    return vectors


def _items(answer: bytes) -> list[dict[str, object]]:
    try:
        found = json.loads(answer, parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise BadAnswerError("answered with something that is no JSON") from exc
    if not isinstance(found, dict) or not isinstance(found.get("data"), list):
        if isinstance(found, dict) and found.get("error"):
            code = read_code(answer)
            raise BadAnswerError(f"answered with an error{f' ({code})' if code else ''}")
        raise BadAnswerError("answered without a list of vectors")
    items: list[dict[str, object]] = found["data"]
    if not all(isinstance(item, dict) for item in items):
        raise BadAnswerError("answered with a list of something else than vectors")
    return items


def _no_number(_: str) -> NoReturn:
    raise BadAnswerError("gave a vector with something that is no finite number")


def _in_order(items: list[dict[str, object]], count: int) -> list[dict[str, object]]:
    if len(items) != count:
        raise BadAnswerError(f"gave {len(items)} vectors for {count} texts")
    places = [item.get("index") for item in items]
    if all(place is None for place in places):
        return items
    by_place = {place: item for place, item in zip(places, items, strict=True) if _is_int(place)}
    if by_place.keys() != set(range(count)):
        raise BadAnswerError("gave vectors that are not numbered from 0, each number once")
    return [by_place[place] for place in range(count)]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _vector(item: dict[str, object]) -> Vector:
    import numpy as np  # noqa: PLC0415 - not before there is something to do

    values = item.get("embedding")
    if isinstance(values, str):  # some servers always answer so
        values = np.frombuffer(_decoded(values), "<f4")
    elif not isinstance(values, list):
        raise BadAnswerError("gave something that has no vector")
    elif not all(_is_int(value) or isinstance(value, float) for value in values):
        _no_number("")
    try:
        vector = np.asarray(values, np.float64)
    except OverflowError:  # an integer of 400 digits
        _no_number("")
    if not len(vector):
        raise BadAnswerError("gave a vector without numbers")
    if not np.isfinite(vector).all():
        _no_number("")
    return vector


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise BadAnswerError("gave a text instead of a vector") from exc
    if len(raw) % 4:
        raise BadAnswerError("gave a vector that is cut off")
    return raw
