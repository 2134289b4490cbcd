"""The one door to YAML: version 1.2, so that `no` is a word and `1e-3` a number."""

from __future__ import annotations

from typing import cast

from aurora.config.plain_yaml import NotPlainError, parse_plain
from aurora.text import printable


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
