"""A server on 127.0.0.1 that speaks the protocol of embeddings, with a real model, and its moods.

Its vectors are means of WordLlama's token vectors, from the files of the installed package.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

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

MODEL = "wordllama-256"
DIMENSION = 256


@cache
def _model() -> tuple[Tokenizer, np.ndarray[Any, Any]]:
    spec = find_spec("wordllama")  # the package itself is not imported
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    raw = (folder / "weights" / "l2_supercat_256.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    weights = np.frombuffer(raw, "<f2", offset=start).reshape(-1, DIMENSION)
    tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return Tokenizer.from_file(str(tokenizer)), weights


def model_vector(text: str) -> list[float]:
    """The mean of a text's token vectors. It is not of length 1."""
    tokenizer, weights = _model()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return [float(value) for value in weights[ids].astype(np.float64).mean(axis=0)]


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
