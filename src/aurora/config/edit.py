"""Writes one setting into a settings file that a person edits too.

Only one line changes, so comments, order, quotes and indentation stay. The new text is parsed
before it replaces the file. Where editing a line does not give exactly the wanted settings (flow
style, anchors), a YAML library that keeps comments rewrites the file.
"""

from __future__ import annotations

import io
import json
import re
import reprlib
from collections.abc import Collection, Mapping
from pathlib import Path

from ruamel.yaml import YAML

from aurora.config.load import NOT_SHOWN, without_secrets
from aurora.config.places import shown
from aurora.config.schema import known_setting
from aurora.config.yaml import YamlError, parse_yaml
from aurora.errors import ConfigError
from aurora.files import make_folder, replacing

_MOST_NODES = 100_000  # more than any settings file holds
# Possessive quantifiers keep long runs of spaces linear.
_VALUE = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:''|[^'])*'|(?>[^\s#]++(?:\s++[^\s#]++)*)|)(?=\s+#|\s*$)"""
)
_KEY = re.compile(
    r"""^(?P<indent> *)(?P<quote>["']?)(?P<name>[^\s"'#:]+)(?P=quote)\s*:(?P<rest>\s.*|)$"""
)


def set_value(file: Path, key: str, raw: str) -> object:
    """Set one setting in a YAML file, which is created if needed; returns the parsed value."""
    setting = known_setting(key)
    key = setting.key
    try:
        raw.encode()  # typed arguments may be any bytes; a file holds text
        value = setting.parse(setting.read(raw))
    except ValueError as exc:
        got = NOT_SHOWN if setting.may_hold_password else without_secrets(raw)
        raise ConfigError(f"Invalid value for {key}: {exc} (got {got})") from exc
    source = _read(file)
    edited = _with_value(source.replace("\r\n", "\n"), key, value, origin=shown(file))
    _write(file, edited.replace("\n", "\r\n") if "\r\n" in source else edited)
    return value


def _with_value(source: str, key: str, value: object, *, origin: str) -> str:
    try:
        tree = parse_yaml(source.encode())
    except YamlError as exc:
        raise ConfigError(f"Invalid config in {origin}:\n  - {exc}") from exc
    if tree is not None and not isinstance(tree, Mapping):
        problem = f"Must hold settings (got {reprlib.repr(tree)})"
        raise ConfigError(f"Invalid config in {origin}:\n  - {problem}")
    if _expands_too_far(tree):
        raise ConfigError(
            f"Cannot set {key} in {origin}: its aliases unfold to more than {_MOST_NODES:,} values",
            hint="write out what it shares by anchors, or edit it by hand",
        )
    path = key.split(".")
    wanted = _nested(tree or {}, path, value)
    edited = _edit_lines(source, path, _scalar(value))
    if _holds(edited, wanted):
        return edited
    rewritten = _rewrite(source, path, value)
    if _holds(rewritten, wanted):
        return rewritten
    raise ConfigError(
        f"Cannot set {key} in {origin} and leave all else as it is",
        hint="the file shares values by anchors; edit it by hand",
    )


def _expands_too_far(tree: object) -> bool:
    """True when aliases expand to more values than can be compared, or contain themselves."""
    waiting, count = [tree], 1
    while waiting and count <= _MOST_NODES:
        node = waiting.pop()
        inside = node.values() if isinstance(node, Mapping) else node
        if isinstance(inside, Collection) and not isinstance(inside, str | bytes):
            waiting += inside
            count += len(inside)
    return count > _MOST_NODES


def _holds(source: str, wanted: Mapping[str, object]) -> bool:
    try:
        return parse_yaml(source.encode()) == wanted
    except (YamlError, RecursionError):  # an alias may contain itself
        return False


def _edit_lines(source: str, path: list[str], scalar: str) -> str:
    """Replace the value of the key, or add the missing lines to its section."""
    lines = source.splitlines()
    default_step = next((_indent(line) for line in lines if _KEY.match(line) and _indent(line)), 2)
    start, end, indent = 0, len(lines), 0
    for depth, name in enumerate(path):
        number = _find_key(lines, start, end, name)
        if number is None:
            step = default_step if depth == 0 else max(indent - _indent(lines[start - 1]), 1)
            missing = _block(path[depth:], scalar, indent, step)
            return "\n".join([*lines[:end], *missing, *lines[end:]]) + "\n"
        if depth == len(path) - 1:
            lines[number] = _replace_value(lines[number], scalar)
            return "\n".join(lines) + "\n"
        start, end, indent = _section(lines, number, end, step=default_step)
    return source


def _find_key(lines: list[str], start: int, end: int, name: str) -> int | None:
    """Return the line number of a key among the direct children between two lines."""
    level: int | None = None
    for number in range(start, end):
        match = _KEY.match(lines[number])
        if match is None:
            continue
        level = len(match["indent"]) if level is None else level
        if match["name"] == name and len(match["indent"]) == level:
            return number
    return None


def _section(lines: list[str], header: int, end: int, *, step: int) -> tuple[int, int, int]:
    """Return the first line, the line after the last, and the indentation of a section."""
    outer = _indent(lines[header])
    last, indent = header, outer + step
    for number in range(header + 1, end):
        text = lines[number].strip()
        if not text or text.startswith("#"):
            continue
        if _indent(lines[number]) <= outer:
            break
        indent = _indent(lines[number]) if last == header else indent
        last = number
    return header + 1, last + 1, indent


def _block(path: list[str], scalar: str, indent: int, step: int) -> list[str]:
    heads = [f"{' ' * (indent + step * depth)}{name}:" for depth, name in enumerate(path)]
    return [*heads[:-1], f"{heads[-1]} {scalar}"]


def _replace_value(line: str, scalar: str) -> str:
    head, colon, tail = line.partition(":")
    space = tail[: len(tail) - len(tail.lstrip())] or " "
    old = _VALUE.match(tail.lstrip())
    return f"{head}{colon}{space}{scalar}{tail.lstrip()[old.end() :]}" if old else line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _nested(tree: Mapping[str, object], path: list[str], value: object) -> dict[str, object]:
    if len(path) == 1:
        return {**tree, path[0]: value}
    below = tree.get(path[0])
    inner = below if isinstance(below, Mapping) else {}
    return {**tree, path[0]: _nested(inner, path[1:], value)}


def _rewrite(source: str, path: list[str], value: object) -> str:
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 10_000  # only one line is to change
    tree = yaml.load(source)
    tree = {} if tree is None else tree
    section = tree
    for name in path[:-1]:
        if not isinstance(section.get(name), dict):
            section[name] = {}
        section = section[name]
    section[path[-1]] = value
    out = io.StringIO()
    yaml.dump(tree, out)
    return out.getvalue()


def _scalar(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./-]*", value):
        return json.dumps(value) if parse_yaml(value.encode()) != value else value
    return json.dumps(value, ensure_ascii=False)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as exc:
        raise ConfigError(f"Cannot read {shown(file)}: {exc}") from exc


def _write(file: Path, source: str) -> None:
    """Replace the file atomically; a link to it stays a link."""
    target = file.resolve()
    try:
        make_folder(target.parent)
        with replacing(target, durable=True, keep_mode=True) as out:
            out.write(source.encode())
    except OSError as exc:
        raise ConfigError(
            f"Cannot write {shown(file)}: {exc}",
            hint="check who owns the folder and whether the disk is full",
        ) from exc
