"""The one door to YAML: version 1.2, so that `no` is a word and `1e-3` a number."""

from __future__ import annotations

from typing import cast


class YamlError(ValueError):
    """Text that is no YAML; the message says where and why, in one line."""


def parse_yaml(content: bytes) -> object:
    """Plain Python values of the first document; nothing for an empty one."""
    # Most runs read no settings file at all; those need not wait for the library.
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    try:
        return cast("object", YAML(typ="safe", pure=True).load(content.decode("utf-8-sig")))
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{where}{exc.problem or exc.context or 'not valid YAML'}") from exc
    except (YAMLError, ValueError, RecursionError) as exc:  # bad bytes, bad dates, absurd nesting
        raise YamlError(f"not valid YAML: {str(exc).splitlines()[0]}") from exc
