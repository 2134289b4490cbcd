"""Where tests write: in memory, where there is room."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOM = 6_000_000_000  # bytes: more than all tests leave behind at once
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made below it


def folder_in_memory() -> Path | None:
    """A folder of the user's in memory, if there is room and programs may run from it."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    try:
        folder = MEMORY / f"aurora-{os.getuid()}"
        folder.mkdir(mode=0o755, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            program = shutil.copy("/bin/true", scratch)
            subprocess.run([program], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return folder if folder.stat().st_uid == os.getuid() else None
