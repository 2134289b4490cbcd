"""Vectors from an OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, LM Studio (extra `openai`).

Answers are checked before they are used. Requests stay small: texts go in groups, and a text that
the server refuses as too long goes in parts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from aurora.embeddings.base import ProviderOptions
from aurora.endpoints import (
    ASKING,
    EMBEDDING,
    INDEXING,
    OPENAI,
    BadAnswerError,
    Patience,
    Timing,
    find_key,
    parse_address,
    read_answer,
    require_key,
    write_body,
)
from aurora.errors import EmbeddingError, RefusedError
from aurora.package_manager import install_command

if TYPE_CHECKING:
    import numpy as np

    from aurora.endpoint_client import Endpoint

    Vector: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"

DEFAULT_MODEL = "text-embedding-3-small"
RECIPE = 1  # of the vectors; raise it when the same text would give another one
MOST_TEXTS = 64  # in one request
MOST_CHARACTERS = 200_000  # in one request; OpenAI takes 300,000 tokens
SHORTEST = 200  # characters; a shorter text is refused for another reason than its length
_MOST_DIMENSIONS = 16_384  # for the size limit of the first answer
_NUMBER_BYTES = 48  # of one number in an answer, with its comma, line break and indent

Embed = Callable[[Sequence[str]], "list[Vector]"]  # gives vectors of length 1, or RefusedError


class OpenAIProvider:
    """The vectors of a model that a server runs, over `POST {endpoint}/embeddings`.

    A text that the endpoint refuses (400, 413, 422) may be longer than the model's window. It is
    embedded in halves, down to 200 characters; its vector is the mean of theirs, weighted by
    length. A server that cuts long texts itself, as Ollama may, does not report it. An empty text
    is sent as a space, since OpenAI refuses empty ones.

    A request that fails for the moment is repeated for up to five minutes; that of a query once,
    and for ten seconds in all. Threads may share one object.
    """

    batch_size = MOST_TEXTS

    def __init__(self, options: ProviderOptions, *, timing: Timing | None = None) -> None:
        self.name = f"openai/{options.model or DEFAULT_MODEL}"
        self._model = options.model or DEFAULT_MODEL
        self._query_prefix, self._document_prefix = options.query_prefix, options.document_prefix
        self._address = parse_address(options.endpoint or OPENAI, EMBEDDING)
        # The keyring is read later: it may ask the user for its password.
        self._key = find_key(options.api_key, self._address) if options.api_key else None
        self._timing = timing or Timing()
        self._endpoint: Endpoint | None = None
        self._dimension = 0
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Known from the first answer; without one, embeds one word."""
        if not self._dimension:
            self.embed_batch(["dimension"])
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Of the settings alone: the server does not say when it changes a model."""
        recipe = [RECIPE, self._model, self._query_prefix, self._document_prefix]
        return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        def embed(group: Sequence[str]) -> list[Vector]:
            until = self._timing.clock() + INDEXING.seconds
            return self._request(self._document_prefix, group, INDEXING, until)

        groups = group_texts(texts)
        return [_unit(v).tolist() for group in groups for v in embed_in_parts(group, embed)]

    def embed_query(self, text: str) -> list[float]:
        until = self._timing.clock() + ASKING.seconds

        def embed(group: Sequence[str]) -> list[Vector]:
            return self._request(self._query_prefix, group, ASKING, until)

        return _unit(embed_in_parts([text], embed)[0]).tolist()

    def close(self) -> None:
        """Close the connections. They also close at exit, and open again when needed."""
        with self._lock:
            if self._endpoint is not None:
                self._endpoint.close()
                self._endpoint = None

    def _request(
        self, prefix: str, texts: Sequence[str], patience: Patience, until: float
    ) -> list[Vector]:
        """One vector of length 1 per text, from one request."""
        limit = 65_536 + len(texts) * (self._dimension or _MOST_DIMENSIONS) * _NUMBER_BYTES
        inputs = [prefix + text or " " for text in texts]
        body = write_body({"model": self._model, "input": inputs, "encoding_format": "float"})
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

    def _check_dimension(self, length: int) -> None:
        with self._lock:
            self._dimension = self._dimension or length
        if length != self._dimension:
            raise BadAnswerError(f"gave a vector of {length} numbers, after {self._dimension}")

    def _open(self) -> Endpoint:
        with self._lock:
            if self._endpoint is None:
                try:
                    from aurora.endpoint_client import Endpoint  # noqa: PLC0415 - needs httpx2
                except ImportError as exc:
                    raise EmbeddingError(
                        "The embedding provider openai needs the package httpx2",
                        hint=install_command("openai"),
                    ) from exc
                key = require_key(self._key, self._address)
                self._endpoint = Endpoint(self._address, key, self._model, self._timing)
            return self._endpoint


def group_texts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, in groups for one request each; a text over the limit is alone."""
    start = characters = 0
    for place, text in enumerate(texts):
        is_full = place - start == MOST_TEXTS or characters + len(text) > MOST_CHARACTERS
        if place > start and is_full:
            yield texts[start:place]
            start, characters = place, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]


