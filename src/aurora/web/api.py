"""The table of the API of the page. docs/reference/json.md has the objects that commands print."""

from __future__ import annotations

from importlib.metadata import version

from aurora.sources.sessions.readers import agent_names
from aurora.types import Json
from aurora.web import search_views
from aurora.web.door import Door
from aurora.web.file_text import file
from aurora.web.routes import Api, describe_all


def start(door: Door) -> dict[str, Json]:
    """What the page needs to know first."""
    memory = door.memory
    return {
        "version": version("aurora-memory"),
        "read_only": door.pool.read_only,
        "root": str(memory.root) if memory.root else None,
        "memory": memory.label,
        "memories": [*memory.layers(workspace=True)],
        "editor": "vscode",
        "agents": [*agent_names()],
        "exists": memory.exists,
    }


def new_link(door: Door) -> dict[str, Json]:
    """A link that opens the page in one other browser."""
    return {"link": door.access.new_link()}


def openapi(door: Door) -> dict[str, Json]:  # noqa: ARG001
    """This description."""
    return describe_all(TABLE, version("aurora-memory"))


TABLE = [
    Api("GET", "/api/start", start),
    Api("GET", "/api/search", search_views.search),
    Api("GET", "/api/chunk", search_views.chunk),
    Api("GET", "/api/file", file),
    Api("POST", "/api/links", new_link),
    Api("GET", "/api/openapi.json", openapi),
]
