"""The models of the memories that are killed: loaded once, in the process that others come from."""

from __future__ import annotations

from collections.abc import Sequence

from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.base import ProviderOptions


class FewAtOnce(AuroraProvider):
    """Aurora's own model, so that even a small memory takes several batches."""

    def __init__(self, options: ProviderOptions) -> None:
        super().__init__(options)
        self.batch_size = 8


class Mirror(FewAtOnce):
    """Another model: the same numbers the other way round."""

    def __init__(self, options: ProviderOptions) -> None:
        super().__init__(options)
        self.name, self.fingerprint = "mirror/shallow", "1"

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [vector[::-1] for vector in super().embed_batch(texts)]


SHALLOW, MIRROR = FewAtOnce(ProviderOptions("shallow")), Mirror(ProviderOptions("shallow"))
DEEP = AuroraProvider(ProviderOptions("deep"))
PROVIDERS = {provider.name: provider for provider in (SHALLOW, MIRROR, DEEP)}


def load() -> None:
    """Those that start no threads, so that a process with them can be forked."""
    for provider in (SHALLOW, MIRROR):
        provider.embed_batch(["some words", "and some more"])
