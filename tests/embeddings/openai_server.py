"""A server on 127.0.0.1 that speaks the protocol of embeddings, with a real model, and its moods.

Its vectors are means of the piece vectors of the bundled model.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from aurora.embeddings.aurora.provider import FOLDER
from aurora.embeddings.aurora.tokens import PIECES, Tokenizer, read_tokenizer
from aurora.embeddings.aurora.weights import WIDTH, Tensors, piece_vectors, read_tensors
from tests.endpoint_server import (
    EndpointServer,
    Exchange,
    Mood,
    changed,
    cuts_off,
    fails,
    is_fine,
    never_ends,
    says,
)

__all__ = [
    "EmbeddingServer",
    "Exchange",
    "Mood",
    "changed",
    "cuts_off",
    "fails",
    "is_fine",
    "never_ends",
    "says",
]

MODEL = "pieces-256"
DIMENSION = WIDTH


@cache
def _model() -> tuple[Tokenizer, Tensors]:
    tokenizer = read_tokenizer(FOLDER / PIECES)
    return tokenizer, read_tensors(FOLDER, tokenizer.size)


def model_vector(text: str) -> list[float]:
    """The mean of the vectors of a text's pieces. It is not of length 1."""
    tokenizer, tensors = _model()
    rows = piece_vectors(tensors, np.array(tokenizer.encode(text)))
    return [float(value) for value in rows.astype(np.float64).mean(axis=0)]


def unit_vector(text: str) -> np.ndarray[Any, Any]:
    vector = np.asarray(model_vector(text))
    return vector / np.linalg.norm(vector)


class EmbeddingExchange(Exchange):
    """One request for vectors."""

    @property
    def texts(self) -> list[str]:
        given = self.seen.body["input"]
        return [given] if isinstance(given, str) else given

    asked = texts

    def good(self) -> dict[str, Any]:
        data = [
            {"object": "embedding", "index": place, "embedding": model_vector(text)}
            for place, text in enumerate(self.texts)
        ]
        return {"object": "list", "data": data, "model": MODEL, "usage": {"total_tokens": 1}}

    def answer(self) -> None:
        if self.seen.body.get("encoding_format") == "base64":  # the official client asks so
            answers_base64(self)
        else:
            super().answer()


def answers_base64(exchange: Exchange) -> None:
    answer = exchange.good()
    for item in answer["data"]:
        raw = np.asarray(item["embedding"], "<f4").tobytes()
        item["embedding"] = base64.b64encode(raw).decode()
    exchange.send(answer)


def answers_backwards(exchange: Exchange) -> None:
    answer = exchange.good()
    answer["data"].reverse()
    exchange.send(answer)


def refuses_longer_than(characters: int, status: int = 400) -> Mood:
    def mood(exchange: Exchange) -> None:
        if max(map(len, exchange.texts)) > characters:
            exchange.send({"error": {"message": f"too long: {exchange.texts}"}}, status)
        else:
            is_fine(exchange)

    return mood


class EmbeddingServer(EndpointServer):
    path = "/v1/embeddings"
    exchange = EmbeddingExchange

    @property
    def batches(self) -> list[Sequence[str]]:
        """The texts of each request."""
        return [request.body["input"] for request in self.seen]
