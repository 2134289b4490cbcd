"""Files of a known model in an installed package, which is found and never imported."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from aurora.embeddings.onnx.catalogue import KnownModel


def package_folder(known: KnownModel) -> Path | None:
    """Where the package has the model's files; None where it is not installed, or has none."""
    try:
        folder = Path(str(distribution(known.package).locate_file(known.folder)))
    except PackageNotFoundError:
        return None
    return folder if all((folder / name).is_file() for name in known.files) else None
