"""Reads YAML 1.2, where `no` is a word and `1e-3` a number.

Importing the YAML library costs about a fifth of importing numpy on every search with a settings
file. So `parse_plain` reads the simple YAML that most settings files consist of: `key: value`,
nested sections, comments, numbers, `true`, `false` and single words. All other text goes to the
library. `tests/config/test_plain_yaml.py` compares both.
"""

from __future__ import annotations

import re
from typing import cast

from aurora.lazy_patterns import lazy_pattern
from aurora.text import printable

_SCALAR = r"-?(?:0|[1-9]\d{,8})(?:\.\d{1,9})?|[A-Za-z][\w-]{,60}"
_LINE = lazy_pattern(rf"( *)([a-z][a-z\d_]{{,60}}):(?: +({_SCALAR}))?(?: +#.*| *)", re.ASCII)
_RESERVED = {"true", "false", "null"}  # in any case: the library knows which of them are words


class YamlError(ValueError):
    """Text that is not YAML. The message says where and why, in one line."""


class NotPlainError(ValueError):
    """Text that needs the YAML library."""


def parse_yaml(content: bytes) -> object:
    """Return the first document as plain Python values; None for an empty one."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _invalid(exc) from exc
    try:
        return parse_plain(text)
    except NotPlainError:
        return _parse_with_library(text)


def parse_plain(text: str) -> object:
    """Return the value of simple YAML, or raise `NotPlainError`."""
    if not text.isascii() or not text.replace("\n", "").isprintable():
        raise NotPlainError
    if re.fullmatch(_SCALAR, text, re.ASCII):
        return _scalar(text)
    root: dict[str, object] = {}
    levels = [(0, root)]  # indentation and section, from the root to the current line
    name, is_section = "", False  # of the previous line
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise NotPlainError
        indent = len(match[1])
        if indent > levels[-1][0] and is_section:
            inner: dict[str, object] = {}
            levels[-1][1][name] = inner
            levels.append((indent, inner))
        while indent < levels[-1][0]:
            levels.pop()
        level, section = levels[-1]
        name, is_section = match[2], match[3] is None
        if indent != level or name in section or name in _RESERVED:
            raise NotPlainError
        section[name] = None if is_section else _scalar(match[3])
    return root or None


def _scalar(written: str) -> bool | float | str:
    if written in ("true", "false"):
        return written == "true"
    if written.lower() in _RESERVED:
        raise NotPlainError
    if written[0].isalpha():
        return written
    return float(written) if "." in written else int(written)


def _parse_with_library(text: str) -> object:
    from ruamel.yaml import YAML  # noqa: PLC0415 - see above
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    yaml = YAML(typ="safe", pure=True)
    yaml.composer.warn_double_anchors = False  # YAML 1.2 allows an anchor to be used again
    try:
        return cast("object", yaml.load(text))
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(printable(f"{where}{exc.problem or exc.context}")) from exc
    # Bad dates, deep nesting, and text that the library cannot handle, such as `!!int ""`.
    except (YAMLError, ValueError, RecursionError, LookupError, TypeError, AttributeError) as exc:
        raise _invalid(exc) from exc


def _invalid(exc: Exception) -> YamlError:
    return YamlError(printable(f"not valid YAML: {exc}".partition("\n")[0]))
