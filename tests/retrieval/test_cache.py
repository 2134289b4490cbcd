"""Retrievers that are kept: one a key, not longer than they live, not more than a few."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from aurora.retrieval.retriever import LIFETIME, HybridRetriever, RetrieverCache
from aurora.stores.base import Store
from tests.retrieval.meaning import retriever_on
from tests.threads import together


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


class Maker:
    """Makes real retrievers and counts them."""

    def __init__(self, store: Store) -> None:
        self.store, self.made = store, 0

    def __call__(self) -> HybridRetriever:
        self.made += 1
        return retriever_on(self.store)


@pytest.fixture
def make(store: Store) -> Maker:
    return Maker(store)


def test_the_same_key_gets_the_same_retriever(make: Maker) -> None:
    cache = RetrieverCache(clock=Clock())
    assert cache.get("a", make) is cache.get("a", make)
    assert cache.get("b", make) is not cache.get("a", make)
    assert make.made == 2


def test_a_retriever_not_used_for_its_lifetime_is_let_go(make: Maker) -> None:
    clock = Clock()
    cache = RetrieverCache(clock=clock)
    first = cache.get("a", make)
    clock.seconds = LIFETIME
    assert cache.get("a", make) is first
    clock.seconds += LIFETIME  # since it was last asked for, not since it was made
    assert cache.get("a", make) is first
    clock.seconds += LIFETIME + 0.001
    assert cache.get("a", make) is not first
    assert make.made == 2


def test_one_that_is_too_old_goes_whoever_asks(make: Maker) -> None:
    """Its memory is free even when nobody asks for it again."""
    clock = Clock()
    cache = RetrieverCache(clock=clock, lifetime=10.0)
    cache.get("a", make)
    clock.seconds = 11.0
    cache.get("b", make)
    clock.seconds = 0.0  # so that only what is kept can tell
    cache.get("a", make)
    assert make.made == 3


def test_only_the_four_used_last_are_kept(make: Maker) -> None:
    cache = RetrieverCache(clock=Clock())
    kept = {key: cache.get(key, make) for key in "abcd"}
    assert cache.get("a", make) is kept["a"]
    cache.get("e", make)
    assert [cache.get(key, make) is kept[key] for key in "acd"] == [True] * 3
    assert cache.get("b", make) is not kept["b"]


def test_a_retriever_that_cannot_be_made_is_not_kept(make: Maker) -> None:
    cache = RetrieverCache(clock=Clock())

    def fail() -> HybridRetriever:
        raise OSError("disk is away")

    with pytest.raises(OSError, match="disk is away"):
        cache.get("a", fail)
    assert cache.get("a", make) is cache.get("a", make)


def test_ten_threads_get_one_retriever(make: Maker) -> None:
    cache = RetrieverCache(clock=Clock())

    def slowly() -> HybridRetriever:
        time.sleep(0.01)  # long enough for the others to come in between
        return make()

    got = together(10, lambda: cache.get("a", slowly))
    assert (len(got), len({id(one) for one in got}), make.made) == (10, 1, 1)
