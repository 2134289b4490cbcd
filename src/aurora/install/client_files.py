"""Put a value into a JSON text or a table into a TOML text, or cut it out; other bytes stay.

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
_STRING = (
    r'"(?:[^"\\\n]|\\.)*+(?:"|$|\Z)'  # one that does not end is read once, not from each place
)
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL | re.MULTILINE)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.MULTILINE)


class _Child(NamedTuple):
    """The position of an object's member or an array's element in the text."""

    key: str  # empty in an array
    start: int  # of the key, or of the element
    value: int
    end: int


class Splice(NamedTuple):
    """A text to put in place of a range of another."""

    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def without_comments(source: str) -> str:
    """The text with spaces for comments and for commas before a bracket: every place stays."""
    plain = _COMMENT.sub(lambda found: _blank(found[0]), source)
    return _LAST_COMMA.sub(lambda found: found[1] or " ", plain)


def _blank(token: str) -> str:
    return token if token[0] == '"' else re.sub(r"[^\r\n]", " ", token)


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
    """Put a value at a path of keys, with the objects on the way.

    `parse_json` read the text, if need be without its comments, which stay.
    """
    plain = without_comments(source)
    if not plain.strip():
        head = source if source.strip() else ""  # comments
        return f"{head}{json.dumps(_nested(path, value), indent=2, ensure_ascii=False)}\n"
    at = _skip(plain, 0)
    for depth, key in enumerate(path):
        if plain[at] != "{":
            raise ConfigError(f"{'.'.join(path[:depth])!r} in it is not an object")
        child = next((child for child in _children(plain, at) if child.key == key), None)
        if child is None:
            name = f"{json.dumps(key, ensure_ascii=False)}: "
            return _insertion(plain, source, at, name, _nested(path[depth + 1 :], value)).apply(
                source
            )
        at, end, margin = child.value, child.end, _margin(plain, child.start)
    return Splice(at, end, _written(plain, value, margin)).apply(source)


def append_element(source: str, path: str | tuple[str, ...], value: Json) -> str:
    """Append an element to the array at a path of keys, which is made if need be."""
    path = (path,) if isinstance(path, str) else path
    plain = without_comments(source)
    at = _find(plain, path)
    if at is None:
        return put_member(source, path, [value])
    if plain[at] != "[":
        raise ConfigError(f"{'.'.join(path)!r} in it is not a list")
    return _insertion(plain, source, at, "", value).apply(source)


def cut_child(source: str, path: tuple[str, ...], place: str | int, made: int = 0) -> str:
    """Remove a member by its key, or an element by its number, of the object or array at a path,
    and the nearest `made` objects and arrays above it that are then empty."""
    plain = without_comments(source)
    at = _find(plain, path)
    if at is None:
        return source
    children = _children(plain, at)
    number = next(
        (
            n
            for n, each in enumerate(children)
            if place == (n if isinstance(place, int) else each.key)
        ),
        None,
    )
    if number is None:
        return source
    if len(children) == 1 and made and path:
        return cut_child(source, path[:-1], path[-1], made - 1)
    for splice in reversed(_removal(plain, source, at, children, number)):
        source = splice.apply(source)
    return source


def _removal(
    plain: str, source: str, start: int, children: list[_Child], number: int
) -> list[Splice]:
    """Remove a child with one of the commas beside it. Comments between its neighbours stay."""
    child = children[number]
    if number:
        begin, end = children[number - 1].end, child.end
        if not source[begin : child.start].replace(",", "", 1).strip():
            return [Splice(begin, end, "")]
        comma = plain.index(",", begin)
        return [Splice(comma, comma + 1, ""), Splice(child.start, end, "")]
    if len(children) > 1:
        after = children[1].start
        if not source[child.end : after].replace(",", "", 1).strip():
            return [Splice(child.start, after, "")]
        return [Splice(child.start, plain.index(",", child.end) + 1, "")]
    close = _skip(plain, child.end)
    around = source[start + 1 : child.start] + source[child.end : close]
    if not around.strip(" \t\r\n,"):
        return [Splice(start + 1, close, "")]
    comma = source.find(",", child.end, close)
    is_comma = comma >= 0 and not source[child.end : comma].strip()
    return [Splice(child.start, comma + 1 if is_comma else child.end, "")]


def _find(plain: str, path: tuple[str, ...]) -> int | None:
    """The position of the value at a path of keys."""
    if not plain.strip():
        return None
    at = _skip(plain, 0)
    for depth, key in enumerate(path):
        if plain[at] != "{":
            raise ConfigError(f"{'.'.join(path[:depth])!r} in it is not an object")
        child = next((child for child in _children(plain, at) if child.key == key), None)
        if child is None:
            return None
        at = child.value
    return at


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


def _insertion(plain: str, source: str, start: int, name: str, value: Json) -> Splice:
    """Append a child to the object or array at a position, in the layout of its last child."""
    newline, unit, children = _newline(plain), _unit(plain), _children(plain, start)
    if children:
        last = children[-1]
        margin = _margin(plain, last.start)
        space = " " if margin is None else f"{newline}{margin}"
        text = _written(plain, value, margin)
        return Splice(last.end, last.end, f",{space}{name}{text}")
    begin, end = start + 1, _skip(plain, start + 1)
    comment = source[begin:end].rstrip()
    begin += len(comment)
    if unit is None:
        text = f"{name}{_written(plain, value, None)}"
        return Splice(begin, end, f"{newline}{text}{newline}" if comment else text)
    line = plain[plain.rfind("\n", 0, start) + 1 : start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    margin = outer + unit
    text = _written(plain, value, margin)
    return Splice(begin, end, f"{newline}{margin}{name}{text}{newline}{outer}")


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


def cut_table(source: str, path: Sequence[str]) -> str:
    """Remove the table at a path and its subtables; at the end also the empty line before them."""
    lines = source.splitlines(keepends=True)
    for block in reversed(list(_blocks(lines, path))):
        is_last, above = block.stop == len(lines), block.start - 1
        first = above if is_last and above >= 0 and not lines[above].strip() else block.start
        del lines[first : block.stop]
    return "".join(lines)


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
