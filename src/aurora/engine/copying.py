"""One memory into another, each wherever it is kept."""

from __future__ import annotations

from contextlib import ExitStack, closing

from aurora.engine.whereabouts import InFile, OnServer, Whereabouts, shown_name
from aurora.errors import NoMemoryError, TransferError
from aurora.indexing.copying import Copied, copy_memory
from aurora.stores.base import Store
from aurora.stores.ranking import RankingStore
from aurora.types import Listener, Note, ignore_events


def copy_between(
    source: Whereabouts,
    target: Whereabouts,
    *,
    vectors: bool = True,
    listen: Listener = ignore_events,
) -> Copied:
    """Copy all that one place holds into the other; a memory is made there if there is none."""
    _require_two(source, target)
    if source.stamp() is None:
        raise NoMemoryError(
            f"There is no memory at {shown_name(source.name)}",
            hint="name the database file, such as .aurora/memory.db",
        )
    with ExitStack() as opened:
        giving = opened.enter_context(closing(source.open(listen)))
        if damage := giving.damage(look=True):
            listen(Note(damage, warning=True))
        target.make()
        taking = opened.enter_context(closing(target.open()))
        if isinstance(source, OnServer) and giving.identity == taking.identity:
            raise _same(shown_name(source.name))
        copied = copy_memory(giving, taking, vectors=vectors, listen=listen)
        _prepare(taking)
    return copied


def _prepare(store: Store) -> None:
    """What a file's searches go by is made by the next one of them."""
    if isinstance(store, RankingStore):
        store.prepare_search()


def _require_two(source: Whereabouts, target: Whereabouts) -> None:
    if source == target:
        raise _same(shown_name(source.name))
    if isinstance(source, InFile) and isinstance(target, InFile):
        stamp = source.stamp()
        if stamp is not None and stamp == target.stamp():
            raise _same(shown_name(source.name))


def _same(name: str) -> TransferError:
    return TransferError(
        f"Both places are the same memory: {name}",
        hint="name another one by --from or --to: a file, or postgresql://…#SCHEMA",
    )
