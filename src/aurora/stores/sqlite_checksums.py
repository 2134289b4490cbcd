"""Checksums of rows. SQLite keeps none: a bit that flips on the disk would be another answer.

Every row has one, made when it is written and compared when it is read. A state of a file that is
damaged counts as none: its file is read again.
"""

from __future__ import annotations

import struct
import zlib

from aurora.errors import StoreFormatError

_ACCESS = struct.Struct("<qd")


def checksum(*values: object) -> int:
    """CRC-32 of a row's values. `None` and numbers count as Python writes them, texts as bytes."""
    if bytes not in map(type, values):  # as nearly always, and then three times as quick
        return zlib.crc32("\x1f".join(map(str, values)).encode())
    raw = (value if isinstance(value, bytes) else str(value).encode() for value in values)
    return zlib.crc32(b"\x1f".join(raw))


def access_checksum(row: int, at: float) -> int:
    """The same for an access: a search reads thousands, and this formula is quicker."""
    try:
        return zlib.crc32(_ACCESS.pack(row, at))
    except struct.error:
        return -1  # of values that nobody writes


def damaged(what: str, reason: object = "it is not as it was written") -> StoreFormatError:
    return StoreFormatError(
        f"{what} is damaged: {reason}",
        hint="`aur mem repair` keeps all that can be read, and files are read again",
    )
