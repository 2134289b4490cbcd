"""A lock on an open file, among processes and threads. Who dies lets go of it."""

from __future__ import annotations

import sys
from typing import TextIO

if sys.platform == "win32":
    import msvcrt

    def lock(file: TextIO) -> None:
        """Hold it until the file is closed. `OSError` at once, while another does."""
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: TextIO) -> None:
        """Hold it until the file is closed. `OSError` at once, while another does."""
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
