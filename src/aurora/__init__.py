"""Aurora: one memory for a developer and the AI agents that work beside them.

    from aurora import Memory

    with Memory.open(".") as memory:
        memory.index(".")
        for result in memory.search("where is the session refreshed").results:
            print(result.chunk.id, result.score)

docs/guide/python.md explains the rest.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; importing typing takes 4 ms
if TYPE_CHECKING:
    from aurora.config import Places, Settings, SettingsFiles
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.engine.entries import EntryVersion
    from aurora.engine.memory import Memory, Stats
    from aurora.errors import (
        AuroraError,
        ChunkNotFoundError,
        ConfigError,
        EmbedderMismatchError,
        EmbeddingError,
        LabelError,
        LlmError,
        NoMemoryError,
        QueryError,
        SourceError,
        StoreBusyError,
        StoreError,
        TransferError,
    )
    from aurora.indexing.documents import Added, Learned, Outcome, SimilarEntry
    from aurora.indexing.embedding import Embedded
    from aurora.indexing.export_format import ExportCounts
    from aurora.indexing.freshness import Refresh
    from aurora.indexing.import_export import Writer
    from aurora.indexing.indexer import IndexReport
    from aurora.indexing.provenance import Provenance
    from aurora.session_facts import SessionFacts
    from aurora.sources.watch import Stop
    from aurora.stores.base import Embedder
    from aurora.trail_types import CommandRun, Fixes, How, Mend, Why, WhyEntry
    from aurora.types import (
        Chunk,
        ChunkHistory,
        Contribution,
        Criteria,
        Event,
        IndexCheck,
        IndexState,
        Json,
        Kind,
        LeftOut,
        Lines,
        Listener,
        Mode,
        Moment,
        NewDocument,
        Note,
        Progress,
        Query,
        Recall,
        RecallItem,
        Rerank,
        SearchResult,
        SearchResults,
        Situation,
        Symbol,
        Tracking,
    )

    __version__: str

__all__ = [
    "Added", "AuroraError", "Chunk", "ChunkHistory", "ChunkNotFoundError", "CommandRun",
    "ConfigError", "Contribution", "Criteria", "Embedded", "Embedder", "EmbedderMismatchError",
    "EmbeddingError", "EmbeddingProvider", "EntryVersion", "Event", "ExportCounts", "Fixes", "How",
    "IndexCheck", "IndexReport", "IndexState", "Json", "Kind", "LabelError", "Learned", "LeftOut",
    "Lines", "Listener", "LlmError", "Memory", "Mend", "Mode", "Moment", "NewDocument",
    "NoMemoryError", "Note", "Outcome", "Places", "Progress", "Provenance", "Query", "QueryError",
    "Recall", "RecallItem", "Refresh", "Rerank", "SearchResult", "SearchResults", "SessionFacts",
    "Settings", "SettingsFiles", "SimilarEntry", "Situation", "SourceError", "Stats", "Stop",
    "StoreBusyError", "StoreError", "Symbol", "Tracking", "TransferError", "Why", "WhyEntry",
    "Writer", "__version__",
]  # fmt: skip
# The modules that define these names, in the order in which they import each other.
_MODULES = (
    "errors", "session_facts", "types", "trail_types", "config", "stores.base",
    "embeddings.base", "engine.memory", "sources.watch", "indexing.documents",
    "indexing.embedding", "indexing.export_format", "indexing.freshness",
    "indexing.import_export", "indexing.indexer", "indexing.provenance", "engine.entries",
)  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: `aur --help` needs none of them."""
    import importlib  # noqa: PLC0415 - `aur --help` imports as little as possible

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("aurora-memory")
    for module in _MODULES if name in __all__ else ():
        home = importlib.import_module(f"aurora.{module}")
        if hasattr(home, name):
            return getattr(home, name)
    raise AttributeError(f"module 'aurora' has no attribute {name!r}")
