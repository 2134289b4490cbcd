"""The values that pass between stages, from a file to a line on the screen. All are frozen."""

from aurora.types.chunk import (
    Chunk,
    ChunkHistory,
    Document,
    ForeignDocument,
    Json,
    Kind,
    Lines,
    NewDocument,
    Place,
    Tracking,
    moment,
)
from aurora.types.reports import (
    METRICS,
    Compared,
    Estimate,
    Finding,
    IndexCheck,
    IndexState,
    Level,
    Measured,
    MeasuredForm,
    MeasuredNames,
    MeasuredSet,
    Missed,
    ModelEntry,
    ModelState,
)
from aurora.types.search import (
    DEFAULT_LIMIT,
    Contribution,
    Criteria,
    Event,
    Fused,
    Hit,
    Listener,
    Mode,
    Note,
    Progress,
    Query,
    Ranking,
    Rerank,
    SearchResult,
    SearchResults,
    ignore_events,
)

__all__ = [
    "DEFAULT_LIMIT", "METRICS", "Chunk", "ChunkHistory", "Compared", "Contribution", "Criteria",
    "Document", "Estimate", "Event", "Finding", "ForeignDocument", "Fused", "Hit", "IndexCheck",
    "IndexState", "Json", "Kind", "Level", "Lines", "Listener", "Measured", "MeasuredForm",
    "MeasuredNames", "MeasuredSet", "Missed", "Mode", "ModelEntry", "ModelState", "NewDocument",
    "Note", "Place", "Progress", "Query", "Ranking", "Rerank", "SearchResult", "SearchResults",
    "Tracking", "ignore_events", "moment",
]  # fmt: skip
