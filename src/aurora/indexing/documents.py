"""Documents, lessons, and forgetting: what a memory holds that does not come from indexed files.

A document is a text with labels, cut into chunks. Its file identifies it, so that an edited file
replaces it; without a file, its text does. Its chunks have no path: chunks with a path belong to an
indexed folder, and leave with their file. A lesson is a pattern that worked or did not, in one
chunk. Either can replace an earlier one (`replacing`). The callers read files and remove secrets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from aurora.errors import LabelError, SourceError
from aurora.indexing.provenance import provenance_of
from aurora.indexing.reader import Names
from aurora.indexing.replacing import (
    DOCUMENT,
    LESSON,
    begin_entry,
    is_linked,
    kept_links,
    mark_replaced,
    piece_id,
    piece_ids,
    take_out,
)
from aurora.parsers.languages import GRAMMARS, PLAIN_LANGUAGES, PROSE
from aurora.parsers.markdown import LONGEST_HEADING
from aurora.parsers.plain import Cutter
from aurora.parsers.prose import LONGEST, NotesParser, find_title
from aurora.quick_classes import dataclass, field, replace
from aurora.stores.base import Reasoning, Store
from aurora.text import make_slug, printable
from aurora.types import (
    LEAST_SUCCESS,
    PROVENANCE,
    REPLACED_BY,
    REPLACES,
    SKETCHES,
    Chunk,
    Document,
    Json,
    Kind,
)

RESERVED = (  # metadata keys that Aurora sets
    "origin", "part", "parts", "source", "title", PROVENANCE, SKETCHES, REPLACES, REPLACED_BY,
)  # fmt: skip
_NAMESPACE = "namespace:"
_MOST_TITLED = 1000  # ids that begin alike
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
class SimilarEntry:
    """A document or lesson of the memory that is about the same matter as a new one."""

    id: str
    title: str
    text: str  # its beginning
    may_contradict: bool = False

    @property
    def relation(self) -> str:
        return "may contradict" if self.may_contradict else "similar"


@dataclass(frozen=True, slots=True)
class Added:
    """A document as the memory holds it. Its first chunk has the document's id.

    `replaces` are the ids of the entries that this call replaced by it.
    """

    id: str
    title: str
    pieces: int
    outcome: Outcome
    replaces: tuple[str, ...] = ()
    similar: tuple[SimilarEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A lesson as the memory holds it. `replaces` as in `Added`."""

    chunk: Chunk
    replaces: tuple[str, ...] = ()
    similar: tuple[SimilarEntry, ...] = ()

    @property
    def id(self) -> str:
        return self.chunk.id


