"""Rules for the values of settings: each takes what was read and returns it checked.

A wrong value is a `ValueError` whose text says what it must be; who set it is told by `layers`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Parse: TypeAlias = Callable[[object], object]

LONGEST_TEXT = 4096  # characters: the longest path, and more than any address or model needs


def number(
    *, minimum: float = -math.inf, maximum: float = math.inf, sane: float = math.inf
) -> Parse:
    """A finite number within bounds. The wording is seed 000's, FR-9.3.

    `sane` bounds what has no bound by its nature: beyond it, arithmetic would overflow.
    """
    bounded = maximum < math.inf
    rule = f"Must be in [{minimum}, {maximum}]" if bounded else f"Must be ≥ {minimum}"

    def parse(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not _is_finite(raw):
            raise ValueError("Must be a number")
        if not minimum <= raw <= maximum:
            raise ValueError(rule)
        if raw > sane:
            raise ValueError(f"Must be ≤ {sane:g}")
        return float(raw)

    return parse


def _is_finite(raw: float) -> bool:
    try:
        return math.isfinite(raw)
    except OverflowError:  # an integer beyond every float
        return False


def integer(*, minimum: int, maximum: int) -> Parse:
    def parse(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise ValueError("Must be an integer")  # noqa: TRY004 - a value of the user's
        if raw < minimum:
            raise ValueError(f"Must be ≥ {minimum}")
        if raw > maximum:
            raise ValueError(f"Must be ≤ {maximum}")
        return raw

    return parse


def choice(*names: str) -> Parse:
    def parse(raw: object) -> str:
        if raw not in names:
            raise ValueError(f"Must be one of {', '.join(names)}")
        return str(raw)

    return parse


def flag(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("Must be true or false")  # noqa: TRY004
    return raw


def text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError("Must be text")  # noqa: TRY004
    if len(raw) > LONGEST_TEXT:
        raise ValueError(f"Must be at most {LONGEST_TEXT:,} characters")
    return raw


def word(raw: object) -> str:
    """A name as programs have them: small letters, digits and hyphens."""
    if not isinstance(raw, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", raw):
        raise ValueError("Must be a name of small letters, digits and hyphens")
    return text(raw)


def address(raw: object) -> str:
    """Where a server is, or nothing. A key in it would be shown and sent in the open."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be an address in one line")
    if raw and not re.match(r"https?://[^/?#@]+(/[^?#]*)?$", raw):
        raise ValueError("Must be http:// or https:// and a host, without a login or parameters")
    return text(raw)


def database_url(raw: object) -> str:
    """Where a PostgreSQL server is, or nothing."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be an address in one line")
    if raw and not re.match(r"postgres(ql)?://[^\s?]*(\?|$)", raw):
        raise ValueError("Must be postgresql://USER@HOST:PORT/DATABASE")
    return text(raw)


def schema_name(raw: object) -> str:
    if not isinstance(raw, str) or not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", raw):
        raise ValueError("Must be a name of small letters, digits and _")
    return raw


def cluster(raw: object) -> str:
    """Where a cluster's head listens, or nothing."""
    if not isinstance(raw, str) or not re.fullmatch(r"((\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5})?", raw):
        raise ValueError("Must be HOST:PORT")
    return text(raw)


def file_path(raw: object) -> str:
    try:
        path = Path(text(raw)).expanduser()  # of nobody's home: RuntimeError
    except RuntimeError as exc:
        raise ValueError("Must be a path") from exc
    if not raw or "\0" in str(path):
        raise ValueError("Must be a path")
    return text(raw)


def link_pattern(raw: object) -> str:
    """`auto`, `never`, or an address with `{path}` in it: it is written into a terminal."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be a text in one line")
    if raw not in ("auto", "never") and "{path}" not in raw:
        raise ValueError("Must be auto, never or an address with {path} in it")
    return text(raw)
