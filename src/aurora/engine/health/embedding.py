"""The embedder: who the settings choose, whether it works, and whose vectors the memory has."""

from __future__ import annotations

from collections.abc import Iterator

from aurora.engine.memory import Memory
from aurora.errors import AuroraError, ConfigError
from aurora.types import Finding, Level

AREA = "memory"


def examine_embedder(memory: Memory) -> Iterator[Finding]:
    """One text is embedded, unless that would send it away."""
    provider = memory.settings.embedding.provider
    if provider == "none":
        text = "Embedder: none, as the settings say; search goes by words and use"
        yield Finding(Level.NOTE, AREA, text, "set `embedding.provider` to static, or unset it")
        return
    try:
        found = memory.try_embedder()
    except ConfigError:
        raise
    except AuroraError as exc:
        yield Finding(Level.WARN, AREA, f"Embedder {provider}: {exc.message}", exc.hint)
        return
    works = f"{found.dimension} dimensions" if found.dimension else "not asked: it is elsewhere"
    yield Finding(Level.OK, AREA, f"Embedder: {found.name} ({works})")


def compare_embedders(memory: Memory) -> Iterator[Finding]:
    """Of a memory that can be opened."""
    owner, chosen = memory.vectors_of(), memory.chosen_embedder()
    if owner is not None and chosen and owner.name != chosen:
        text = f"The vectors are of {owner.name}, not of {chosen}, which the settings choose"
        yield Finding(Level.NOTE, AREA, text, "`aur mem reembed` makes them anew")
