"""A document that is handed over, before it is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aurora.types.chunk import Json


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A text and what is said of it.

    It is known by its `key`, if it has one: two of the same text are two then. Else by its file,
    or by its text. Without a `title` one is found in the text; without a date it is of today.
    """

    text: str
    title: str = ""
    path: Path | None = None
    key: str = ""
    namespace: str = ""
    document_type: str = "document"
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    created_at: datetime | None = None
