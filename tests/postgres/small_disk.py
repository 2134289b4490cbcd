"""A disk of a few MiB for a server to fill: a tablespace on it is soon full."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres.server import PostgresServer


@contextmanager
def small_disk(server: PostgresServer, *, mebibytes: int = 16) -> Iterator[Path]:
    """An empty folder of the server's account on a file system of that size.

    For a server of the test's own: with the disk goes what the server has on it.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    owner = f"uid={server.account.user},gid={server.account.group},mode=700"
    with tempfile.TemporaryDirectory(prefix="aurora-disk-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,{owner}", "tmpfs", folder]
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)  # the server may be in it
