"""Aurora: one memory for a developer and the AI agents that work beside them."""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; importing typing takes 4 ms
if TYPE_CHECKING:
    from aurora.config import Places, Settings
    from aurora.engine import Memory
    from aurora.errors import AuroraError
    from aurora.types import Chunk, Criteria, Query, SearchResult

__all__ = [
    "AuroraError",
    "Chunk",
    "Criteria",
    "Memory",
    "Places",
    "Query",
    "SearchResult",
    "Settings",
]

_HOMES = {
    "AuroraError": "aurora.errors",
    "Chunk": "aurora.types",
    "Criteria": "aurora.types",
    "Memory": "aurora.engine",
    "Places": "aurora.config",
    "Query": "aurora.types",
    "SearchResult": "aurora.types",
    "Settings": "aurora.config",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is asked for: `aur --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'aurora' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - `aur --help` imports as little as can be

    return getattr(importlib.import_module(_HOMES[name]), name)
