"""Values that a shell can offer for options and arguments, read from the settings and the memory.

An error while completing offers nothing, because the user's prompt is there. Every command imports
this module, so numpy, an index and click's completion are not loaded here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

import click

from aurora.cli.session import open_memory
from aurora.config.schema import CATALOGUE
from aurora.types import SOURCES, Kind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from aurora.engine import Memory

logger = logging.getLogger(__name__)

_MOST_IDS = 50

Complete: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


def completer(offer: Callable[[click.Context, str], list[CompletionItem]]) -> Complete:
    """A function as click calls it, which offers nothing after an error."""

    def complete(
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG001
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            return offer(ctx, incomplete)
        except Exception as exc:  # no memory, broken settings, a locked database
            logger.debug("nothing to complete: %r", exc)
            return []

    return complete


def _from_memory(
    values: Callable[[Memory, str], Iterable[str]], *, commas: bool = False
) -> Complete:
    """Offer values of the memory of the working directory."""

    def offer(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        with ctx.scope(cleanup=False):  # click completes outside of any command
            memory = open_memory(silent=True)
        with memory:
            return (_after_comma if commas else starting)(values(memory, incomplete), incomplete)

    return completer(offer)


def _keys(incomplete: str, end: str = "") -> list[CompletionItem]:
    return [
        _item(f"{key}{end}", help=setting.help)
        for key, setting in CATALOGUE.items()
        if key.startswith(incomplete)
    ]


def _item(value: str, **attributes: str | None) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **attributes)  # type: ignore[arg-type]


def _namespaces(memory: Memory) -> list[str]:
    return sorted(filter(None, memory.admin.store.chunks.count_namespaces()))


def _known(key: str) -> Complete:
    """Offer the texts that chunks have at a key of their metadata, in all memories of a search."""
    return _from_memory(
        lambda memory, _: sorted(
            {
                value
                for layer in memory.layers().values()
                for value in layer.admin.store.search.list_metadata(key)
            }
        ),
        commas=True,
    )


def _ids(memory: Memory, start: str) -> list[str]:
    return memory.admin.store.chunks.find_ids_from(start, limit=_MOST_IDS)


def starting(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [_item(value) for value in values if value.startswith(incomplete)]


def _after_comma(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Completions of the last item of a list with commas, without the items before it."""
    before, comma, _ = incomplete.rpartition(",")
    chosen = before.split(",")
    return starting(
        (f"{before}{comma}{value}" for value in values if value not in chosen), incomplete
    )


complete_kinds = completer(lambda _, typed: _after_comma(map(str, Kind), typed))
complete_sources = completer(lambda _, typed: _after_comma(SOURCES, typed))
complete_agents, complete_sessions, complete_branches = map(_known, ("agent", "session", "branch"))
complete_files = completer(lambda _, typed: [_item(typed, type="file")])
complete_keys = completer(lambda _, typed: _keys(typed))
complete_flags = completer(lambda _, typed: _keys(typed, "="))
complete_languages = _from_memory(
    lambda memory, _: memory.admin.store.chunks.list_languages(), commas=True
)
complete_namespaces = _from_memory(lambda memory, _: _namespaces(memory))
complete_ids = _from_memory(_ids)
complete_forgettable = _from_memory(  # as `aur mem forget` takes them
    lambda memory, typed: [
        *(f"namespace:{name}" for name in _namespaces(memory)),
        *_ids(memory, typed),
    ]
)
