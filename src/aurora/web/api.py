"""The table of the API of the page. docs/reference/json.md has the objects that commands print."""

from __future__ import annotations

from importlib.metadata import version

from aurora.sources.sessions.readers import agent_names
from aurora.types import Json
from aurora.web import (
    agent_views,
    entry_views,
    health_views,
    map_views,
    search_views,
    trail_views,
)
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
        "generation": door.generation,
    }


def new_link(door: Door) -> dict[str, Json]:
    """A link that opens the page in one other browser."""
    return {"link": door.access.new_link()}


def openapi(door: Door) -> dict[str, Json]:  # noqa: ARG001
    """This description."""
    return describe_all(TABLE, version("aurora-memory"), streams={"/api/events": EVENTS})


EVENTS = (
    "Server-sent events: `change` with the `generation` of the memory, and `run` with the `task`, "
    "`done` and `total` of the index run at work, or null."
)
TABLE = [
    Api("GET", "/api/start", start),
    Api("GET", "/api/search", search_views.search, is_typed=True),
    Api("GET", "/api/chunk", search_views.chunk),
    Api("GET", "/api/file", file),
    Api("GET", "/api/history", trail_views.history),
    Api("GET", "/api/why", trail_views.why),
    Api("GET", "/api/similar", trail_views.similar),
    Api("GET", "/api/sessions", trail_views.sessions),
    Api("GET", "/api/sessions/{id:path}", trail_views.session),
    Api("GET", "/api/lessons", entry_views.lessons),
    Api("GET", "/api/lessons/history", entry_views.entry_history),
    Api("POST", "/api/learn", entry_views.learn),
    Api("POST", "/api/replace", entry_views.replace),
    Api("POST", "/api/forget/preview", entry_views.forget_preview),
    Api("POST", "/api/forget", entry_views.forget),
    Api("GET", "/api/recall", agent_views.recall, is_typed=True),
    Api("GET", "/api/calls", agent_views.calls),
    Api("GET", "/api/savings", agent_views.savings),
    Api("GET", "/api/map/files", map_views.map_files),
    Api("GET", "/api/map/points", map_views.map_points),
    Api("GET", "/api/map/points.bin", map_views.map_points_binary),
    Api("GET", "/api/map/points/near", map_views.map_near),
    Api("GET", "/api/map/lit", map_views.map_lit, is_typed=True),
    Api("GET", "/api/health", health_views.health),
    Api("GET", "/api/doctor", health_views.doctor),
    Api("GET", "/api/selfcheck", health_views.self_check),
    Api("POST", "/api/selfcheck", health_views.start_self_check),
    Api("POST", "/api/links", new_link),
    Api("GET", "/api/openapi.json", openapi),
]
