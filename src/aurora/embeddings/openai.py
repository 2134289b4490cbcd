"""Vectors from any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, LM Studio (extra `openai`)."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aurora.embeddings.answers import read_vectors
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.halving import MOST_TEXTS, embed_whatever_fits, group_texts
from aurora.endpoints.address import parse_address
from aurora.endpoints.patience import ASKING, INDEXING, Patience, Timing
from aurora.endpoints.purpose import EMBEDDING, OPENAI
from aurora.endpoints.secrets import find_key
from aurora.endpoints.wire import BadAnswerError, write_body
from aurora.errors import EmbeddingError

if TYPE_CHECKING:
    from aurora.embeddings.answers import Vector
    from aurora.endpoints.endpoint import Endpoint

DEFAULT_MODEL = "text-embedding-3-small"
RECIPE = 1  # of the vectors; raise it when the same text would give another one
_WIDEST = 16_384  # numbers of a vector, as long as nobody knows how many there are
_NUMBER_BYTES = 48  # of one number in an answer, with its comma, line break and indent


class OpenAIProvider:
    """The vectors of a model that a server runs, over `POST {endpoint}/embeddings`.

    A text that the endpoint refuses (400, 413, 422) may be longer than the model's window. It is
    embedded in halves, and these in halves where they are refused too, down to 200 characters; its
    vector is the mean of theirs, each weighted with its length. A server that cuts long texts off
    itself, as Ollama may, does so unseen. An empty text is sent as a space: OpenAI takes no other.

    A request that fails for the moment is tried again, for up to five minutes; a question's only
    once, and for ten seconds in all. Threads may share one object.
    """

    batch_size = MOST_TEXTS

    def __init__(self, options: ProviderOptions, *, timing: Timing | None = None) -> None:
        self.name = f"openai/{options.model or DEFAULT_MODEL}"
        self._model = options.model or DEFAULT_MODEL
        self._query_prefix, self._document_prefix = options.query_prefix, options.document_prefix
        self._address = parse_address(options.endpoint or OPENAI, EMBEDDING)
        # The keyring may want its own password, so it is asked later.
        self._key = find_key(options.api_key, self._address) if options.api_key else None
        self._timing = timing or Timing()
        self._endpoint: Endpoint | None = None
        self._dimension = 0
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Learnt from the first answer; asked before any text was embedded, from one word."""
        if not self._dimension:
            self.embed_batch(["dimension"])
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Of what is known here: the server does not tell when it changes a model."""
        recipe = [RECIPE, self._model, self._query_prefix, self._document_prefix]
        return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        def embed(some: Sequence[str]) -> list[Vector]:
            until = self._timing.clock() + INDEXING.seconds
            return self._request(self._document_prefix, some, INDEXING, until)

        groups = group_texts(texts)
        return [_unit(v).tolist() for some in groups for v in embed_whatever_fits(some, embed)]

    def embed_query(self, text: str) -> list[float]:
        until = self._timing.clock() + ASKING.seconds

        def embed(some: Sequence[str]) -> list[Vector]:
            return self._request(self._query_prefix, some, ASKING, until)

        return _unit(embed_whatever_fits([text], embed)[0]).tolist()

    def close(self) -> None:
        """Close the connections. They also close at exit, and open again when needed."""
        with self._lock:
            if self._endpoint is not None:
                self._endpoint.close()
                self._endpoint = None

    def _request(
        self, prefix: str, texts: Sequence[str], patience: Patience, until: float
    ) -> list[Vector]:
        """One vector a text, of length 1, from one request."""
        limit = 65_536 + len(texts) * (self._dimension or _WIDEST) * _NUMBER_BYTES
        sent = [prefix + text or " " for text in texts]  # many servers trip over empty texts
        body = write_body({"model": self._model, "input": sent, "encoding_format": "float"})
        answer = self._open().post(body, limit=limit, patience=patience, until=until)
        try:
            vectors = read_vectors(answer, len(texts))
            self._check_dimension(len(vectors[0]))
        except BadAnswerError as exc:
            raise EmbeddingError(
                f"The endpoint {self._address.url} ({self._model}) {exc}",
                hint="check that `embedding.endpoint` is OpenAI-compatible "
                "and that `embedding.model` makes vectors of texts",
            ) from exc
        return [_unit(vector) for vector in vectors]

    def _check_dimension(self, found: int) -> None:
        with self._lock:
            self._dimension = self._dimension or found
        if found != self._dimension:
            raise BadAnswerError(f"gave a vector of {found} numbers, after {self._dimension}")

    def _open(self) -> Endpoint:
        with self._lock:
            if self._endpoint is None:
                self._endpoint = self._make_endpoint()
            return self._endpoint

    def _make_endpoint(self) -> Endpoint:
        try:
            from aurora.endpoints.endpoint import Endpoint  # noqa: PLC0415 - it needs httpx2
        except ImportError as exc:
            raise EmbeddingError(
                "The embedding provider openai needs the package httpx2",
                hint="pip install 'aurora-memory[openai]'",
            ) from exc
        key = self._key or find_key("", self._address)
        return Endpoint(self._address, key, self._model, self._timing)


def _unit(vector: Vector) -> Vector:
    """Of length 1; nothing but zeros stay as they are."""
    import numpy as np  # noqa: PLC0415 - not before there is something to do

    largest = np.abs(vector).max()  # first, so that no square is too large or too small
    return vector if not largest else (vector / largest) / np.linalg.norm(vector / largest)
