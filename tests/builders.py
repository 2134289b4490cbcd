"""Small builders, so that a test shows only what matters to it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from aurora.config.trust import KnownMemory, memories_locked, remember_memory
from aurora.parsers.registry import parser_for
from aurora.stores.sqlite.database_file import identity_of
from aurora.types import Chunk, Document, Kind, Lines

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def note_as_own(home: Path, database: Path) -> None:
    """As if the user had made a memory in its place: a copy or an unpacked one is unknown."""
    with memories_locked(home):
        remember_memory(home, database, KnownMemory(identity_of(database) or ""))


def make_chunk(
    content: str = "def f(): pass", path: str = "a.py", name: str = "f", **fields: object
) -> Chunk:
    """A chunk of one function; any field can be given."""
    values: dict[str, object] = {
        "id": f"{path}:{name}",
        "kind": Kind.FUNCTION,
        "name": name,
        "content": content,
        "qualified_name": name,
        "path": path,
        "lines": Lines(1, content.count("\n") + 1),
        "language": "python",
    }
    return Chunk(**values | fields)  # type: ignore[arg-type]


def parse(text: str, path: str = "a.py") -> list[Chunk]:
    """The chunks of a text, by the parser its path asks for."""
    return list(parser_for(path).parse(Document(path, text)).chunks)


def write_tree(root: Path, files: dict[str, str | bytes]) -> Path:
    """Files with their contents below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
