"""Addresses that a terminal opens when a path is clicked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from aurora.types import Chunk

_FILE = "file://{host}{path}#{line}"  # kitty goes to the line, others at least to the file


def make_link(pattern: str, root: Path | None) -> Callable[[Chunk, int], str]:
    """Chunk and line → address, by a pattern such as `vscode://file{path}:{line}`."""
    from platform import node
    from urllib.parse import quote

    host = "" if sys.platform == "win32" else quote(node())  # Windows takes it for a share
    base = root or Path.cwd()

    def link(chunk: Chunk, line: int) -> str:
        path = quote((base / chunk.path).as_posix())
        absolute = path if path.startswith("/") else f"/{path}"  # C:/x on Windows
        address = (pattern or _FILE).replace("{host}", host).replace("{line}", str(line))
        return address.replace("{path}", absolute)

    return link
