"""What is said of a document beside its text: namespace, type, source and free metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from aurora.errors import LabelError
from aurora.text import printable
from aurora.types import Json

DOCUMENT = "document"  # what `metadata.source` says, and the type of one that was given none
RESERVED = ("origin", "part", "parts", "source", "title")  # metadata that is not the user's to set


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one document. Refuses what could not be kept, shown or asked for again."""

    namespace: str = ""
    document_type: str = DOCUMENT
    source: str = ""  # where it comes from; nothing means its file, if it has one
    metadata: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_line("namespace", self.namespace)
        _require_word("document type", self.document_type)
        _require_line("source", self.source)
        for key in self.metadata:
            _require_key(key)
        self.own_metadata()

    def own_metadata(self) -> dict[str, Json]:
        """The user's metadata as a store gives it back, so that the two can be compared."""
        written = json.dumps(dict(self.metadata), ensure_ascii=False, allow_nan=False)
        try:
            written.encode()
        except UnicodeEncodeError as exc:
            raise LabelError(
                f"Metadata {printable(written)} is not UTF-8", hint="a memory holds only text"
            ) from exc
        own: dict[str, Json] = json.loads(written)
        return own


def _require_key(key: str) -> None:
    _require_word("metadata key", key)
    if key in RESERVED:
        raise LabelError(
            f"Metadata cannot be called {key!r}: every document has its own",
            hint=f"use any other word than {', '.join(RESERVED)}",
        )


def _require_word(what: str, word: str) -> None:
    _require_line(what, word)
    if not word.strip():
        raise LabelError(f"A {what} cannot be empty", hint="leave it out, or give it a word")


def _require_line(what: str, word: str) -> None:
    if printable(word) != word:
        raise LabelError(
            f"{word!r} cannot be a {what}: it holds a control character or is not UTF-8",
            hint="write it as one line of plain text",
        )
