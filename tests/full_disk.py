"""A disk that has no room, for this process: the real refusal of the system, without a disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform != "win32":
    import resource


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Whatever this process writes beyond that many bytes of a file fails."""
    usual, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, most))
