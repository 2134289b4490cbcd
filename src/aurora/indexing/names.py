"""What the memory calls a file."""

from __future__ import annotations

from pathlib import Path


class Names:
    """Paths below the root are relative to it, so that a project can move; others are absolute."""

    def __init__(self, root: Path | None) -> None:
        self._root = root.resolve() if root is not None else None
        # Of text, because pathlib takes ten times as long and there is a name for every file.
        self._prefix = f"{self._root.as_posix().rstrip('/')}/" if self._root is not None else ""

    def of(self, path: Path) -> str:
        return path.as_posix().removeprefix(self._prefix)

    def path(self, name: str) -> Path:
        return self._root / name if self._root is not None else Path(name)
