"""Another model takes over while an index waits for its turn: the index goes by what it finds."""

from __future__ import annotations

from aurora.embeddings.aurora.provider import SHALLOW, AuroraProvider
from aurora.embeddings.base import ProviderOptions
from aurora.indexing.embedding import embed, embedder_of
from aurora.stores.base import Store
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.indexing.test_turns import await_line


def take_over(store: Store, provider: AuroraProvider) -> None:
    """What `reembed` does once it has its turn."""
    store.vectors.start_reembedding(embedder_of(provider))
    embed(store, provider, store.vectors.find_unembedded(by_next=True))
    store.vectors.finish_reembedding()


def test_an_index_that_waited_embeds_by_whoever_took_over(indexed: Shell) -> None:
    write_tree(indexed.cwd, {"fresh.py": "def fresh(): ...\n"})
    with indexed.store() as store:
        with store.alone():
            waiting = indexed.start("mem", "index", ".", "--no-git")
            await_line(waiting.stderr, "Waiting for it to finish")
            take_over(store, AuroraProvider(ProviderOptions(SHALLOW)))
        _, talk = waiting.communicate()
        assert (waiting.returncode, store.vectors.find_unembedded()) == (0, []), talk
