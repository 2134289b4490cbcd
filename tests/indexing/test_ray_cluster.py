"""A real Ray cluster of two nodes on this machine: both work, one dies, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.embeddings.registry import make_provider
from aurora.errors import ClusterError
from aurora.indexing.embedding import (
    ChunkText,
    Embedded,
    embed_missing,
    embedder_of,
    try_vectors,
    vectors_of,
)
from aurora.indexing.ray import AHEAD, RayEmbedder
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Progress
from tests.builders import make_chunk
from tests.indexing import work
from tests.indexing.providers import VowelProvider
from tests.indexing.ray_nodes import Node, head_node
from tests.indexing.test_embedding import made_of, vectors

ray = pytest.importorskip("ray")

MANY = 400  # chunks, in a hundred batches
TEXTS = [f"def f{n}(): return 'the {n}th file' # " + "opened and read " * n for n in range(24)]


@pytest.fixture
def many(store: SQLiteStore) -> SQLiteStore:
    store.chunks.put_chunks(
        [make_chunk(name=f"f{n}", content=f"pie {n} " + "o" * n, path="1.py") for n in range(MANY)]
    )
    return store


@pytest.mark.long
@pytest.mark.timeout(method="thread")  # an exception, as by default, would be lost in `ray.wait`
def test_two_nodes_do_what_one_process_does_and_one_of_them_may_die(
    many: SQLiteStore, tmp_path: Path
) -> None:
    """One test, because a cluster takes longer to start than all that is asked of it."""
    with head_node() as address:
        doomed = Node(f"--address={address}", **{work.DOOMED: "1"})
        try:
            require_lazy_and_in_order(address)
            require_refusal_of_another_model(address)
            require_same_bits(address, make_provider("aurora", ProviderOptions(threads=1)))
            require_nothing_lost(address, doomed, many, tmp_path / "traces")
        finally:
            doomed.kill()


def require_lazy_and_in_order(address: str) -> None:
    """In a program that joined the cluster by itself, and stays in it."""
    taken = 0

    def endless() -> Iterator[list[ChunkText]]:
        nonlocal taken
        while True:
            taken += 1
            yield [ChunkText("a" * taken)] * (taken % 3)

    ray.init(address, log_to_driver=False, configure_logging=False)
    try:
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        here = VowelProvider()
        results = RayEmbedder(address, VowelProvider).embed(embedder_of(here), endless())
        assert taken == 0
        for number in range(1, 30):
            assert next(results) == try_vectors(here, [ChunkText("a" * number)] * (number % 3), {})
            assert taken <= number + AHEAD * 2
        results.close()
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def require_refusal_of_another_model(address: str) -> None:
    remote = RayEmbedder(address, work.another_version)
    with pytest.raises(
        ClusterError, match=r"the model is vowels \(2\), not vowels \(1\)"
    ) as raised:
        list(remote.embed(embedder_of(VowelProvider()), [[ChunkText("a")]]))
    assert "same version" in raised.value.hint


def require_same_bits(address: str, here: EmbeddingProvider) -> None:
    # One label: a model may give other bits for a text beside other texts.
    texts = [ChunkText(text, "a path") for text in TEXTS]
    batches = [texts[at : at + 3] for at in range(0, len(texts), 3)]
    make = partial(make_provider, "aurora", ProviderOptions(threads=1))
    there = RayEmbedder(address, make).embed(embedder_of(here), batches)
    assert list(there) == [vectors_of(here, batch) for batch in batches]


def require_nothing_lost(address: str, doomed: Node, store: SQLiteStore, traces: Path) -> None:
    """Both nodes work; one is killed with a batch in its hands, and the other does the rest."""
    traces.mkdir()

    def kill(event: Event) -> None:
        if event == Progress("Embedding", 4, MANY):
            doomed.kill()

    here = VowelProvider()
    remote = RayEmbedder(address, partial(work.NodeProvider, folder=traces))
    embedded = embed_missing(store, here, remote=remote, listen=kill)

    assert embedded == Embedded(MANY)
    assert len(list(traces.iterdir())) == 2
    assert here.asked == []
    assert vectors(store) == made_of(store)


def test_a_cluster_that_is_away_is_told_and_all_is_made_here(many: SQLiteStore) -> None:
    remote = RayEmbedder("127.0.0.1:1", VowelProvider)
    embedded = embed_missing(many, VowelProvider(), remote=remote)
    (warning,) = embedded.warnings
    assert warning.startswith("There is no Ray cluster at 127.0.0.1:1: ")
    assert warning.endswith("What was left was embedded here")
    assert embedded == Embedded(MANY, warnings=(warning,))
    assert vectors(many) == made_of(many)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as Python does for what cannot be imported
    remote = RayEmbedder("127.0.0.1:1", VowelProvider)
    with pytest.raises(ClusterError) as raised:
        next(remote.embed(embedder_of(VowelProvider()), [[ChunkText("a")]]))
    assert "aurora-memory[ray]" in raised.value.hint
