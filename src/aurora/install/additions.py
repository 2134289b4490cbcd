"""What is added to a file of an agent: put into its text, found again, and taken out.

Each kind changes only its own part: all other bytes stay. Taken out of the text into which it was
put, it leaves the text as it was. The kinds:

    json     a member of a JSON object, such as the entry of a server
    element  an element of a JSON array, such as a hook
    toml     a table of a TOML file
    block    lines between two marks in a Markdown file
    file     a file of its own
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

from aurora.errors import ConfigError
from aurora.install.client_files import (
    append_element,
    cut_child,
    cut_table,
    parse_json,
    parse_toml,
    put_member,
    put_table,
    without_comments,
)
from aurora.install.clients import toml_table
from aurora.types import Json

BEGIN, END = "<!-- aurora:begin -->", "<!-- aurora:end -->"
_BOM = "\ufeff"
_BLOCK = re.compile(
    rf"^{re.escape(BEGIN)}[^\n]*\n.*?^{re.escape(END)}[ \t]*(\r?\n|\Z)", re.M | re.S
)


class Addition(Protocol):
    """A part of a file. The values are frozen and can be written as JSON."""

    kind: ClassVar[str]

    @property
    def place(self) -> object:
        """Two additions of one place are versions of one another."""

    def fitted(self, text: str) -> Self | None:
        """With what must be known of the text to restore it; None if nothing is to be added."""

    def put(self, text: str) -> str:
        """The text with the addition, in the place of an earlier version."""

    def take(self, text: str) -> str:
        """The text without it; the same text if it is not in it."""

    def is_in(self, text: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A value at a path of keys. A `gentle` one leaves any value that is there, and goes only
    when nothing else is left."""

    kind: ClassVar[str] = "json"
    path: tuple[str, ...]
    value: Json
    gentle: bool = False
    made: int = 0  # objects above it that were made with it
    before: Json = None  # the value that it replaced

    @property
    def place(self) -> object:
        return self.kind, self.path

    def fitted(self, text: str) -> Self | None:
        missing, old = _look_up(_parse_json(text), self.path)
        if self.gentle and not missing:
            return None
        return replace(self, made=max(missing - 1, 0), before=old)

    def put(self, text: str) -> str:
        if self.is_in(text):
            return text
        return _with_bom(text, lambda plain: put_member(plain, self.path, self.value))

    def take(self, text: str) -> str:
        tree = _parse_json(text)
        if _look_up(tree, self.path)[0] or (self.gentle and set(tree) != {self.path[0]}):
            return text
        if self.before is not None:
            return _with_bom(text, lambda plain: put_member(plain, self.path, self.before))
        *above, key = self.path
        return _with_bom(text, lambda plain: cut_child(plain, tuple(above), key, self.made))

    def is_in(self, text: str) -> bool:
        missing, value = _look_up(_parse_json(text), self.path)
        return not missing and (self.gentle or value == self.value)


