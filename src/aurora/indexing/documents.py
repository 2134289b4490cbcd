"""Documents, lessons, and forgetting: what a memory holds that does not come from indexed files.

A document is a text with labels, cut into chunks. Its file identifies it, so that an edited file
replaces it; without a file, its text does. Its chunks have no path: chunks with a path belong to an
indexed folder, and leave with their file. A lesson is a pattern that worked or did not, in one
chunk. The callers read files and remove secrets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aurora.errors import LabelError, SourceError
from aurora.indexing.reader import Names
from aurora.parsers.languages import GRAMMARS, PLAIN_LANGUAGES, PROSE
from aurora.parsers.markdown import LONGEST_HEADING
from aurora.parsers.plain import Cutter
from aurora.parsers.prose import LONGEST, NotesParser, find_title
from aurora.stores.base import Reasoning, Store
from aurora.text import make_slug, printable
from aurora.types import LEAST_SUCCESS, Chunk, Document, Json, Kind

DOCUMENT = "document"  # the value of `metadata.source`, and the default document type
PRIVATE = "private"  # in the metadata of a document that stays with the person
RESERVED = ("origin", "part", "parts", "source", "title")  # metadata keys that Aurora sets
_NAMESPACE = "namespace:"
_DIGITS = 12  # of a document's id: with 8, two of 10,000 documents of one title may collide
_LESSON_DIGITS = 8
_TRIES = "tries"  # in the metadata of a lesson
_NAME = 60  # characters of the first line that names a text without a title
_HEAD = 10_000  # characters in which a title is looked for


# Documents


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a document. Without a `source`, its file is the source."""

    namespace: str = ""
    document_type: str = DOCUMENT
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_line("namespace", self.namespace, may_be_empty=True)
        _require_line("document type", self.document_type)
        _require_line("source", self.source, may_be_empty=True)
        for key in self.metadata:
            _require_line("metadata key", key)
            if key in RESERVED:
                raise LabelError(
                    f"Metadata cannot be called {key!r}: every document has its own",
                    hint=f"use any other word than {', '.join(RESERVED)}",
                )
        self.own_metadata()

    def own_metadata(self) -> dict[str, Json]:
        """The user's metadata as a store returns it, so that both can be compared."""
        written = json.dumps(dict(self.metadata), ensure_ascii=False, allow_nan=False)
        try:
            written.encode()
        except UnicodeEncodeError as exc:
            raise LabelError(
                f"Metadata {printable(written)} is not UTF-8", hint="a memory holds only text"
            ) from exc
        own: dict[str, Json] = json.loads(written)
        return own


def _require_line(label: str, word: str, *, may_be_empty: bool = False) -> None:
    if printable(word) != word:
        raise LabelError(
            f"{word!r} cannot be a {label}: it holds a control character or is not UTF-8",
            hint="write it as one line of plain text",
        )
    if not (may_be_empty or word.strip()):
        raise LabelError(f"A {label} cannot be empty", hint="leave it out, or give it a word")


class Outcome(StrEnum):
    """The effect of adding a document."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Added:
    """A document as the memory holds it. Its first chunk has the document's id."""

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
    """The chunks of a document. `name` is its file's name in the memory, if it has a file.

    Without a `title`, the text's own is used. A `key` alone determines the id.
    """
    text = text.removeprefix("\ufeff")
    _require_text(text, name)
    language = _language(name)
    head = text if len(text) <= _HEAD else text[:_HEAD].rpartition("\n")[0]
    own_title = (
        " ".join(title.split())[:LONGEST_HEADING].rstrip()
        or find_title(head, language)[:LONGEST_HEADING].strip()
        or PurePosixPath(name).name
    )
    title = own_title or text.lstrip()[:_NAME].partition("\n")[0].rstrip()
    words = "" if key else PurePosixPath(name).stem or title
    id_ = _make_id("doc", words, key or _key(text, labels, name), digits=_DIGITS)
    metadata: dict[str, Json] = labels.own_metadata() | {"source": DOCUMENT, "title": title}
    if origin := labels.source or name:
        metadata["origin"] = origin
    pieces = list(_cut(text, language))
    return [
        replace(
            piece,
            id=_piece_id(id_, part),
            name=piece.name or title,
            qualified_name=piece.qualified_name or own_title,  # a title from the text is not a name
            lines=piece.lines if name else None,  # without a file there is nothing to open
            language=language,
            namespace=labels.namespace,
            document_type=labels.document_type,
            created_at=now,
            metadata=metadata | {"part": part, "parts": len(pieces)},
        )
        for part, piece in enumerate(pieces, start=1)
    ]


