"""The little of YAML that settings files are mostly made of, read without the library.

That is `key: value` and `section:` with more of it further in, comments, plain numbers, `true`,
`false`, and single words; or one such value alone. All else is left to the library, which knows
YAML but takes longer to import than a search takes to answer. What is read here means the same
there: `tests/config/test_plain_yaml.py` compares.
"""

from __future__ import annotations

import re

_NUMBER = r"-?(?:0|[1-9]\d{,8})(?:\.\d{1,9})?"
_WORD = r"[A-Za-z][\w-]{,60}"
_VALUE = re.compile(f"{_NUMBER}|{_WORD}", re.ASCII)
_LINE = re.compile(rf"( *)([a-z][a-z\d_]{{,60}}):(?: +({_NUMBER}|{_WORD}))?(?: +#.*| *)", re.ASCII)
_RESERVED = {"true", "false", "null"}  # in any case: the library knows which of them are words


class NotPlainError(ValueError):
    """There is more to this text than is read here."""


def parse_plain(text: str) -> object:
    """The value of a text, or `NotPlainError` where only the library can tell."""
    if not text.isascii() or not text.replace("\n", "").isprintable():
        raise NotPlainError
    if _VALUE.fullmatch(text):
        return _value(text)
    return _sections(text.split("\n")) or None


def _sections(lines: list[str]) -> dict[str, object]:
    whole: dict[str, object] = {}
    levels = [(0, whole)]  # how far in, and what is there: from the whole to where we are
    name, is_section = "", False  # of the line before
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise NotPlainError
        if len(found[1]) > levels[-1][0] and is_section:
            inside: dict[str, object] = {}
            levels[-1][1][name] = inside
            levels.append((len(found[1]), inside))
        while len(found[1]) < levels[-1][0]:
            levels.pop()
        here, section = levels[-1]
        name, is_section = found[2], found[3] is None
        if len(found[1]) != here or name in section or name in _RESERVED:
            raise NotPlainError
        section[name] = None if is_section else _value(found[3])
    return whole


def _value(written: str) -> bool | float | str:
    if written in ("true", "false"):
        return written == "true"
    if written.lower() in _RESERVED:
        raise NotPlainError
    if written[0].isalpha():
        return written
    return float(written) if "." in written else int(written)
