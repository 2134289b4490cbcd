"""Put one value into a JSON text, or one table into a TOML text; every other byte stays.

In TOML, a line begins a table if it parses as a header by itself and the text before it parses as a
whole document: so it is not inside a string or a list.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from aurora.errors import ConfigError
from aurora.types import Json

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class _Child(NamedTuple):
    """The position of an object's member or an array's element in the text."""

    key: str  # empty in an array
    start: int  # of the key, or of the element
    value: int
    end: int


def parse_json(source: str) -> dict[str, Json]:
    """Parse strictly; an empty text is an empty object."""
    try:
        tree = json.loads(
            source if source.strip() else "{}", object_pairs_hook=_once, parse_constant=_refuse
        )
    except json.JSONDecodeError as exc:
        raise ConfigError(f"line {exc.lineno} is not plain JSON: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:  # a number of 5000 digits, a thousand brackets
        raise ConfigError(f"it is not JSON for a settings file: {exc}") from exc
    if not isinstance(tree, dict):
        raise ConfigError("it is not a JSON object")
    return tree


def put_member(source: str, path: tuple[str, ...], value: Json) -> str:
    """Put a value at a path of keys, with the objects on the way. `parse_json` read the text."""
    if not source.strip():
        return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    at = _skip(source, 0)
    for depth, key in enumerate(path):
        if source[at] != "{":
            raise ConfigError(f"{'.'.join(path[:depth])!r} in it is not an object")
        child = next((child for child in _children(source, at) if child.key == key), None)
        if child is None:
            name = f"{json.dumps(key, ensure_ascii=False)}: "
            return _insert(source, at, name, _nested(path[depth + 1 :], value))
        at, end, margin = child.value, child.end, _margin(source, child.start)
    return source[:at] + _written(source, value, margin) + source[end:]


def append_element(source: str, key: str, value: Json) -> str:
    """Append an element to the array at a key of the outermost object."""
    children = _children(source, _skip(source, 0)) if source.strip() else []
    child = next((child for child in children if child.key == key), None)
    if child is None:
        return put_member(source, (key,), [value])
    if source[child.value] != "[":
        raise ConfigError(f"{key!r} in it is not a list")
    return _insert(source, child.value, "", value)


def _children(source: str, start: int) -> list[_Child]:
    """The members or elements of the object or array that starts at a position."""
    children, at = [], _skip(source, start + 1)
    while source[at] not in "}]":
        begin, key = at, ""
        if source[start] == "{":
            key, at = _DECODER.raw_decode(source, at)
            at = _skip(source, _skip(source, at) + 1)  # past the colon
        _, end = _DECODER.raw_decode(source, at)
        children.append(_Child(key, begin, at, end))
        at = _skip(source, end)
        at = _skip(source, at + 1) if source[at] == "," else at
    return children


def _insert(source: str, start: int, name: str, value: Json) -> str:
    """Append a child to the object or array at a position, in the layout of its last child."""
    newline, unit, children = _newline(source), _unit(source), _children(source, start)
    if children:
        last = children[-1]
        margin = _margin(source, last.start)
        space = " " if margin is None else f"{newline}{margin}"
        text = _written(source, value, margin)
        return f"{source[: last.end]},{space}{name}{text}{source[last.end :]}"
    before, after = source[: start + 1], source[_skip(source, start + 1) :]
    if unit is None:
        return f"{before}{name}{_written(source, value, None)}{after}"
    line = source[source.rfind("\n", 0, start) + 1 : start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    margin = outer + unit
    text = _written(source, value, margin)
    return f"{before}{newline}{margin}{name}{text}{newline}{outer}{after}"


def _written(source: str, value: Json, margin: str | None) -> str:
    """A value in the layout of its neighbours: indented lines, or one line."""
    unit = None if margin is None else _unit(source)
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return text if unit is None else text.replace("\n", f"{_newline(source)}{margin}")


def _unit(source: str) -> str | None:
    """The indentation of a text; None if it is one line."""
    children = _children(source, _skip(source, 0))
    return _margin(source, children[0].start) if children else "  "


def _newline(source: str) -> str:
    return "\r\n" if "\r\n" in source else "\n"


def _margin(source: str, at: int) -> str | None:
    """The spaces before a position if it is the first on its line, or None."""
    newline = source.rfind("\n", 0, at)
    space = source[newline + 1 : at]
    return None if newline < 0 or space.strip(" \t") else space


def _nested(path: tuple[str, ...], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def _skip(source: str, at: int) -> int:
    match = _SPACE.match(source, at)
    return match.end() if match else at


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"one object has {twice!r} twice")
    return tree


def _refuse(constant: str) -> NoReturn:
    raise ConfigError(f"{constant} is not JSON")


Tree = dict[str, object]


def parse_toml(source: str) -> Tree:
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"it is not TOML: {exc}") from exc
    except RecursionError as exc:
        raise ConfigError("it is nested too deeply") from exc
    except ValueError as exc:  # a number of 5000 digits
        raise ConfigError(f"it is not TOML for a settings file: {exc}") from exc


def put_table(source: str, path: Sequence[str], table: str) -> str:
    """Replace the table at a path and its subtables by a table with its header, or append it.

    The caller parses the result to check it.
    """
    newline = _newline(source)
    lines, wanted = source.splitlines(keepends=True), newline.join(table.split("\n")) + newline
    blocks = list(_blocks(lines, path))
    if not blocks:
        end = "" if not source or source.endswith("\n") else newline
        return f"{source}{end}{newline if source.strip() else ''}{wanted}"
    place = blocks[0].start
    for block in reversed(blocks):
        del lines[block.start : block.stop]
    return "".join([*lines[:place], wanted, *lines[place:]])


def _blocks(lines: list[str], path: Sequence[str]) -> Iterator[range]:
    """The line ranges of the table at a path and its subtables, without trailing comments."""
    at = 0
    while at < len(lines):
        if _is_at(_header(lines, at), path):
            end = next((n for n in range(at + 1, len(lines)) if _header(lines, n)), len(lines))
            last = next(n for n in range(end - 1, at - 1, -1) if not _is_comment(lines[n]))
            yield range(at, last + 1)
            at = end
        else:
            at += 1


def _header(lines: list[str], at: int) -> Tree | None:
    """The tree of a line that is a table's header, or None."""
    if not lines[at].lstrip().startswith("["):
        return None
    try:
        tomllib.loads("".join(lines[:at]))
        return tomllib.loads(lines[at])
    except (ValueError, RecursionError):
        return None


def _is_at(tree: object, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return False
        tree = tree[key]
    return True


def _is_comment(line: str) -> bool:
    return line.strip() == "" or line.lstrip().startswith("#")
