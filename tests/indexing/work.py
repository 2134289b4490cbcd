"""Functions that tests send to other processes: those find them here, by their names."""

from __future__ import annotations

import os
import signal
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


def double(batch: Sequence[int]) -> list[int]:
    return [2 * number for number in batch]


def refuse_seven(batch: Sequence[int]) -> list[int]:
    if 0 < batch[0] < 7 and batch[0] % 2:
        time.sleep(0.2)  # so that seven may be refused before all others are done
    if 7 in batch:
        raise EmbeddingError("Seven is not wanted", hint="take eight")
    return double(batch)


def tell_process(batch: Sequence[int]) -> int:  # noqa: ARG001
    return os.getpid()


@dataclass(frozen=True)
class DieOnce:
    """Its process is killed at the number 7, as often as there are tokens in a folder."""

    tokens: Path

    def __call__(self, batch: Sequence[int]) -> list[int]:
        if 7 in batch:
            for token in self.tokens.iterdir():
                token.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return double(batch)


@dataclass
class ProcessProvider(VowelProvider):
    """Leaves the number of the process that embeds in a folder."""

    folder: Path = Path()

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        (self.folder / str(os.getpid())).touch()
        return super().embed_batch(texts)


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


def failing(word: str) -> EmbeddingProvider:
    from tests.indexing.providers import failing_for

    return failing_for(word)


another_version = partial(VowelProvider, fingerprint="2")


def no_model() -> EmbeddingProvider:
    raise EmbeddingError("There is no model vowels", hint="get it")
