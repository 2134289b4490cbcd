"""The bundled model alone: the cosine of its vectors, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from asking import PLACES, Ask, Text, documents, main, pieces

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.registry import make_provider

PROVIDER = make_provider("aurora", ProviderOptions())


def embed(texts: Sequence[str]) -> np.ndarray:
    size = PROVIDER.batch_size
    batches = (texts[at : at + size] for at in range(0, len(texts), size))
    return np.vstack([np.asarray(PROVIDER.embed_batch(batch), np.float32) for batch in batches])


def open_texts(texts: Sequence[Text]) -> Ask:
    cut = list(pieces(texts))
    vectors = embed([piece.text for piece in cut])

    def ask(question: str) -> list[str]:
        scores = vectors @ np.asarray(PROVIDER.embed_query(question), np.float32)
        return documents([cut[at] for at in np.argsort(-scores, kind="stable")[:PLACES]])

    return ask


if __name__ == "__main__":
    main({"our model alone": open_texts}, packages=("numpy",))
