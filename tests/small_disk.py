"""A disk of a few MiB, to be filled or mounted read-only: a file system in memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(mebibytes: int, *options: str) -> Iterator[Path]:
    """An empty file system of that size, which anybody may come to."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    with tempfile.TemporaryDirectory(prefix="aurora-disk-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "disk"
        folder.mkdir()
        wanted = ",".join((f"size={mebibytes}m", *options))
        mount = ["mount", "-t", "tmpfs", "-o", wanted, "tmpfs", str(folder)]
        done = subprocess.run(mount, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)  # a server may be in it


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True)
