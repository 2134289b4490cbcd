"""Where tests write: in memory, where there is room."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

ROOM = 6_000_000_000  # bytes: more than all tests leave behind at once
MEMORY = Path("/dev/shm")  # noqa: S108 - every test has a folder of its own there


def folder_in_memory() -> Path | None:
    """A folder in memory, if there is room and programs may run from it."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        return None
    try:
        with tempfile.TemporaryDirectory(dir=MEMORY) as scratch:
            subprocess.run([shutil.copy("/bin/true", scratch)], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return MEMORY
