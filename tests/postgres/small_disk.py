"""A disk of a few MiB for a server to fill: a tablespace on it is soon full."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.postgres.server import PostgresServer


@dataclass(frozen=True, slots=True)
class SmallDisk:
    folder: Path

    def grow(self, mebibytes: int) -> None:
        """What an operator does about it."""
        subprocess.run(["mount", "-o", f"remount,size={mebibytes}m", self.folder], check=True)


@contextmanager
def small_disk(server: PostgresServer, *, mebibytes: int = 16) -> Iterator[SmallDisk]:
    """A file system of that size, and on it an empty folder of the server's account.

    For a server of the test's own: with the disk goes what the server has on it.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    owner = f"uid={server.account.user},gid={server.account.group},mode=700"
    with tempfile.TemporaryDirectory(prefix="aurora-disk-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,{owner}", "tmpfs", str(folder)]
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
        try:
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)  # the server may be in it
