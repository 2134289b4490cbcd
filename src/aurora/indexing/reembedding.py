"""From one model to another: vectors are made beside those in use, and take their place at the end.

Until then every search goes by the old ones. What was made is kept batch by batch, so a run that
was killed is taken up where it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.elsewhere import Elsewhere
from aurora.indexing.embedding import Embedded, embed, embed_missing, embedder_of
from aurora.indexing.turns import take_turn
from aurora.stores.base import Embedder, Store
from aurora.types import Listener, Note, ignore_events


@dataclass(frozen=True, slots=True)
class Reembedded:
    """Whose vectors the memory had, whose it was to have, and how far that came."""

    before: Embedder | None
    wanted: Embedder
    embedded: Embedded
    is_done: bool = True


def reembed(
    store: Store,
    provider: EmbeddingProvider,
    *,
    elsewhere: Elsewhere | None = None,
    listen: Listener = ignore_events,
) -> Reembedded:
    """Make the provider's vectors those of the memory. One who indexes at a time."""
    with take_turn(store, listen=listen):
        before, wanted = store.embedder(), embedder_of(provider)
        if before is None or before == wanted:
            store.stop_reembedding()  # whoever else was to take over no longer is
            made = embed_missing(store, provider, elsewhere=elsewhere, listen=listen)
            return Reembedded(before, wanted, made)
        store.start_reembedding(wanted)
        embedded = _embed_all(store, provider, elsewhere, listen)
        # A model that embeds nothing takes nothing over; what it made before counts, too.
        there, missing = _count(store)
        is_done = not embedded.gave_up and (there > 0 or not missing)
        if is_done:
            store.finish_reembedding()
        return Reembedded(before, wanted, embedded, is_done)


def _embed_all(
    store: Store, provider: EmbeddingProvider, elsewhere: Elsewhere | None, listen: Listener
) -> Embedded:
    there, missing = _count(store)
    if there:
        listen(Note(f"{there:,} chunks have a vector of {provider.name} already"))
    first = embed(store, provider, missing, elsewhere=elsewhere, listen=listen)
    # What came or changed meanwhile. Where some failed, what changed cannot be told from them: it
    # waits for the next run of indexing.
    tried = set(missing) if first.failed else set()
    late = [id_ for id_ in store.find_unembedded(by_next=True) if id_ not in tried]
    return first if first.gave_up or not late else first + embed(store, provider, late)


def _count(store: Store) -> tuple[int, list[str]]:
    """How many chunks have a vector of the next embedder, and which have none."""
    missing = store.find_unembedded(by_next=True)
    return sum(store.count_chunks().values()) - len(missing), missing