def cut_document(
    text: str,
    labels: Labels,
    *,
    name: str = "",
    title: str = "",
    key: bytes = b"",
    facts: Mapping[str, Json] | None = None,
    now: datetime,
) -> list[Chunk]:
    """The chunks of a document. `name` is its file's name in the memory, if it has a file.

    Without a `title`, the text's own is used. A `key` alone determines the id. `facts` are metadata
    of Aurora's own.
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
    metadata: dict[str, Json] = {
        **labels.own_metadata(), **(facts or {}), "source": DOCUMENT, "title": title,
    }  # fmt: skip
    if origin := labels.source or name:
        metadata["origin"] = origin
    pieces = list(_cut(text, language))
    return [
        replace(
            piece,
            id=piece_id(id_, part),
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


def put_document(store: Store, pieces: Sequence[Chunk], *, replaces: str = "") -> Added:
    """Store the chunks of one document, and remove those that it had before.

    It replaces the entry with the id `replaces`, and a document with the same title.
    """
    first = pieces[0]
    with store.transaction():
        before = store.chunks.get_chunks([first.id])
        stored = {piece.id: piece for piece in store.chunks.get_chunks(piece_ids(before))}
        is_new = not before or before[0].is_replaced
        facts = {} if is_new else _kept_facts(pieces, stored)
        facts |= begin_entry(store, first.id, replaces, _find_titled(store, first))
        removed = store.chunks.delete_chunks(stored.keys() - {piece.id for piece in pieces})
        changed = store.chunks.put_chunks(
            replace(
                piece,
                metadata={**piece.metadata, **facts},
                created_at=old.created_at  # the date of the text
                if (old := stored.get(piece.id)) and old.content == piece.content and not is_new
                else piece.created_at,
            )
            for piece in pieces
        )
        replaced = mark_replaced(store, first.id)
    if is_new:
        outcome = Outcome.REPLACED if replaced else Outcome.ADDED
    else:
        outcome = Outcome.REPLACED if removed + changed else Outcome.UNCHANGED
    title = str(first.metadata["title"])
    return Added(first.id, title, len(pieces), outcome, tuple(replaced))


def _kept_facts(pieces: Sequence[Chunk], stored: Mapping[str, Chunk]) -> dict[str, Json]:
    """Who wrote a document, if it is added again as it is. Nothing if something else changed."""
    for piece in pieces:
        old = stored.get(piece.id)
        if old is None or _without_facts(old) != _without_facts(piece):
            return {}
        if provenance_of(old).files != provenance_of(piece).files:
            return {}
    facts = stored[pieces[0].id].metadata
    return {key: facts[key] for key in (PROVENANCE, SKETCHES) if key in facts}


def _without_facts(chunk: Chunk) -> Chunk:
    facts = (PROVENANCE, SKETCHES, REPLACES)
    metadata = {key: value for key, value in chunk.metadata.items() if key not in facts}
    return replace(chunk, metadata=metadata, created_at=None)


def _find_titled(store: Store, first: Chunk) -> list[str]:
    """The ids of current documents that a new one replaces by its title.

    They have its namespace and type, and no file. A title that is only the beginning of the text
    is none. The ids of such documents begin alike.
    """
    start = first.id[:-_DIGITS]
    if not _is_titled(first) or start == "doc-":
        return []
    ids = store.chunks.find_ids_from(start, limit=_MOST_TITLED)
    same = (first.metadata["title"], first.namespace, first.document_type)
    return [
        chunk.id
        for chunk in store.chunks.get_chunks([id_ for id_ in ids if len(id_) == len(first.id)])
        if chunk.id != first.id
        and _is_titled(chunk)
        and not chunk.is_replaced
        and (chunk.metadata.get("title"), chunk.namespace, chunk.document_type) == same
    ]


def _is_titled(chunk: Chunk) -> bool:
    """True for the first piece of a document without a file that has a title of its own."""
    facts = chunk.metadata
    is_first = facts.get("source") == DOCUMENT and facts.get("part") == 1
    return is_first and chunk.lines is None and chunk.qualified_name != ""


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
    store: Store,
    text: str,
    *,
    pattern_type: str,
    score: float,
    context: str,
    facts: Mapping[str, Json] | None = None,
    replaces: str = "",
    now: datetime,
) -> Learned:
    """Store one try of a pattern.

    The same pattern is the same chunk: its score becomes the mean of all tries, and its use count
    grows with each success. It replaces the entry with the id `replaces`. A lesson that was
    replaced is current again when it is learned again, unless the try failed. `facts` are metadata
    of Aurora's own.
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
    is_success = score >= LEAST_SUCCESS
    with store.transaction():
        before = store.chunks.get_reasoning(chunk.id) or Reasoning(pattern_type, 0.0, 0, now)
        tries = _count_tries(store, chunk.id, before)
        mean = (before.success_score * tries + score) / (tries + 1)
        links = (
            begin_entry(store, chunk.id, replaces)
            if is_success or replaces
            else kept_links(store, chunk.id)
        )
        metadata: dict[str, Json] = {"source": LESSON, "pattern_type": pattern_type}
        metadata |= {**(facts or {}), **links, _TRIES: tries + 1}
        chunk = replace(chunk, created_at=before.created_at, metadata=metadata)
        store.chunks.put_chunks([chunk])
        tried = replace(before, success_score=mean, usage_count=before.usage_count + is_success)
        store.chunks.put_reasoning(chunk.id, tried)
        replaced = mark_replaced(store, chunk.id)
    return Learned(chunk, tuple(replaced))


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
    """Remove chunks with everything that belongs to them.

    What a removed entry had replaced stays replaced.
    """
    with store.transaction():
        chunks = store.chunks.get_chunks(chunk_ids)
        take_out(store, [chunk.id for chunk in chunks if is_linked(chunk)])
        removed = store.chunks.delete_chunks(chunk_ids)
        paths = {chunk.path for chunk in chunks if chunk.path}
        empty = tuple(sorted(path for path in paths if not store.chunks.find_below(path)))
        store.chunks.forget_files(
            empty, everywhere=True
        )  # so that a later index run reads them again
    prose = {name for chunk in chunks if chunk.kind.is_prose for name in (chunk.id, chunk.name)}
    return Forgotten(removed, empty, frozenset(prose - {""}), tuple(chunks))
