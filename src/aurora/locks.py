"""A lock on an open file, among processes and threads. Who dies lets go of it."""

from __future__ import annotations

import sys
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:  # noqa: ARG001
        """Hold it until the file is closed. `OSError` at once, while another does, or after ten
        seconds with `wait`; here nobody shares one."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def lock(file: BinaryIO, *, shared: bool = False, wait: bool = False) -> None:
        """Hold it until the file is closed, alone or with others who share it. While another holds
        it otherwise: `OSError` at once, or wait. An exclusive lock may become a shared one."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file.fileno(), kind if wait else kind | fcntl.LOCK_NB)
