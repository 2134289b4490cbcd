"""Texts that PostgreSQL does not hold: it has no NUL. Written, a NUL is two letters that mean it.

The first of them is no character of any script. A text that has it anyway gets it back, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.string import StrDumper

from aurora.types import Json

MARK = "\ufdd0"
_NUL, _ITSELF = f"{MARK}0", f"{MARK}1"


def hide(text: str) -> str:
    """As it is written."""
    if "\0" not in text and MARK not in text:
        return text
    return text.replace(MARK, _ITSELF).replace("\0", _NUL)


def show(text: str) -> str:
    """As it was before."""
    if MARK not in text:
        return text
    return text.replace(_NUL, "\0").replace(_ITSELF, MARK)


def in_all_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The same value with every text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [in_all_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): in_all_texts(item, change) for key, item in value.items()}
    return value


class _Hiding(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(hide(obj))


ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(str, _Hiding)
