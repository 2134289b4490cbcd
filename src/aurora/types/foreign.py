"""A document of another program's memory, on its way into ours."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from aurora.types.chunk import Json


class ForeignDocument(NamedTuple):
    """As it was found: whatever was not there is empty."""

    id: str
    content: str
    namespace: str = ""
    document_type: str = ""
    source: str = ""
    created_at: datetime | None = None
    metadata: Json = None
