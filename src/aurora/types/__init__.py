"""The values that pass between stages, from a file to a line on the screen.

Everything here is frozen: a stage takes one value and returns another. Reading files, storing,
scoring and showing are left to the floors above.
"""

from aurora.types.chunk import (
    Chunk,
    ChunkHistory,
    Document,
    Json,
    Kind,
    Lines,
    Place,
    Tracking,
    moment,
)
from aurora.types.documents import NewDocument
from aurora.types.events import Event, Listener, Note, Progress, ignore_events
from aurora.types.foreign import ForeignDocument
from aurora.types.health import Finding, IndexCheck, IndexState, Level
from aurora.types.measured import (
    METRICS,
    Compared,
    Estimate,
    Measured,
    MeasuredForm,
    MeasuredNames,
    MeasuredSet,
    Missed,
)
from aurora.types.models import ModelEntry, ModelState
from aurora.types.query import DEFAULT_LIMIT, Criteria, Mode, Query, Rerank
from aurora.types.ranking import (
    Contribution,
    Fused,
    Hit,
    Ranking,
    SearchResult,
    SearchResults,
)

__all__ = [
    "DEFAULT_LIMIT",
    "METRICS",
    "Chunk",
    "ChunkHistory",
    "Compared",
    "Contribution",
    "Criteria",
    "Document",
    "Estimate",
    "Event",
    "Finding",
    "ForeignDocument",
    "Fused",
    "Hit",
    "IndexCheck",
    "IndexState",
    "Json",
    "Kind",
    "Level",
    "Lines",
    "Listener",
    "Measured",
    "MeasuredForm",
    "MeasuredNames",
    "MeasuredSet",
    "Missed",
    "Mode",
    "ModelEntry",
    "ModelState",
    "NewDocument",
    "Note",
    "Place",
    "Progress",
    "Query",
    "Ranking",
    "Rerank",
    "SearchResult",
    "SearchResults",
    "Tracking",
    "ignore_events",
    "moment",
]
