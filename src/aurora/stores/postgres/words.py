"""The words of a chunk as a tsvector: our own tokens, none of which the server takes apart.

Name, labels, content and summary have weights A to D. `ts_rank_cd` of a single word is the sum of
the weights of its places, so that it tells how often a word is there: the name's places count as
often as `chunk_words.name_times` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import repeat
from typing import NamedTuple

from aurora.chunk_words import SUMMARY_TIMES, chunk_labels, chunk_summary, name_times
from aurora.stores.postgres.nul import hide
from aurora.terms import SHORTEST, document_terms
from aurora.types import Chunk

_LAST_PLACE = 16_383  # places of a tsvector; what comes later is there once
_MOST_PLACES = 255  # of one word; BM25 has long had enough by then
_MOST_BYTES = 1_000_000  # of all words; the server takes no more than 1,048,575
_QUOTED = str.maketrans({"'": "''", "\\": "\\\\"})


class Words(NamedTuple):
    """What is stored of a chunk for its words to be found."""

    length: int  # terms, those of the name as often as they count
    weights: list[float]  # of D, C, B and A, none above 1
    tsv: str


def words_of(chunk: Chunk) -> Words:
    times = name_times(chunk)
    name = document_terms(chunk.name) if times else []
    labels, content = document_terms(chunk_labels(chunk)), document_terms(chunk.content)
    summary = document_terms(chunk_summary(chunk))
    places: dict[str, list[str]] = {}
    at = size = 1
    for weight, tokens in (("A", name), ("B", labels), ("C", content), ("D", summary)):
        for place, token in zip(_places(weight, at, len(tokens)), tokens, strict=True):
            known = places.get(token)
            if known is None:
                size += 4 * len(token) + 2
                if size < _MOST_BYTES:  # a text this long is data; its start says enough
                    places[token] = [place]
            elif len(known) < _MOST_PLACES and known[-1] is not place:
                known.append(place)
                size += 2
        at += len(tokens) + 1  # no phrase goes on from one field into the next
    length = len(name) * times + len(labels) + len(content) + len(summary) * SUMMARY_TIMES
    share = 1.0 / max(times, SUMMARY_TIMES)
    tsv = " ".join(f"{quote(token)}:{','.join(found)}" for token, found in places.items())
    weights = [SUMMARY_TIMES * share, share, share, times * share]
    return Words(max(length, SHORTEST), weights, tsv)


def _places(weight: str, first: int, count: int) -> Iterator[str]:
    """Places from the first on, as they are written; all behind the last there is are that one."""
    written = _written(weight)
    yield from written[first : first + count]
    yield from repeat(written[-1], count - max(0, min(count, len(written) - first)))


@cache
def _written(weight: str) -> list[str]:
    return [f"{place}{weight}" for place in range(_LAST_PLACE + 1)]


def quote(token: str) -> str:
    """A word as both tsvector and tsquery read it, whatever it is made of."""
    return f"'{hide(token).translate(_QUOTED)}'" if not token.isalnum() else f"'{token}'"


def any_of(tokens: Iterable[str]) -> str:
    return " | ".join(map(quote, tokens))


def in_a_row(tokens: Iterable[str]) -> str:
    """Next to each other: how pairs of characters make a longer run."""
    return "(" + " <-> ".join(map(quote, tokens)) + ")"
