"""The standard streams as they should be: talk may be lost, and no letter is a failure."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, cast

from aurora.errors import SourceError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def prepare_streams() -> None:
    """Before anything is said. A stream that was closed (`2>&-`) is None, and stays so."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # such as CJK in Latin-1
    if isinstance(sys.stderr, io.TextIOWrapper):
        binary = sys.stderr.buffer
        sys.stderr = io.TextIOWrapper(
            cast("io.BufferedIOBase", _Unheard(getattr(binary, "raw", None) or binary)),
            encoding=sys.stderr.encoding,
            errors=sys.stderr.errors,
            line_buffering=True,
            write_through=True,
        )


def close_stdout() -> None:
    """Python would complain once more when it writes what is left at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def trouble_of_stdout() -> SourceError | None:
    """What to say when standard output takes no more: it still holds what it could not write."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        close_stdout()
        return SourceError(
            f"Standard output cannot be written: {exc.strerror}", hint="check the space left for it"
        )
    return None


class _Unheard(io.RawIOBase):
    """Standard error, whose reader may be gone (`2>&1 | head`): the work goes on without."""

    def __init__(self, stream: io.RawIOBase | BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return self._stream.write(data) or 0
        except OSError:
            return memoryview(data).nbytes
