"""A disk of a few MiB for a server to fill: a tablespace on it is soon full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.postgres.server import PostgresServer
from tests.small_disk import mounted, remount


@dataclass(frozen=True, slots=True)
class SmallDisk:
    folder: Path

    def grow(self, mebibytes: int) -> None:
        """What an operator does about it."""
        remount(self.folder, f"size={mebibytes}m")


@contextmanager
def small_disk(server: PostgresServer, *, mebibytes: int = 16) -> Iterator[SmallDisk]:
    """A file system of that size, which is an empty folder of the server's account.

    For a server of the test's own: with the disk goes what the server has on it.
    """
    account = server.account
    with mounted(mebibytes, f"uid={account.user}", f"gid={account.group}", "mode=700") as folder:
        yield SmallDisk(folder)
