"""A BERT encoder in float32 as the paper writes it, to compare ours with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.aurora.weights import read_safetensors

Array = NDArray[np.float32]
_erf = np.vectorize(math.erf, otypes=[np.float32])


class Reference:
    def __init__(self, weights: Path, *, heads: int) -> None:
        self.weights = read_safetensors(weights)
        self.heads = heads

    def hidden(self, ids: Sequence[int]) -> Array:
        table = self.weights
        words = table["embeddings.word_embeddings.weight"][list(ids)]
        places = table["embeddings.position_embeddings.weight"][: len(ids)]
        rows = words + places + table["embeddings.token_type_embeddings.weight"][0]
        rows = self.norm("embeddings.LayerNorm", rows)
        for number in range(sum(name.endswith("query.weight") for name in table)):
            rows = self.layer(f"encoder.layer.{number}.", rows)
        return rows

    def vector(self, ids: Sequence[int]) -> Array:
        mean = self.hidden(ids).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def layer(self, at: str, rows: Array) -> Array:
        parts = [
            self.dense(f"{at}attention.self.{name}", rows) for name in ("query", "key", "value")
        ]
        query, key, value = (
            part.reshape(len(rows), self.heads, -1).transpose(1, 0, 2) for part in parts
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(rows.shape)
        rows = self.norm(
            f"{at}attention.output.LayerNorm",
            rows + self.dense(f"{at}attention.output.dense", mixed),
        )
        wide = self.dense(f"{at}intermediate.dense", rows)
        bent = wide * (1 + _erf(wide / math.sqrt(2))) / 2
        return self.norm(f"{at}output.LayerNorm", rows + self.dense(f"{at}output.dense", bent))

    def dense(self, at: str, rows: Array) -> Array:
        return np.asarray(rows @ self.weights[f"{at}.weight"].T + self.weights[f"{at}.bias"])

    def norm(self, at: str, rows: Array) -> Array:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.weights[f"{at}.weight"] + self.weights[f"{at}.bias"])
