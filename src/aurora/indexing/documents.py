"""Documents that a person or an agent hands over: text with labels, cut into chunks (seed 004).

A document is known by its file, so that an edited one takes its own place; without a file it is
known by its text. Its chunks have no path: what has one belongs to the index of a folder, which
removes it with the file. Reading files is left to `sources.document`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath

from aurora.errors import SourceError
from aurora.indexing.ids import make_id
from aurora.indexing.labels import DOCUMENT, Labels
from aurora.parsers.languages import GRAMMARS, LANGUAGES, PROSE
from aurora.parsers.markdown import LONGEST_HEADING
from aurora.parsers.notes import LONGEST, NotesParser, find_title
from aurora.parsers.windows import Cutter
from aurora.stores.base import Store
from aurora.types import Chunk, Document, Json, Kind

_DIGITS = 12  # of an id: with 8, one of 10,000 documents of one title may take another's place
_NAME = 60  # characters of the first line that a text without a title is shown by
_HEAD = 10_000  # characters among which a title stands


class Outcome(StrEnum):
    """What became of a document that was handed over."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Added:
    """A document as the memory now holds it. Its first piece has the document's id."""

    id: str
    title: str
    pieces: int
    outcome: Outcome


def cut_document(
    text: str,
    labels: Labels,
    *,
    name: str = "",
    title: str = "",
    key: bytes = b"",
    now: datetime,
) -> list[Chunk]:
    """The chunks of a document. `name` is what the memory calls its file, if it has one.

    Without a `title` one is looked for in the text. `key` is what it is known by elsewhere: its id
    then follows from that alone.
    """
    text = text.removeprefix("\ufeff")
    _require_text(text, name)
    language = _language(name)
    own_title = " ".join(title.split())[:LONGEST_HEADING].rstrip() or _title(text, language, name)
    title = own_title or text.lstrip()[:_NAME].partition("\n")[0].rstrip()
    words = PurePosixPath(name).stem or title
    known_by = key or _key(text, labels, name)
    id_ = make_id("doc", "" if key else words, known_by, digits=_DIGITS)
    about = labels.own_metadata() | _about(title, labels.source or name)
    pieces = list(_cut(text, language))
    return [
        replace(
            piece,
            id=_piece_id(id_, part),
            name=piece.name or title,
            qualified_name=piece.qualified_name or own_title,  # the other is to show it by
            lines=piece.lines if name else None,  # there is nothing to open at these lines
            language=language,
            namespace=labels.namespace,
            document_type=labels.document_type,
            created_at=now,
            metadata=about | {"part": part, "parts": len(pieces)},
        )
        for part, piece in enumerate(pieces, start=1)
    ]


def put_document(store: Store, pieces: Sequence[Chunk]) -> Added:
    """Make these the pieces of one document, whatever it had: all of them or none."""
    first = pieces[0]
    with store.transaction():
        before = store.get_chunks([first.id])
        known = {piece.id: piece for piece in store.get_chunks(piece_ids(before))}
        wanted = {piece.id: _dated(piece, known.get(piece.id)) for piece in pieces}
        gone = store.delete_chunks(known.keys() - wanted.keys())
        changed = store.put_chunks(wanted.values())
    outcome = Outcome.REPLACED if gone + changed else Outcome.UNCHANGED
    title = str(first.metadata["title"])
    return Added(first.id, title, len(pieces), outcome if before else Outcome.ADDED)


def put_documents(store: Store, documents: Iterable[Sequence[Chunk]]) -> list[Added]:
    """As `put_document`, for many at once: all of them or none."""
    with store.transaction():
        return [put_document(store, pieces) for pieces in documents]


def piece_ids(chunks: Sequence[Chunk]) -> list[str]:
    """The ids of chunks; the first piece of a document stands for all of its pieces."""
    return [_piece_id(chunk.id, part) for chunk in chunks for part in range(1, _parts(chunk) + 1)]


def _parts(chunk: Chunk) -> int:
    facts = chunk.metadata
    parts = facts.get("parts") if facts.get("source") == DOCUMENT else 1
    return parts if isinstance(parts, int) and facts.get("part") == 1 else 1


def _piece_id(document_id: str, part: int) -> str:
    return document_id if part == 1 else f"{document_id}@{part}"


def _dated(piece: Chunk, known: Chunk | None) -> Chunk:
    """A piece is as old as its text: what comes again unchanged is no news."""
    if known is None or known.content != piece.content:
        return piece
    return replace(piece, created_at=known.created_at)


def _key(text: str, labels: Labels, name: str) -> bytes:
    """What makes it this document: a file's path alone, so that it may be edited, or the text."""
    if name:
        return "\0".join(("file", labels.namespace, name)).encode()
    about = "\0".join(("text", labels.namespace, labels.document_type, labels.source, ""))
    # Bytes: one emoji makes a text four times as large in memory, and so every copy of it.
    return about.encode() + text.encode().strip()


def _about(title: str, origin: str) -> dict[str, Json]:
    about: dict[str, Json] = {"source": DOCUMENT, "title": title}
    return about | {"origin": origin} if origin else about


def _language(name: str) -> str:
    """By the file's suffix. Text without a file is read as Markdown: plain text is that, too."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in GRAMMARS:
        return GRAMMARS[suffix].language
    return (PROSE.get(suffix) or LANGUAGES.get(suffix, "")) if name else "markdown"


def _title(text: str, language: str, name: str) -> str:
    head = text if len(text) <= _HEAD else text[:_HEAD].rpartition("\n")[0]
    found = find_title(head, language)[:LONGEST_HEADING].strip()
    return found or PurePosixPath(name).name


def _cut(text: str, language: str) -> Iterator[Chunk]:
    """Short text whole, long prose at its headings, other long text between paragraphs."""
    if len(text) > LONGEST and language in PROSE.values():
        yield from NotesParser(language).parse(Document("", text)).chunks
        return
    cutter = Cutter(longest=LONGEST)
    windows = [w for at, line in enumerate(text.split("\n"), start=1) for w in cutter.add(at, line)]
    for lines, content in windows + cutter.rest():
        yield Chunk(id="", kind=Kind.KNOWLEDGE, name="", content=content, lines=lines)


def _require_text(text: str, name: str) -> None:
    what = name or "The text"
    if not text or text.isspace():
        raise SourceError(f"{what} is empty", hint="there must be something to find")
    if "\0" in text:
        raise SourceError(f"{what} is binary", hint="only text can be added")
    try:
        name.encode()
        text.encode()
    except UnicodeEncodeError as exc:
        raise SourceError(f"{what} is not UTF-8", hint="only text can be added") from exc
