"""Providers that tests send to other processes, which find them here by their names."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import EmbeddingError
from tests.indexing.providers import VowelProvider

DOOMED = "DOOMED_NODE"  # in the environment of a node that a test will kill
PATIENCE = 60.0  # seconds; `ray.wait` drops what a test's time limit raises, so work has its own


@dataclass
class NodeProvider(VowelProvider):
    """Leaves the name of its node in a folder, and begins when two are there. On the node that is
    to be killed it never ends its second batch."""

    folder: Path = Path()

    def __post_init__(self) -> None:
        """Here and not with a batch: of one that fails, each text would be tried again."""
        import ray

        (self.folder / ray.get_runtime_context().get_node_id()).touch()
        deadline = time.monotonic() + PATIENCE
        while len(list(self.folder.iterdir())) < 2:
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {PATIENCE:.0f} s for the other node to work")
            time.sleep(0.01)

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        while self.asked and DOOMED in os.environ:
            time.sleep(0.01)
        return super().embed_batch(texts)


another_version = partial(VowelProvider, fingerprint="2")


def no_model() -> EmbeddingProvider:
    raise EmbeddingError("There is no model vowels", hint="get it")
