"""Values that a shell can offer for options and arguments, read from the settings and the memory.

An error while completing offers nothing, because the user's prompt is there. Every command imports
this module, so numpy, an index and click's completion are not loaded here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias

import click

from aurora.types import Kind, ModelState

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from aurora.engine import Memory
    from aurora.types import ModelEntry

logger = logging.getLogger(__name__)

_MOST_IDS = 50

Offer: TypeAlias = "Callable[[click.Context, str], list[CompletionItem]]"
Complete: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


def _quiet(offer: Offer) -> Complete:
    """Give a function the signature that click calls, and turn any error into no offer."""

    @wraps(offer)
    def completed(
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG001
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            return offer(ctx, incomplete)
        except Exception as exc:  # no memory, broken settings, a locked database
            logger.debug("nothing to complete: %r", exc)
            return []

    return completed


@_quiet
def complete_kinds(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _after_comma(map(str, Kind), incomplete)


@_quiet
def complete_languages(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _after_comma(memory.languages(), incomplete)


@_quiet
def complete_namespaces(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _starting(sorted(filter(None, memory.namespaces())), incomplete)


@_quiet
def complete_ids(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _starting(memory.find_ids(incomplete, limit=_MOST_IDS), incomplete)


@_quiet
def complete_forgettable(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Ids, and namespaces as `aur mem forget` takes them."""
    with _memory(ctx) as memory:
        names = [f"namespace:{name}" for name in sorted(filter(None, memory.namespaces()))]
        return _starting([*names, *memory.find_ids(incomplete, limit=_MOST_IDS)], incomplete)


@_quiet
def complete_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _starting((entry.name for entry in _models()), incomplete)


@_quiet
def complete_installed_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    states = (ModelState.INSTALLED, ModelState.DAMAGED)
    return _starting((entry.name for entry in _models() if entry.state in states), incomplete)


@_quiet
def complete_keys(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _keys(incomplete)


@_quiet
def complete_flags(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Keys of settings, each followed by `=`."""
    return _keys(incomplete, "=")


@_quiet
def complete_files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return [_item(incomplete, type="file")]


def _keys(incomplete: str, end: str = "") -> list[CompletionItem]:
    from aurora.config.schema import CATALOGUE

    return [
        _item(f"{key}{end}", help=setting.help)
        for key, setting in CATALOGUE.items()
        if key.startswith(incomplete)
    ]


def _item(value: str, **attributes: str | None) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **attributes)  # type: ignore[arg-type]


def _memory(ctx: click.Context) -> Memory:
    """The memory of the working directory, without a listener."""
    from aurora.cli.session import find_places, settings_files
    from aurora.engine import Memory

    places = find_places()
    with ctx.scope(cleanup=False):  # click completes outside of any command
        return Memory(places, settings_files(places))


def _models() -> list[ModelEntry]:
    from aurora.cli.session import find_places
    from aurora.embeddings.onnx.shelf import list_models

    return list_models(find_places().home / "models")


def _starting(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [_item(value) for value in values if value.startswith(incomplete)]


def _after_comma(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Completions of the last item of a list with commas, without the items before it."""
    before, comma, _ = incomplete.rpartition(",")
    chosen = before.split(",")
    return _starting(
        (f"{before}{comma}{value}" for value in values if value not in chosen), incomplete
    )
