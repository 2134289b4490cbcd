"""Small builders, so that a test shows only what matters to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from aurora.engine.adoption import memories_locked, remember
from aurora.indexing.session_chunks import exchange_chunks
from aurora.parsers.registry import parser_for
from aurora.redaction import Redactor
from aurora.sources.sessions.base import Exchange, Session, ToolUse
from aurora.stores.base import Store
from aurora.types import REPLACED_BY, Chunk, Document, Kind, Lines

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SESSION_ID = "5e551011-aaaa-4000-8000-000000000001"


def note_as_own(home: Path, database: Path) -> None:
    """As if the user had made a memory in its place: a copy or an unpacked one is unknown."""
    with memories_locked(home):
        remember(home, database)


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


def make_exchange(
    asked: str = "Why?",
    answered: str = "So.",
    *tools: ToolUse,
    session: str = SESSION_ID,
    agent: str = "codex",
    title: str = "",
    **facts: object,
) -> list[Chunk]:
    """The chunks of one exchange with an agent; any field of the exchange, `project` and
    `parent` can be given."""
    values: dict[str, object] = {
        "id": f"{agent}:{session}:{asked}", "time": NOW, "model": "gpt-6", "branch": "main",
    } | facts  # fmt: skip
    project, parent = str(values.pop("project", "/code/shop")), str(values.pop("parent", ""))
    exchange = Exchange(
        agent=agent, session=session, asked=asked, answered=answered, tools=tools, **values  # type: ignore[arg-type]
    )  # fmt: skip
    path = Path(f"/transcripts/{session}.jsonl")
    of = Session(agent, session, path, title=title or asked, project=project, parent=parent)
    return exchange_chunks(of, exchange, Redactor())


def parse(text: str, path: str = "a.py") -> list[Chunk]:
    """The chunks of a text, by the parser its path asks for."""
    return list(parser_for(path).parse(Document(path, text)).chunks)


def hide(store: Store, chunk_id: str, *, by: str | None = "another") -> None:
    """As if another entry had replaced a chunk; found again if it is replaced by None."""
    chunks = store.chunks.get_chunks([chunk_id])
    store.chunks.put_chunks(
        replace(chunk, metadata={**chunk.metadata, REPLACED_BY: by}) for chunk in chunks
    )


def write_tree(root: Path, files: dict[str, str | bytes]) -> Path:
    """Files with their contents below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
