"""A lock on an open file, among processes and threads. Who dies lets go of it."""

from __future__ import annotations

import sys
from typing import TextIO

if sys.platform == "win32":
    import msvcrt

    def lock(file: TextIO, *, shared: bool = False) -> None:  # noqa: ARG001
        """Hold it until the file is closed. `OSError` at once, while another does; here nobody
        shares one."""
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: TextIO, *, shared: bool = False) -> None:
        """Hold it until the file is closed, alone or with others who share it. `OSError` at once,
        while another holds it otherwise. Who holds it alone may come to share it."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file.fileno(), kind | fcntl.LOCK_NB)