def embed_in_parts(texts: Sequence[str], embed: Embed) -> list[Vector]:
    """One vector per text. A refused group is halved, and then a refused text.

    The vector of a text in parts is the sum of theirs, each times its number of characters: their
    weighted mean, but for its length.
    """
    try:
        return embed(texts)
    except RefusedError:
        if len(texts) == 1:
            if len(texts[0]) <= SHORTEST:
                raise
            return [_halved(texts[0], embed)]
    middle = len(texts) // 2
    return [*embed_in_parts(texts[:middle], embed), *embed_in_parts(texts[middle:], embed)]


def _halved(text: str, embed: Embed) -> Vector:
    middle = len(text) // 2
    return _weighted(text[:middle], embed) + _weighted(text[middle:], embed)


def _weighted(text: str, embed: Embed) -> Vector:
    try:
        return embed([text])[0] * len(text)
    except RefusedError:
        if len(text) <= SHORTEST:
            raise
        return _halved(text, embed)


def _unit(vector: Vector) -> Vector:
    """The vector with length 1; one of zeros stays as it is."""
    import numpy as np  # noqa: PLC0415 - not before the first vector

    largest = np.abs(vector).max()  # divided first, so that no square is too large or too small
    return vector if not largest else (vector / largest) / np.linalg.norm(vector / largest)


def read_vectors(answer: bytes, count: int) -> list[Vector]:
    """`count` vectors of one dimension, in the order of the texts. Raises `BadAnswerError`.

    The field `index` of a vector is the number of its text; without it, the order counts.
    """
    vectors = [_vector(item) for item in _in_order(_items(answer), count)]
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1:
        raise BadAnswerError(f"gave vectors of {min(sizes)} and of {max(sizes)} numbers at once")
    return vectors


def _items(answer: bytes) -> list[dict[str, object]]:
    content = read_answer(answer, parse_constant=_not_finite)
    items = content.get("data") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise BadAnswerError("answered without a list of vectors")
    if not all(isinstance(item, dict) for item in items):
        raise BadAnswerError("answered with a list of something else than vectors")
    return items


def _not_finite(_: str = "") -> NoReturn:
    raise BadAnswerError("gave a vector with something that is not a finite number")


def _in_order(items: list[dict[str, object]], count: int) -> list[dict[str, object]]:
    if len(items) != count:
        raise BadAnswerError(f"gave {len(items)} vectors for {count} texts")
    places = [item.get("index") for item in items]
    if all(place is None for place in places):
        return items
    by_place = {place: item for place, item in zip(places, items, strict=True) if _is_int(place)}
    if by_place.keys() != set(range(count)):
        raise BadAnswerError("gave vectors that are not numbered from 0, each number once")
    return [by_place[place] for place in range(count)]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _vector(item: dict[str, object]) -> Vector:
    import numpy as np  # noqa: PLC0415 - not before the first vector

    values = item.get("embedding")
    if isinstance(values, str):  # some servers always answer in base64
        values = np.frombuffer(_decoded(values), "<f4")
    elif not isinstance(values, list):
        raise BadAnswerError("gave something that has no vector")
    elif not all(_is_int(value) or isinstance(value, float) for value in values):
        _not_finite()
    try:
        vector = np.asarray(values, np.float64)
    except OverflowError:  # an integer of 400 digits
        _not_finite()
    if not len(vector):
        raise BadAnswerError("gave a vector without numbers")
    if not np.isfinite(vector).all():
        _not_finite()
    return vector


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise BadAnswerError("gave a text instead of a vector") from exc
    if len(raw) % 4:
        raise BadAnswerError("gave a vector that is cut off")
    return raw
