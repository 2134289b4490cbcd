"""Where the user's conversation logs lie: `YYYY/MM/*.md` below one folder (seed 000, FR-3.2)."""

from __future__ import annotations

from pathlib import Path

from aurora.types import Listener, Note, ignore_events

_PATTERN = "[0-9][0-9][0-9][0-9]/[0-9][0-9]/*.md"


def find_logs(folder: Path, *, shown: str = "", listen: Listener = ignore_events) -> list[Path]:
    """All logs, oldest month first; when there are none, a warning says so (FR-3.6).

    `shown` is the folder as a person would write it. Links are not followed, as everywhere.
    """
    logs = [path for path in sorted(folder.glob(_PATTERN)) if _is_real(path)]
    if not logs:
        listen(Note(f"No conversation logs found in {shown or folder}", warning=True))
    return logs


def _is_real(path: Path) -> bool:
    linked = any(place.is_symlink() for place in (path, path.parent, path.parent.parent))
    return path.is_file() and not linked
