"""Bytes from a stream into a file, or only counted: never more than allowed, and with a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO, Protocol

from aurora.errors import EmbeddingError
from aurora.types import Listener, Progress, ignore_events

MEGABYTE = 1_000_000
LARGEST = 4_000 * MEGABYTE  # weights of the largest encoders
LARGEST_TEXT = 100 * MEGABYTE  # a tokenizer of 250,000 pieces has 17
_PIECE = 1 << 20


class Readable(Protocol):
    """A stream that may give fewer bytes than asked for, and none at its end."""

    def read(self, size: int, /) -> bytes: ...


def copy(
    stream: Readable,
    out: BinaryIO,
    *,
    limit: int,
    task: str,
    total: int = 0,
    listen: Listener = ignore_events,
) -> str:
    """Returns the sha256 of what was copied. More than `limit` bytes are an error."""
    digest, done = hashlib.sha256(), 0
    while piece := stream.read(_PIECE):
        done += len(piece)
        if done > limit:
            raise EmbeddingError(f"{task}: more than {limit // MEGABYTE} MB")
        digest.update(piece)
        out.write(piece)
        listen(Progress(f"{task} (MB)", done // MEGABYTE, total // MEGABYTE))
    return digest.hexdigest()


class _Nowhere:
    def write(self, piece: bytes) -> int:
        return len(piece)


def sha256_of(path: Path, listen: Listener = ignore_events) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return copy(
                file,
                _Nowhere(),  # type: ignore[arg-type]
                limit=LARGEST,
                task=f"Checking {path.name}",
                total=size,
                listen=listen,
            )
    except OSError as exc:
        raise EmbeddingError(f"{path} cannot be read: {exc.strerror or exc}") from exc


def require_digest(name: str, found: str, expected: str) -> None:
    """Refuse what is not what it is said to be."""
    if found != expected:
        raise EmbeddingError(
            f"{name} has the sha256 {found}, not {expected}",
            hint="it is damaged, or another file than the one known here: get it from elsewhere",
        )


def limit_of(name: str) -> int:
    """How many bytes a file of that name may have."""
    return LARGEST_TEXT if name.endswith(".json") else LARGEST
