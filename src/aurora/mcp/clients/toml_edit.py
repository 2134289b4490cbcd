"""One table put into a TOML text; every other byte of it stays.

The table is found by asking the parser: a line begins a table if it is a table's header by itself
and what is before it is a whole document, so that it stands in no string and no list.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence

from aurora.errors import ConfigError

Tree = dict[str, object]


def parse_toml(source: str) -> Tree:
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"it is not TOML: {exc}") from exc
    except RecursionError as exc:
        raise ConfigError("it is nested too deeply") from exc
    except ValueError as exc:  # a number of 5000 digits
        raise ConfigError(f"it is no TOML for a settings file: {exc}") from exc


def put_table(source: str, path: Sequence[str], table: str) -> str:
    """The text with a table, its header included, in place of the one at its path with all that
    is below it; or at the end. Whether it holds what it should is for the caller to see."""
    newline = "\r\n" if "\r\n" in source else "\n"
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
    """The lines of the tables at a path and below it. What follows a table's last value (comments
    and empty lines) is not of the table."""
    at = 0
    while at < len(lines):
        if _is_at(_header(lines, at), path):
            end = next((n for n in range(at + 1, len(lines)) if _header(lines, n)), len(lines))
            last = next(n for n in range(end - 1, at - 1, -1) if not _is_remark(lines[n]))
            yield range(at, last + 1)
            at = end
        else:
            at += 1


def _header(lines: list[str], at: int) -> Tree | None:
    """The tree that a line makes as a header; nothing if it is none."""
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


def _is_remark(line: str) -> bool:
    return line.strip() == "" or line.lstrip().startswith("#")
