"""Vectors of any model that sentence-transformers runs, with torch (that extra)."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.sentence_model import (
    SentenceModel,
    fingerprint_model,
    is_folder,
    load_model,
)
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
RECIPE = 1  # of the vectors; raise it when the same text would give another one
_SLACK = 2  # tokens: a word that is cut may have one more on each side
Encode = Callable[..., "NDArray[np.float32]"]
_ALONE = re.compile("[\ud800-\udfff]")  # halves of a pair: tokenizers take none


class SentenceTransformersProvider:
    """The vectors of a model from the hub or a folder; `name` ends with the folder's name.

    A prefix of the settings takes the place of the prompt that a model brings for questions or for
    what is found. The library cuts a text off where the model's window ends, unseen; so a longer
    one is cut here into windows by the rule of `long_texts`, and its vector joined of theirs.
    Threads may share one object; they take turns.
    """

    batch_size = 32

    def __init__(self, options: ProviderOptions) -> None:
        self._source = options.model or DEFAULT_MODEL
        shown = Path(self._source).name if is_folder(self._source) else self._source
        self.name = f"sentence-transformers/{shown.removeprefix('sentence-transformers/')}"
        self._prefixes = options.query_prefix, options.document_prefix
        self._lock = threading.RLock()

    @cached_property
    def dimension(self) -> int:
        return len(self.embed_query("dimension"))

    @cached_property
    def fingerprint(self) -> str:
        with self._lock:
            settings = [str(RECIPE), self._query_prompt, self._document_prompt]
            return fingerprint_model(self._model, settings)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._lock:
            return self._embed(texts, self._document_prompt, self._model.encode_document)

    def embed_query(self, text: str) -> list[float]:
        with self._lock:
            return self._embed([text], self._query_prompt, self._model.encode_query)[0]

    @cached_property
    def _model(self) -> SentenceModel:
        return load_model(self._source)

    @cached_property
    def _query_prompt(self) -> str:
        return self._prefixes[0] or self._model.prompts.get("query") or ""

    @cached_property
    def _document_prompt(self) -> str:
        brought = map(self._model.prompts.get, ("document", "passage", "corpus"))
        return self._prefixes[1] or next(filter(None, brought), "")

    def _embed(self, texts: Sequence[str], prompt: str, encode: Encode) -> list[list[float]]:
        from aurora.embeddings.long_texts import join_windows  # noqa: PLC0415 - it needs numpy

        parts = [self._cut(_ALONE.sub("\ufffd", text), prompt) for text in texts]
        try:
            vectors = encode(
                list(chain(*parts)),
                prompt=prompt,
                batch_size=self.batch_size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
        except Exception as exc:  # torch, its devices and a model's parts fail in many ways
            reason = (str(exc) or repr(exc)).splitlines()[0]
            raise EmbeddingError(f"{self.name} failed: {reason}") from exc
        ends = list(accumulate(map(len, parts), initial=0))
        # A window's characters stand for its tokens: all but the last are full.
        return [
            join_windows(vectors[at:to], [len(window) or 1 for window in windows]).tolist()
            for windows, (at, to) in zip(parts, pairwise(ends), strict=True)
        ]

    def _cut(self, text: str, prompt: str) -> list[str]:
        limit = self._model.max_seq_length or math.inf
        if limit == math.inf:  # static embeddings, bags of words
            return [text]
        tokenizer = self._model.tokenizer
        around = len(tokenizer(prompt)["input_ids"])  # with the two or so that every text gets
        return cut_windows(text, find_tokens(tokenizer, text), max(1, int(limit) - around))


def find_tokens(tokenizer: Any, text: str) -> list[int]:
    """At which character each token begins; a tokenizer that cannot tell gives even steps."""
    is_telling = bool(getattr(tokenizer, "is_fast", False))
    found = tokenizer(
        text,
        add_special_tokens=False,
        truncation=False,
        return_offsets_mapping=is_telling,
        verbose=False,  # or it warns of long texts
    )
    if is_telling:
        return [start for start, _ in found["offset_mapping"]]
    count = len(found["input_ids"])
    return [len(text) * number // count for number in range(count)]


def cut_windows(text: str, starts: Sequence[int], size: int) -> list[str]:
    """The text itself if it has no more tokens than a window, else its windows."""
    from aurora.embeddings.long_texts import split_windows  # noqa: PLC0415 - it needs numpy

    if len(starts) <= size:
        return [text]
    firsts = [window[0] for window in split_windows(starts, max(1, size - _SLACK))]
    cuts = pairwise([0, *firsts[1:], len(text)])
    return [text[at:to] for at, to in cuts if at < to]  # several tokens may be one character
