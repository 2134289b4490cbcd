"""The models that several tests run, converted once for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.onnx.provider import OnnxProvider
from tests.embeddings.models import convert_minilm

settings.register_profile("aurora", deadline=None)  # time is no property of what is tested
settings.load_profile("aurora")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first: one that begins last would have all other processors wait."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with MiniLM in it, the same for all workers. Nobody may change it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist
    convert_minilm(shared / "models")
    return shared / "models"


@pytest.fixture(scope="session")
def minilm(models: Path) -> OnnxProvider:
    return OnnxProvider(ProviderOptions(models=models))
