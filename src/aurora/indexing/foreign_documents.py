"""Imports the documents of another program's memory, with all that is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from aurora.errors import AuroraError, LabelError
from aurora.indexing.documents import RESERVED, Labels, Outcome, cut_document, put_document
from aurora.indexing.replacing import DOCUMENT, find_entry
from aurora.quick_classes import dataclass, replace
from aurora.redaction import Redactor
from aurora.stores.base import Store
from aurora.text import printable
from aurora.types import (
    FOREIGN_ID,
    ForeignDocument,
    Json,
    Listener,
    Note,
    Progress,
    ignore_events,
)

ORIGIN = "aurorakb"
_METADATA = f"{ORIGIN}_metadata"  # the metadata key for what has no place in a document


@dataclass(frozen=True, slots=True)
class TakenIn:
    """How many documents were added, replaced, unchanged and left out."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    left_out: int = 0

    @property
    def documents(self) -> int:
        return self.added + self.replaced + self.unchanged


def take_in(
    store: Store,
    pages: Iterable[Sequence[ForeignDocument]],
    *,
    redactor: Redactor | None = None,
    total: int,
    key_space: str,
    prefix: str = "",
    now: datetime,
    listen: Listener = ignore_events,
) -> TakenIn:
    """Import documents, each page in one transaction. Their ids are unique in `key_space`."""
    redactor = redactor or Redactor()
    counts = Counter[str]()
    for page in pages:
        with store.transaction():
            for document in page:
                try:
                    safe = document._replace(
                        content=redactor.text(document.content),
                        source=redactor.text(document.source),
                        metadata=redactor.json(document.metadata),
                    )
                    key = "\0".join((ORIGIN, key_space, safe.id)).encode()
                    labels, created_at = _labels(safe, prefix), safe.created_at or now
                    pieces = cut_document(safe.content, labels, key=key, now=created_at)
                    old = find_entry(store, pieces[0].id)
                    is_replaced = old is not None and old.is_replaced  # here, since the last import
                    outcome = (
                        Outcome.UNCHANGED if is_replaced else put_document(store, pieces).outcome
                    )
                    counts[outcome] += 1
                except AuroraError as exc:
                    counts["left_out"] += 1
                    listen(Note(f"Left out {document.id}: {exc.message}", warning=True))
        listen(Progress("Taking in", counts.total(), total))
    return TakenIn(**counts)


def _labels(document: ForeignDocument, prefix: str) -> Labels:
    """The document's labels. Values that a memory cannot hold go into its metadata."""
    own: dict[str, Json] = {FOREIGN_ID: document.id}
    words = {
        "namespace": prefix + document.namespace,
        "document_type": document.document_type,
        "source": document.source,
    }
    shown = {name: printable(word) for name, word in words.items()}
    own |= {f"{ORIGIN}_{name}": words[name] for name in words if shown[name] != words[name]}
    kind = shown["document_type"].strip() and shown["document_type"]
    labels = Labels(shown["namespace"], kind or DOCUMENT, shown["source"], own)
    try:
        return replace(labels, metadata=_renamed(document.metadata) | own)
    except LabelError:  # a key that no filter could name
        return replace(labels, metadata={_METADATA: document.metadata, **own})


def _renamed(metadata: Json) -> dict[str, Json]:
    """The metadata, with a prefix before keys that Aurora itself uses."""
    if not isinstance(metadata, dict):
        return {} if metadata is None else {_METADATA: metadata}
    taken = (*RESERVED, FOREIGN_ID)
    return {f"{ORIGIN}_{key}" if key in taken else key: value for key, value in metadata.items()}
