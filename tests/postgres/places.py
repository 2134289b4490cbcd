"""Where a server of a test may be: on which port, in which folder."""

from __future__ import annotations

import random
import shutil
import socket
import tempfile
from pathlib import Path

# Below those that systems hand to clients: a client that knocks again and again at a port of that
# kind is one day given it as its own, is connected to itself, and the server cannot come back.
PORTS = range(20_000, 32_000)
MEMORY = Path("/dev/shm")  # noqa: S108 (a folder of our own is made in it)
AMPLE = 2 << 30  # free bytes from which servers may be kept in memory; one takes 50 MB at first


def find_free_port() -> int:
    return next(port for port in random.sample(PORTS, len(PORTS)) if is_free(port))


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def make_folder() -> Path:
    """In memory a database is made in 10 ms; on a disk it takes 50, on a busy one 300."""
    ample = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > AMPLE
    return Path(tempfile.mkdtemp(prefix="aurora-postgres-", dir=MEMORY if ample else None))
