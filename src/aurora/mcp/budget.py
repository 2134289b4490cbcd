"""How much of an agent's context an answer takes, and what is left out to make it fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

Entry = TypeVar("Entry", bound=BaseModel)

BYTES = 3  # of UTF-8 in a token: code has a few more, CJK one character; rather too many than few
MARK = "\n… cut here"


def count_tokens(text: str) -> int:
    """About as many tokens as a language model makes of a text."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES)


def cost(entry: BaseModel) -> int:
    """What an entry takes as structured content, which is longer than its text."""
    return count_tokens(entry.model_dump_json(exclude_none=True))


def fitting(entries: Sequence[Entry], tokens: int) -> list[Entry]:
    """The first entries that fit together; the first of all is always among them."""
    kept: list[Entry] = []
    for entry in entries:
        tokens -= cost(entry)
        if kept and tokens < 0:
            break
        kept.append(entry)
    return kept


def cut(text: str, tokens: int) -> tuple[str, bool]:
    """The beginning of a text, up to a line's end, and whether that is not all of it."""
    if count_tokens(text) <= tokens:
        return text, False
    room = max(tokens * BYTES - len(MARK.encode()), 1)
    head = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    whole_lines = head.rpartition("\n")[0]
    return whole_lines or head, True
