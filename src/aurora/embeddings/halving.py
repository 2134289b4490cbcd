"""Requests that are small enough: groups of texts, and parts of a text that is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from aurora.errors import RefusedError

if TYPE_CHECKING:
    from aurora.embeddings.answers import Vector

MOST_TEXTS = 64  # in one request
MOST_CHARACTERS = 200_000  # as well; OpenAI takes 300,000 tokens
SHORTEST = 200  # characters; a text no longer than that is refused for another reason

Embed = Callable[[Sequence[str]], "list[Vector]"]  # gives vectors of length 1, or RefusedError


def group_texts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in order, as many in a group as one request may have; a giant is alone."""
    start = characters = 0
    for place, text in enumerate(texts):
        is_full = place - start == MOST_TEXTS or characters + len(text) > MOST_CHARACTERS
        if place > start and is_full:
            yield texts[start:place]
            start, characters = place, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]


def embed_whatever_fits(texts: Sequence[str], embed: Embed) -> list[Vector]:
    """A vector for each text. A group that is refused is halved, then a text.

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
    first, second = texts[:middle], texts[middle:]
    return [*embed_whatever_fits(first, embed), *embed_whatever_fits(second, embed)]


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
