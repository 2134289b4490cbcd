"""Documents that a person or an agent hands over: text with labels, cut into chunks (seed 004).

A document is known by its file, so that an edited one takes its own place; without a file it is
known by its text. Its chunks have no path: what has one belongs to the index of a folder, which
removes it with the file. Reading files is left to `sources.document`.

What is said of a document beside its text: namespace, type, source and free metadata.

Ids of what has no file: a word, a few of its own words for people, and a digest.

What was learned, as a chunk: a pattern that worked or did not (seed 000, FR-4).

The same pattern learned again is the same chunk: its score becomes the mean of all tries, and its
use count grows with each that succeeded.

Taking chunks out of the memory: which ones a word stands for, and removing them for good.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aurora.errors import LabelError, SourceError
from aurora.indexing.reader import Names
from aurora.parsers.languages import GRAMMARS, LANGUAGES, PROSE
from aurora.parsers.markdown import LONGEST_HEADING
from aurora.parsers.plain import Cutter
from aurora.parsers.prose import LONGEST, NotesParser, find_title
from aurora.stores.base import SEARCHABLE_SUCCESS, Reasoning, Store
from aurora.text import printable
from aurora.types import Chunk, Document, Json, Kind

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


_SLUG = 40  # characters: enough to know it by


def make_id(word: str, title: str, key: bytes, *, digits: int) -> str:
    """`doc-release-plan-1a2b3c4d`: the same key gives the same digest, a title may be empty."""
    slug = re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:_SLUG]
    digest = hashlib.sha256(key).hexdigest()[:digits]
    return "-".join(filter(None, [word, slug, digest]))


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
        before = store.chunks.get_chunks([first.id])
        known = {piece.id: piece for piece in store.chunks.get_chunks(piece_ids(before))}
        wanted = {piece.id: _dated(piece, known.get(piece.id)) for piece in pieces}
        gone = store.chunks.delete_chunks(known.keys() - wanted.keys())
        changed = store.chunks.put_chunks(wanted.values())
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


_LESSON_NAME = 60  # characters of a pattern's first line that it is shown by


def learn(
    store: Store, text: str, *, pattern_type: str, score: float, context: str, now: datetime
) -> Chunk:
    """Record one try of a pattern; returns the chunk that stands for it."""
    if not (math.isfinite(score) and 0.0 <= score <= 1.0):
        raise ValueError(f"a success score lies in [0, 1], not {score}")
    chunk = _chunk(text.strip(), pattern_type, context.strip(), now)
    with store.transaction():
        known = store.chunks.get_reasoning(chunk.id)
        if known is not None:
            chunk = replace(chunk, created_at=known.created_at)
        store.chunks.put_chunks([chunk])
        store.chunks.put_reasoning(chunk.id, _tried(known, pattern_type, score, now))
    return chunk


def _chunk(text: str, pattern_type: str, context: str, now: datetime) -> Chunk:
    first_line = text.partition("\n")[0][:_LESSON_NAME]
    return Chunk(
        id=make_id("reasoning", first_line, f"{pattern_type}\0{text}".encode(), digits=8),
        kind=Kind.REASONING,
        name=first_line,
        content=f"{text}\n\n{context}" if context else text,
        created_at=now,
        metadata={"source": "reasoning", "pattern_type": pattern_type},
    )


def _tried(known: Reasoning | None, pattern_type: str, score: float, now: datetime) -> Reasoning:
    succeeded = score >= SEARCHABLE_SUCCESS
    if known is None:
        return Reasoning(pattern_type, score, int(succeeded), now)
    tries = max(known.usage_count, 1)
    mean = (known.success_score * tries + score) / (tries + 1)
    return replace(known, success_score=mean, usage_count=known.usage_count + succeeded)


_NAMESPACE = "namespace:"


def find_to_forget(store: Store, names: Names, what: str) -> list[str]:
    """Ids that a word stands for: a chunk's id, a file or folder, or `namespace:NAME`.

    The id of a document stands for all its pieces.
    """
    if what.startswith(_NAMESPACE):
        return store.chunks.find_in_namespace(what.removeprefix(_NAMESPACE))
    ids = piece_ids(store.chunks.get_chunks([what]))
    found = {chunk.id for chunk in store.chunks.get_chunks(ids)}
    return sorted(found.union(*map(store.chunks.find_below, _places(names, what))))


def _places(names: Names, what: str) -> set[str]:
    """What the memory may call a file or folder."""
    try:
        path = Path(what).resolve()
    except (OSError, ValueError, RuntimeError):  # a null byte, a loop of links: no path
        return set()
    # Documents and lessons have no path, and are below no folder.
    return {what.rstrip("/"), path.as_posix(), names.of(path)} - {""}


class Forgotten(NamedTuple):
    """What left the memory."""

    chunks: int
    paths: tuple[str, ...]  # of files that have no chunk any more
    names: frozenset[str]  # what else may be called by name elsewhere: ids and titles of documents


def forget(store: Store, chunk_ids: Sequence[str]) -> Forgotten:
    """Remove chunks with all that is remembered of them."""
    with store.transaction():
        chunks = store.chunks.get_chunks(chunk_ids)
        gone = store.chunks.delete_chunks(chunk_ids)
        paths = {chunk.path for chunk in chunks if chunk.path}
        empty = tuple(sorted(path for path in paths if not store.chunks.find_below(path)))
        store.chunks.forget_files(empty)  # so that a later index reads them again
    prose = {name for chunk in chunks if chunk.kind.is_prose for name in (chunk.id, chunk.name)}
    return Forgotten(gone, empty, frozenset(prose - {""}))
