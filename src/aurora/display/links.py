"""Addresses of files, for a terminal or a browser to open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aurora.platforms import link_host
from aurora.types import Chunk

_FILE_LINK = "file://{host}{path}#{line}"  # kitty opens the line, other terminals the file


def make_link(pattern: str, root: Path | None) -> Callable[[Chunk, int], str]:
    """A function from chunk and line to an address, by a pattern as `vscode://file{path}:{line}`.

    Without a pattern, it is a `file:` address.
    """
    from platform import node  # noqa: PLC0415 - a search without links imports neither
    from urllib.parse import quote  # noqa: PLC0415

    host = quote(link_host(node()))
    base = root or Path.cwd()  # stored paths start here

    def link(chunk: Chunk, line: int) -> str:
        path = quote((base / chunk.path).as_posix())
        absolute = path if path.startswith("/") else f"/{path}"  # C:/x on Windows
        address = (pattern or _FILE_LINK).replace("{host}", host).replace("{line}", str(line))
        return address.replace("{path}", absolute)

    return link
