"""The application of the page: its files, its API, and the guard around both."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aurora.report_types import Finding
from aurora.serving.connections import make_server, run_server
from aurora.serving.pool import MemoryPool
from aurora.web.api import TABLE
from aurora.web.door import Door
from aurora.web.guard import Access, Guard, refuse
from aurora.web.live import Watcher, stream_events
from aurora.web.page_export import export_search, export_session

_AT_ONCE = 4  # requests that are worked on, beside a search
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}  # of built files
VIEWS = ("/", "/sessions", "/sessions/{id:path}", "/lessons", "/agents", "/map", "/health")


class Page:
    """One running `aur ui`."""

    def __init__(
        self,
        pool: MemoryPool,
        listening: socket.socket,
        *,
        examine: Callable[[], Iterable[Finding]],
    ) -> None:
        """The page of these memories at an open socket. `examine` makes the checks of doctor."""
        self._listening = listening
        self._door = Door(pool, Access(listening.getsockname()[1]), examine)

    def new_link(self) -> str:
        """A link that opens the page in one browser."""
        return self._door.access.new_link()

    def serve(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        server = make_server(make_app(self._door, lambda: server.should_exit))
        run_server(server, self._listening)


def export_page(pool: MemoryPool, *, query: str = "", session: str = "") -> str:
    """The search or session as a file of HTML. The pool is read only: an export is no use."""
    door = Door(pool, Access(0), tuple)
    if session:
        return export_session(door, read_page(), session)
    return export_search(door, read_page(), query)


def make_app(door: Door, is_ending: Callable[[], bool]) -> ASGIApp:
    """The page and its API over the memories of this door. Streams end with the server."""
    watcher = Watcher(door)
    turns, search_turn = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(1)
    built = read_page()
    index = built.get("index.html", b"")

    def page(request: Request) -> Response:  # noqa: ARG001
        return HTMLResponse(index)

    def events(request: Request) -> Response:  # noqa: ARG001
        return stream_events(watcher, is_ending)

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name.startswith("api/"):
            return refuse(404, f"There is no /{name}", "/api/openapi.json lists what there is")
        if name not in built:
            return refuse(404, f"There is no /{name}")
        return Response(
            built[name], media_type=_TYPES.get(PurePosixPath(name).suffix, "text/plain")
        )

    routes = [
        *(api.route(door, search_turn if api.is_typed else turns) for api in TABLE),
        Route("/api/events", events, methods=["GET"]),
        *(Route(path, page, methods=["GET"]) for path in VIEWS),
        Route("/{name:path}", asset, methods=["GET"]),
    ]
    app = Starlette(routes=routes)
    return Guard(app, door.access, read_only=door.pool.read_only)


def read_page() -> dict[str, bytes]:
    """All built files by name: they are few and small, and a name cannot lead elsewhere."""
    return dict(_read_files(files("aurora.web") / "page"))


def _read_files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read_files(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry.read_bytes()
