"""What the memory calls a file."""

from __future__ import annotations

from pathlib import Path


class Names:
    """Paths below the root are relative to it, so that a project can move; others are absolute."""

    def __init__(self, root: Path | None) -> None:
        self._root = root.resolve() if root is not None else None

    def of(self, path: Path) -> str:
        if self._root is not None and path.is_relative_to(self._root):
            path = path.relative_to(self._root)
        return path.as_posix()

    def path(self, name: str) -> Path:
        return self._root / name if self._root is not None else Path(name)
