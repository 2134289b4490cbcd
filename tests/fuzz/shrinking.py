"""A failing input made as short as it goes: what is left is what matters."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

_PATIENCE = 5.0  # seconds: libFuzzer counts them as the input's own


def shrunk(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The shortest part found that still fails: halves are left out, then quarters, and so on."""
    size, end = len(data) // 2, monotonic() + _PATIENCE
    while size:
        at = 0
        while at < len(data):
            if monotonic() > end:
                return data
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data = shorter
            else:
                at += size
        size //= 2
    return data