def put_documents(store: Store, documents: Iterable[Sequence[Chunk]]) -> list[Added]:
    """Store the chunks of many documents, all of them or none."""
    with store.transaction():
        return [put_document(store, pieces) for pieces in documents]


def put_document(store: Store, pieces: Sequence[Chunk]) -> Added:
    """Store the chunks of one document, and remove those that it had before."""
    first = pieces[0]
    with store.transaction():
        before = store.chunks.get_chunks([first.id])
        stored = {piece.id: piece for piece in store.chunks.get_chunks(piece_ids(before))}
        removed = store.chunks.delete_chunks(stored.keys() - {piece.id for piece in pieces})
        changed = store.chunks.put_chunks(
            replace(piece, created_at=old.created_at)  # the date of the text
            if (old := stored.get(piece.id)) and old.content == piece.content
            else piece
            for piece in pieces
        )
    outcome = Outcome.REPLACED if removed + changed else Outcome.UNCHANGED
    title = str(first.metadata["title"])
    return Added(first.id, title, len(pieces), outcome if before else Outcome.ADDED)


def piece_ids(chunks: Sequence[Chunk]) -> list[str]:
    """The ids of chunks; the first chunk of a document stands for all of its chunks."""
    ids = []
    for chunk in chunks:
        facts, parts = chunk.metadata, chunk.metadata.get("parts")
        is_first = facts.get("source") == DOCUMENT and facts.get("part") == 1
        last = parts if is_first and isinstance(parts, int) else 1
        ids += [_piece_id(chunk.id, part) for part in range(1, last + 1)]
    return ids


def _piece_id(document_id: str, part: int) -> str:
    return document_id if part == 1 else f"{document_id}@{part}"


def _make_id(kind: str, title: str, key: bytes, *, digits: int) -> str:
    """An id such as `doc-release-plan-1a2b3c4d`. The digest depends on the key only."""
    digest = hashlib.sha256(key).hexdigest()[:digits]
    return "-".join(filter(None, [kind, make_slug(title), digest]))


def document_id(namespace: str, name: str) -> str:
    """The id of the document of a file, by the file's name in the memory."""
    return _make_id("doc", PurePosixPath(name).stem, _file_key(namespace, name), digits=_DIGITS)


def is_document_of(chunk_id: str, namespace: str, name: str) -> bool:
    """True for the id of a file's document, also where an older version cut the digest shorter."""
    digest = chunk_id.rpartition("-")[2]
    whole = hashlib.sha256(_file_key(namespace, name)).hexdigest()
    return len(digest) >= _LESSON_DIGITS and whole.startswith(digest)


def _file_key(namespace: str, name: str) -> bytes:
    return "\0".join(("file", namespace, name)).encode()


def _key(text: str, labels: Labels, name: str) -> bytes:
    """What identifies a document: the path of its file, so that it may be edited, or its text."""
    if name:
        return _file_key(labels.namespace, name)
    start = "\0".join(("text", labels.namespace, labels.document_type, labels.source, ""))
    # Bytes: one emoji makes a text four times as large in memory, and so every copy of it.
    return start.encode() + text.encode().strip()


