"""`aurora_status`: what the memories of this server hold, and how fresh they are."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult

from aurora.errors import NoMemoryError
from aurora.mcp.desk import Desk, hearing
from aurora.mcp.finding import index_age
from aurora.mcp.indexing import Runs
from aurora.mcp.shapes import MemoryStatus, Status
from aurora.mcp.tooling import READS, answer, make_tool, telling
from aurora.mcp.wording import said

_NAMESPACES = 50  # named, the largest first


def status_tool(desk: Desk, runs: Runs, *, read_only: bool) -> Tool:
    @telling
    def aurora_status() -> Annotated[CallToolResult, Status]:
        """Tell which memories there are, what they hold, how fresh they are and whether an index
        run is going on. Use it when a search finds nothing, or to learn names of memories and
        namespaces."""
        memories = [_status(desk, runs, name) for name in desk.names]
        made = Status(version=program_version(), read_only=read_only, memories=memories)
        return answer(made, "\n".join(map(_line, memories)))

    return make_tool(aurora_status, "Look at the memory", READS)


def program_version() -> str:
    try:
        return version("aurora-memory")
    except PackageNotFoundError:  # run from a folder
        return "unknown"


def _status(desk: Desk, runs: Runs, name: str) -> MemoryStatus:
    memory = desk.memory(name)
    made = MemoryStatus(
        name=name,
        folder=str(memory.root or desk.folders[name]),
        exists=True,
        indexing=runs.words(name),
    )
    try:
        with hearing() as told:
            stats = memory.stats()
    except NoMemoryError:
        made.exists = False
        return made
    largest = sorted(stats.namespaces.items(), key=lambda item: (-item[1], item[0]))
    made.database = str(stats.name)
    made.chunks = sum(stats.chunks.values())
    made.kinds = {str(kind): count for kind, count in stats.chunks.items()}
    made.files = stats.files
    made.namespaces = dict(largest[:_NAMESPACES])
    made.embedder = stats.embedder.name if stats.embedder else None
    made.embedded = stats.embedded
    made.keyword_index = str(stats.index.state)
    made.index = index_age(memory)
    made.notes = told or None
    return made


def _line(memory: MemoryStatus) -> str:
    if not memory.exists:
        words = "nothing indexed yet: call aurora_index"
    else:
        age = memory.index.age_seconds if memory.index else None
        fresh = "files never indexed" if age is None else f"files indexed {age} s ago"
        meaning = f"meaning by {memory.embedder}" if memory.embedder else "by words alone"
        words = f"{memory.chunks} chunks of {memory.files} files, {fresh}, {meaning}"
    going = f"; indexing now: {memory.indexing}" if memory.indexing else ""
    return said(f"{memory.name} ({memory.folder}): {words}{going}", memory.notes or [])
