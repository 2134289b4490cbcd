"""Ports for servers that come back on the same one."""

from __future__ import annotations

import random
import socket

# Below those that systems hand to clients: a client that knocks again and again at a port of that
# kind is one day given it as its own, is connected to itself, and the server cannot come back.
RANGE = range(20_000, 32_000)


def find_free_port() -> int:
    return next(port for port in random.sample(RANGE, len(RANGE)) if is_free(port))


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
