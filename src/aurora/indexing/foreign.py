"""Documents of another program's memory become ours: all that is known of them is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aurora.errors import AuroraError, LabelError
from aurora.indexing.documents import Outcome, cut_document, put_document
from aurora.indexing.labels import DOCUMENT, RESERVED, Labels
from aurora.redaction import Redactor
from aurora.stores.base import Store
from aurora.text import printable
from aurora.types import ForeignDocument, Json, Listener, Note, Progress, ignore_events

ORIGIN = "aurorakb"
_ID = f"{ORIGIN}_id"
_WHOLE = f"{ORIGIN}_metadata"


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of the documents."""

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
    """Take in documents, each page whole. The same again changes nothing.

    `key_space` is where their ids are unique, `prefix` comes before their namespaces.
    """
    redactor = redactor or Redactor()
    counts = dict.fromkeys(Outcome, 0)
    left_out = 0
    for page in pages:
        with store.transaction():
            for document in page:
                try:
                    safe = _redacted(document, redactor)
                    outcome = _put(store, safe, key_space=key_space, prefix=prefix, now=now)
                except AuroraError as exc:
                    left_out += 1
                    listen(Note(f"Left out {document.id}: {exc.message}", warning=True))
                else:
                    counts[outcome] += 1
        listen(Progress("Taking in", sum(counts.values()) + left_out, total))
    return TakenIn(
        counts[Outcome.ADDED], counts[Outcome.REPLACED], counts[Outcome.UNCHANGED], left_out
    )


def _redacted(document: ForeignDocument, redactor: Redactor) -> ForeignDocument:
    return document._replace(
        content=redactor.text(document.content),
        source=redactor.text(document.source),
        metadata=redactor.json(document.metadata),
    )


def _put(
    store: Store, document: ForeignDocument, *, key_space: str, prefix: str, now: datetime
) -> Outcome:
    labels = _labels(document, prefix)
    key = "\0".join((ORIGIN, key_space, document.id)).encode()
    pieces = cut_document(document.content, labels, key=key, now=document.created_at or now)
    return put_document(store, pieces).outcome


def _labels(document: ForeignDocument, prefix: str) -> Labels:
    """Its own, as far as a memory can hold them; the rest goes into metadata as it was."""
    own: dict[str, Json] = {_ID: document.id}
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
    except LabelError:  # a key that could not be asked for
        return replace(labels, metadata={_WHOLE: document.metadata, **own})


def _renamed(metadata: Json) -> dict[str, Json]:
    """Keys that every document of ours has keep their value under another name."""
    if not isinstance(metadata, dict):
        return {} if metadata is None else {_WHOLE: metadata}
    taken = (*RESERVED, _ID)
    return {f"{ORIGIN}_{key}" if key in taken else key: value for key, value in metadata.items()}