@dataclass(frozen=True, slots=True)
class JsonElement:
    """An element of the array at a path of keys."""

    kind: ClassVar[str] = "element"
    path: tuple[str, ...]
    value: Json
    made: int = 0  # the array and the objects above it that were made with it

    @property
    def place(self) -> object:
        return self.kind, self.path, repr(self.value)

    def fitted(self, text: str) -> Self | None:
        return replace(self, made=_look_up(_parse_json(text), self.path)[0])

    def put(self, text: str) -> str:
        if self.is_in(text):
            return text
        return _with_bom(text, lambda plain: append_element(plain, self.path, self.value))

    def take(self, text: str) -> str:
        elements = self._elements(text)
        if self.value not in elements:
            return text
        number = elements.index(self.value)
        return _with_bom(text, lambda plain: cut_child(plain, self.path, number, self.made))

    def is_in(self, text: str) -> bool:
        return self.value in self._elements(text)

    def _elements(self, text: str) -> list[Json]:
        missing, elements = _look_up(_parse_json(text), self.path)
        if missing:
            return []
        if not isinstance(elements, list):
            raise ConfigError(f"{'.'.join(self.path)!r} in it is not a list")
        return elements


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of strings, lists of strings and booleans."""

    kind: ClassVar[str] = "toml"
    path: tuple[str, ...]
    value: Mapping[str, Json]
    before: Mapping[str, Json] | None = None  # the table that it replaced

    @property
    def place(self) -> object:
        return self.kind, self.path

    def fitted(self, text: str) -> Self | None:
        missing, old = _look_up(_parse_toml(text), self.path)
        return replace(self, before=None if missing else cast("Mapping[str, Json]", old))

    def put(self, text: str) -> str:
        if self.is_in(text):
            return text
        table = toml_table(self.path, self.value)
        return _with_bom(text, lambda plain: put_table(plain, self.path, table))

    def take(self, text: str) -> str:
        if _look_up(_parse_toml(text), self.path)[0]:
            return text
        if self.before is not None:
            table = toml_table(self.path, self.before)
            return _with_bom(text, lambda plain: put_table(plain, self.path, table))
        return _with_bom(text, lambda plain: cut_table(plain, self.path))

    def is_in(self, text: str) -> bool:
        missing, value = _look_up(_parse_toml(text), self.path)
        return not missing and value == self.value


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between our marks; an older block is replaced where it stands."""

    kind: ClassVar[str] = "block"
    value: str  # without the marks

    @property
    def place(self) -> object:
        return self.kind

    def fitted(self, text: str) -> Self | None:  # noqa: ARG002
        return self

    def put(self, text: str) -> str:
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = f"{BEGIN}\n{self.value.strip()}\n{END}\n".replace("\n", newline)
        if found := _find_block(text):
            end = "" if found[1] == "" else newline
            return text[: found.start()] + lines.rstrip("\r\n") + end + text[found.end() :]
        if not text.removeprefix(_BOM).strip():
            return text + lines
        gap = newline if text.endswith("\n") else newline * 2
        return f"{text}{gap}{lines}"

    def take(self, text: str) -> str:
        found = _find_block(text)
        if found is None:
            return text
        head, tail = text[: found.start()], text[found.end() :]
        if not tail:  # it was appended after an empty line
            head = re.sub(r"(\r?\n)\r?\n\Z", r"\1", head)
        return head + tail

    def is_in(self, text: str) -> bool:
        return _find_block(text) is not None and self.put(text) == text


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A whole file. Another content of it is replaced only if we wrote it."""

    kind: ClassVar[str] = "file"
    value: str

    @property
    def place(self) -> object:
        return self.kind

    def fitted(self, text: str) -> Self | None:  # noqa: ARG002
        return self

    def put(self, text: str) -> str:  # noqa: ARG002
        return self.value

    def take(self, text: str) -> str:
        return "" if text == self.value else text

    def is_in(self, text: str) -> bool:
        return text == self.value


def inherit(new: Addition, old: Addition) -> Addition:
    """A newer version, with what the older one knows of the text before it."""
    if isinstance(new, JsonMember) and isinstance(old, JsonMember):
        return replace(new, made=old.made, before=old.before)
    if isinstance(new, JsonElement) and isinstance(old, JsonElement):
        return replace(new, made=old.made)
    if isinstance(new, TomlTable) and isinstance(old, TomlTable):
        return replace(new, before=old.before)
    return new


_KINDS: dict[str, type[Any]] = {
    kind.kind: kind for kind in (JsonMember, JsonElement, TomlTable, Block, OwnFile)
}


def to_record(addition: Addition) -> dict[str, Json]:
    values = cast("dict[str, Json]", asdict(cast("Any", addition)))
    return {"kind": addition.kind, **values}


def from_record(record: Mapping[str, Any]) -> Addition:
    """Raises `KeyError` or `TypeError` for a record of another shape."""
    values = {name: value for name, value in record.items() if name != "kind"}
    if "path" in values:
        values["path"] = tuple(values["path"])
    return cast("Addition", _KINDS[record["kind"]](**values))


def _look_up(tree: object, path: tuple[str, ...]) -> tuple[int, Json]:
    """How many keys at the end of a path are missing, and the value if none is."""
    for depth, key in enumerate(path):
        if not isinstance(tree, dict):
            raise ConfigError(f"{'.'.join(path[:depth])!r} in it is not an object")
        if key not in tree:
            return len(path) - depth, None
        tree = tree[key]
    return 0, cast("Json", tree)


def _parse_json(text: str) -> dict[str, Json]:
    return parse_json(without_comments(text.removeprefix(_BOM)))


def _parse_toml(text: str) -> dict[str, object]:
    return parse_toml(text.removeprefix(_BOM))


def _with_bom(text: str, edit: Callable[[str], str]) -> str:
    plain = text.removeprefix(_BOM)
    return f"{text[: len(text) - len(plain)]}{edit(plain)}"


def _find_block(text: str) -> re.Match[str] | None:
    found = _BLOCK.search(text)
    if found is None and BEGIN in text:
        line = text[: text.index(BEGIN)].count("\n") + 1
        raise ConfigError(f"the block that begins in line {line} has no line {END!r}")
    return found
