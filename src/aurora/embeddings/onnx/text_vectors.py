"""Vectors of length 1 out of what an encoder says of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.embeddings.onnx.encoder import Encoder, Window
from aurora.embeddings.pooling import join_windows, unit_rows

Vectors = NDArray[np.float32]


class TextVectors:
    """One vector a text, or one a token, by the model in a folder."""

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self._encoder = Encoder(folder, threads=threads)
        self._is_first = self._encoder.manifest.pooling == "cls"

    def of_texts(self, texts: Sequence[str], prefix: str) -> Vectors:
        """A row a text. The windows of all texts are run side by side."""
        windows = [self._encoder.tokens(text, prefix) for text in texts]
        flat = [window for text in windows for window in text]
        pooled = iter(self._encoder.each(self._pooled, flat))
        joined = [
            join_windows(np.stack([next(pooled) for _ in text]), [len(each.ids) for each in text])
            for text in windows
        ]
        return np.array(joined, np.float32)

    def of_tokens(self, text: str, prefix: str) -> Vectors:
        """A row for each of the text's own tokens, in order."""
        return np.concatenate(self._encoder.each(self._own, self._encoder.tokens(text, prefix)))

    def _pooled(self, window: Window) -> Vectors:
        rows = self._encoder.hidden(window.ids)
        return unit_rows(rows[0] if self._is_first else rows.mean(axis=0, dtype=np.float64))

    def _own(self, window: Window) -> Vectors:
        return unit_rows(self._encoder.hidden(window.ids)[window.start : window.stop])
