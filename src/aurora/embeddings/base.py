"""The protocol of embedding providers, and the options that the settings give them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aurora.quick_classes import NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbeddingProvider(Protocol):
    """A model that turns texts into vectors of one dimension and of length 1.

    `name` is PROVIDER/MODEL, such as `onnx/all-minilm-l6-v2`. `fingerprint` changes whenever the
    same text gives another vector: providers with the same name, dimension and fingerprint may fill
    one memory. A provider is cheap to make; slow work waits for the first property or text that
    needs it.

    Three optional members: `reads_cjk = False` for a model that knows little Chinese, Japanese and
    Korean, so that keywords answer such queries while they find anything; `knows(text)`, False for
    a query without a known word, which then finds nothing unless a keyword matches; and
    `batches_at_once`, the number of threads that may call `embed_batch` at one time, by default 1.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def batch_size(self) -> int:
        """The best number of texts for one call."""

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector per text, in the same order. An exception means that there are none."""

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a query: some models treat it differently from a document."""


class TokenEmbedder(Protocol):
    """A model that gives a vector for each token of a text in its context."""

    def token_vectors(self, text: str, *, is_query: bool = False) -> NDArray[np.float32]:
        """One row of length 1 per token."""


class ProviderOptions(NamedTuple):
    """The settings of a provider; each takes what it needs."""

    model: str = ""  # empty: the provider's default
    endpoint: str = ""
    query_prefix: str = ""  # for models that expect a text before each query or document
    document_prefix: str = ""
    api_key: str = ""  # from the environment; a settings file never holds one
    models: Path = Path("models")  # the folder of `aur models pull`
    threads: int = 0  # 0: one for each processor

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        shown = {**self._asdict(), "api_key": "hidden" if self.api_key else ""}
        return f"ProviderOptions({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
