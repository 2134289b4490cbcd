"""Reads values out of JSON that another program wrote: any of them may be missing or of any type.

A text that comes from here is valid UTF-8 without zero bytes and without the colours of a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from aurora.lazy_patterns import lazy_pattern
from aurora.types import Json

_HOOK_CONTEXT = lazy_pattern(r"\s*<hook_context>.*?</hook_context>", re.DOTALL)
_ESCAPES = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_LARGEST = 2**63 - 1
_MILLISECONDS = 100_000_000_000  # greater numbers of seconds are later than the year 5000


def parse_json(text: str | bytes) -> Json:
    """Parse JSON. Anything else is a `ValueError`."""
    try:
        value: Json = json.loads(text)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    return value


def parsed(value: Json) -> Json:
    """The value of a text that holds JSON; any other text as it is, but clean."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value) if value.lstrip()[:1] in ("{", "[") else clean(value)
    except ValueError:
        return clean(value)


def clean(text: str) -> str:
    """Remove what a store cannot hold, and the escape sequences of terminals."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def without_hook_context(text: str) -> str:
    """A prompt without what hooks said: Gemini CLI puts it before the words of the user."""
    return _HOOK_CONTEXT.sub("", text).lstrip() if "<hook_context>" in text else text


def get(value: Json, *path: str) -> Json:
    """The value below these keys, or None."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def get_text(value: Json, *path: str) -> str:
    """The text below these keys; empty if there is none."""
    for key in path:
        if not isinstance(value, dict):
            return ""
        value = value.get(key)
    return clean(value) if isinstance(value, str) else ""


def first_text(value: Json, *keys: str) -> str:
    """The first text under one of these keys that is not empty."""
    return next(filter(None, (get_text(value, key) for key in keys)), "")


def get_dict(value: Json, *path: str) -> dict[str, Json]:
    """The object below these keys; empty if there is none."""
    inner = get(value, *path)
    return inner if isinstance(inner, dict) else {}


def get_list(value: Json, *path: str) -> list[Json]:
    """The array below these keys; empty if there is none."""
    inner = get(value, *path)
    return inner if isinstance(inner, list) else []


def get_int(value: Json, *path: str) -> int | None:
    """The whole number below these keys, if there is one that a store can hold."""
    inner = get(value, *path)
    if not isinstance(inner, int) or isinstance(inner, bool):
        return None
    return inner if abs(inner) <= _LARGEST else None


def get_time(value: Json, *path: str) -> datetime | None:
    """The time below these keys: RFC 3339, or seconds or milliseconds since 1970."""
    inner = get(value, *path)
    try:
        if isinstance(inner, str):
            time = datetime.fromisoformat(inner.strip())
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(inner, int | float) and not isinstance(inner, bool) and inner > 0:
            seconds = inner / 1000 if inner > _MILLISECONDS else inner
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def joined_texts(content: Json, *types: str) -> str:
    """The text of a message: a string, or the texts of those parts that have one of these types."""
    if isinstance(content, str):
        return clean(content)
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, (part_text(part, types) for part in parts)))


def part_text(part: Json, types: tuple[str, ...] = ()) -> str:
    """The text of one part of a message. Without types, any part may have one."""
    if isinstance(part, str):
        return clean(part)
    is_wanted = not types or get_text(part, "type") in types
    return get_text(part, "text") if is_wanted else ""


def dicts(values: list[Json]) -> Iterator[dict[str, Json]]:
    """Those values that are objects."""
    return (value for value in values if isinstance(value, dict))


def as_line(value: Json) -> str:
    """Write a value as JSON on one line; empty if it is nested too deeply."""
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError):
        return ""