def _language(name: str) -> str:
    """The language of the file's suffix. Text without a file is read as Markdown."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in GRAMMARS:
        return GRAMMARS[suffix].language
    return (PROSE.get(suffix) or PLAIN_LANGUAGES.get(suffix, "")) if name else "markdown"


def _cut(text: str, language: str) -> Iterator[Chunk]:
    """Short text whole, long prose at its headings, other long text between paragraphs."""
    if len(text) > LONGEST and language in PROSE.values():
        yield from NotesParser(language).parse(Document("", text)).chunks
        return
    for lines, content in Cutter(longest=LONGEST).cut(text.split("\n")):
        yield Chunk(id="", kind=Kind.KNOWLEDGE, name="", content=content, lines=lines)


def _require_text(text: str, name: str) -> None:
    subject = name or "The text"
    if not text or text.isspace():
        raise SourceError(f"{subject} is empty", hint="there must be something to find")
    if "\0" in text:
        raise SourceError(f"{subject} is binary", hint="only text can be added")
    try:
        name.encode()
        text.encode()
    except UnicodeEncodeError as exc:
        raise SourceError(f"{subject} is not UTF-8", hint="only text can be added") from exc


# Lessons


def learn(
    store: Store, text: str, *, pattern_type: str, score: float, context: str, now: datetime
) -> Chunk:
    """Store one try of a pattern; the chunk of the lesson.

    The same pattern is the same chunk: its score becomes the mean of all tries, and its use count
    grows with each success.
    """
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"a success score lies in [0, 1], not {score}")
    text, context = text.strip(), context.strip()
    first_line = text.partition("\n")[0][:_NAME]
    key = f"{pattern_type}\0{text}".encode()
    chunk = Chunk(
        id=_make_id("reasoning", first_line, key, digits=_LESSON_DIGITS),
        kind=Kind.REASONING,
        name=first_line,
        content=f"{text}\n\n{context}" if context else text,
        created_at=now,
    )
    with store.transaction():
        before = store.chunks.get_reasoning(chunk.id) or Reasoning(pattern_type, 0.0, 0, now)
        tries = _count_tries(store, chunk.id, before)
        mean = (before.success_score * tries + score) / (tries + 1)
        metadata: dict[str, Json] = {"source": "reasoning", "pattern_type": pattern_type}
        metadata[_TRIES] = tries + 1
        chunk = replace(chunk, created_at=before.created_at, metadata=metadata)
        store.chunks.put_chunks([chunk])
        count = before.usage_count + (score >= LEAST_SUCCESS)
        tried = replace(before, success_score=mean, usage_count=count)
        store.chunks.put_reasoning(chunk.id, tried)
    return chunk


def _count_tries(store: Store, lesson: str, reasoning: Reasoning) -> int:
    """Earlier tries of a lesson. Of an older memory, only the successes are known."""
    for chunk in store.chunks.get_chunks([lesson]):
        tries = chunk.metadata.get(_TRIES)
        return tries if isinstance(tries, int) else max(reasoning.usage_count, 1)
    return 0


# Forgetting


class Forgotten(NamedTuple):
    """What was removed from the memory."""

    chunks: int
    paths: tuple[str, ...]  # files that have no chunk left
    names: frozenset[str]  # ids and titles of documents, which a log may hold
    removed: tuple[Chunk, ...] = ()


def find_to_forget(store: Store, names: Names, word: str) -> list[str]:
    """Chunk ids that a word names: an id, all of a document, a file, a folder, `namespace:NAME`."""
    if word.startswith(_NAMESPACE):
        return store.chunks.find_in_namespace(word.removeprefix(_NAMESPACE))
    chunks = store.chunks.get_chunks(piece_ids(store.chunks.get_chunks([word])))
    try:
        path = Path(word).resolve()
    except (OSError, ValueError, RuntimeError):  # not a path: a null byte, a loop of links
        paths = set()
    else:
        # Documents and lessons have no path, and are below no folder.
        paths = {word.rstrip("/"), path.as_posix(), names.of(path)} - {""}
    return sorted({chunk.id for chunk in chunks}.union(*map(store.chunks.find_below, paths)))


def forget(store: Store, chunk_ids: Sequence[str]) -> Forgotten:
    """Remove chunks with everything that belongs to them."""
    with store.transaction():
        chunks = store.chunks.get_chunks(chunk_ids)
        removed = store.chunks.delete_chunks(chunk_ids)
        paths = {chunk.path for chunk in chunks if chunk.path}
        empty = tuple(sorted(path for path in paths if not store.chunks.find_below(path)))
        store.chunks.forget_files(
            empty, everywhere=True
        )  # so that a later index run reads them again
    prose = {name for chunk in chunks if chunk.kind.is_prose for name in (chunk.id, chunk.name)}
    return Forgotten(removed, empty, frozenset(prose - {""}), tuple(chunks))
