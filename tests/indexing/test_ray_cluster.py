"""A real Ray cluster of two nodes on this machine: both work, one dies, and nothing is lost."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.embeddings.onnx.provider import OnnxProvider
from aurora.embeddings.registry import make_provider
from aurora.errors import ClusterError
from aurora.indexing.embedding import (
    ChunkText,
    Embedded,
    RemoteEmbedder,
    embed_missing,
    embedder_of,
    vectors_of,
)
from aurora.indexing.ray import AHEAD, RayCluster
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Progress
from tests.builders import make_chunk
from tests.indexing import promises, work
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
    many: SQLiteStore, tmp_path: Path, models: Path, minilm: OnnxProvider
) -> None:
    """One test, because a cluster takes longer to start than all that is asked of it."""
    with head_node() as address:
        doomed = Node(f"--address={address}", **{work.DOOMED: "1"})
        try:
            require_promises(address)
            require_same_bits(address, "onnx", minilm, models)
            require_same_bits(address, "static", make_provider("static", ProviderOptions()), models)
            require_nothing_lost(address, doomed, many, tmp_path / "traces")
        finally:
            doomed.kill()


def require_promises(address: str) -> None:
    """Of a program that had joined the cluster by itself, and stays in it."""
    ray.init(address, log_to_driver=False, configure_logging=False)
    try:
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        cluster = RayCluster(address)
        promises.require_order(cluster)
        promises.require_lazy(cluster, ahead=2 * AHEAD * 2)
        promises.require_errors_in_their_turn(cluster)
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def require_same_bits(address: str, name: str, here: EmbeddingProvider, models: Path) -> None:
    texts = [ChunkText(text, f"path {at % 2}") for at, text in enumerate(TEXTS)]
    batches = [texts[at : at + 3] for at in range(0, len(texts), 3)]
    make = partial(make_provider, name, ProviderOptions(models=models, threads=1))
    there = RemoteEmbedder(RayCluster(address), make).embed(embedder_of(here), batches)
    assert list(there) == [vectors_of(here, batch) for batch in batches]


def require_nothing_lost(address: str, doomed: Node, store: SQLiteStore, traces: Path) -> None:
    """Both nodes work; one is killed with a batch in its hands, and the other does the rest."""
    traces.mkdir()

    def kill(event: Event) -> None:
        if event == Progress("Embedding", 4, MANY):
            doomed.kill()

    here = VowelProvider()
    elsewhere = RemoteEmbedder(RayCluster(address), partial(work.NodeProvider, folder=traces))
    embedded = embed_missing(store, here, elsewhere=elsewhere, listen=kill)

    assert embedded == Embedded(MANY)
    assert len(list(traces.iterdir())) == 2
    assert here.asked == []
    assert vectors(store) == made_of(store)


def test_a_cluster_that_is_away_is_told_and_all_is_made_here(many: SQLiteStore) -> None:
    elsewhere = RemoteEmbedder(RayCluster("127.0.0.1:1"), VowelProvider)
    embedded = embed_missing(many, VowelProvider(), elsewhere=elsewhere)
    (warning,) = embedded.warnings
    assert warning.startswith("There is no Ray cluster at 127.0.0.1:1: ")
    assert warning.endswith("What was left was embedded here")
    assert embedded == Embedded(MANY, warnings=(warning,))
    assert vectors(many) == made_of(many)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as Python does for what cannot be imported
    with pytest.raises(ClusterError) as raised:
        next(RayCluster("127.0.0.1:1").map_batches(work.double, [[1]]))
    assert "aurora-memory[ray]" in raised.value.hint
