"""What makes vectors of texts. Which one is used is chosen above."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbeddingProvider(Protocol):
    """A model that turns texts into vectors of one dimension and of length 1.

    `name` is PROVIDER/MODEL, as in `onnx/all-minilm-l6-v2`. `fingerprint` changes whenever the same
    text would give another vector: two providers with the same name, dimension and fingerprint may
    fill one memory. Made at no cost: what is slow waits until the first property or text needs it.

    One that knows little of Chinese, Japanese and Korean may say `reads_cjk = False`: a question in
    those goes by words, as long as they find anything. One with a method `knows(text)` may say that
    it has no word of a question, which then finds nothing where no word of it is found.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def batch_size(self) -> int:
        """How many texts are best given at once."""
        ...

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in the same order. Any exception means that none could be made."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """The vector of a question: some models treat it in another way than what is found."""
        ...


class TokenEmbedder(Protocol):
    """A model that tells what each token of a text means where it stands."""

    def token_vectors(self, text: str, *, is_query: bool = False) -> NDArray[np.float32]:
        """One row of length 1 a token, as many as the model reads at once."""
        ...


class ProviderOptions(NamedTuple):
    """What the settings say of a provider; each takes what it needs."""

    model: str = ""  # empty: the provider's own choice
    endpoint: str = ""
    query_prefix: str = ""  # what a model wants before a question, and before what is found
    document_prefix: str = ""
    api_key: str = ""  # from the environment; a settings file never holds one
    models: Path = Path("models")  # where `aur models pull` puts them
    threads: int = 0  # that work at texts side by side; 0 is one for each processor

    def __repr__(self) -> str:
        """Without the key: what is shown ends in logs."""
        shown = {**self._asdict(), "api_key": "hidden" if self.api_key else ""}
        return f"ProviderOptions({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
