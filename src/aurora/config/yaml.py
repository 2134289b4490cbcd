"""The one door to YAML: version 1.2, so that `no` is a word and `1e-3` a number.

The little of YAML that settings files are mostly made of, read without the library.

That is `key: value` and `section:` with more of it further in, comments, plain numbers, `true`,
`false`, and single words; or one such value alone. All else is left to the library, which knows
YAML but takes longer to import than a search takes to answer. What is read here means the same
there: `tests/config/test_plain_yaml.py` compares.
"""

from __future__ import annotations

import re
from typing import cast

from aurora.text import printable

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


class YamlError(ValueError):
    """Text that is no YAML; the message says where and why, in one line."""


def parse_yaml(content: bytes) -> object:
    """Plain Python values of the first document; nothing for an empty one."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _not_valid(exc) from exc
    try:
        return parse_plain(text)
    except NotPlainError:
        return _parse_with_library(text)


def _parse_with_library(text: str) -> object:
    from ruamel.yaml import YAML  # noqa: PLC0415 - most settings files are plain
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    yaml = YAML(typ="safe", pure=True)
    yaml.composer.warn_double_anchors = False  # YAML 1.2 lets an anchor be used again
    try:
        return cast("object", yaml.load(text))
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(printable(f"{where}{exc.problem or exc.context}")) from exc
    # Bad dates, absurd nesting, and what the library stumbles over, such as `!!int ""`.
    except (YAMLError, ValueError, RecursionError, LookupError, TypeError, AttributeError) as exc:
        raise _not_valid(exc) from exc


def _not_valid(exc: Exception) -> YamlError:
    return YamlError(printable(f"not valid YAML: {exc}".partition("\n")[0]))
