"""Names of settings that other documents use (seed 002), read as the ones there are.

They stand at the top of a file, or in its `search` section, and as `AURORA_…` in the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Alias(NamedTuple):
    """The setting that is meant; `values` turns those that are written otherwise."""

    key: str
    values: Mapping[object, object] = {}

    def value(self, raw: object) -> object:
        hashable = isinstance(raw, bool | str)
        return self.values.get(raw, raw) if hashable else raw


ALIASES: Mapping[str, Alias] = {
    "enable_hybrid_search": Alias("search.mode", {True: "hybrid", False: "semantic"}),
    "hybrid_search_alpha": Alias("search.weighted.semantic"),
    "bm25_k1": Alias("search.bm25.k1"),
    "bm25_b": Alias("search.bm25.b"),
}


def alias_of(key: str) -> Alias | None:
    return ALIASES.get(key.removeprefix("search."))
