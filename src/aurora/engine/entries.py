"""Documents and lessons of one memory: adding, learning, and their history.

Each has its provenance: who wrote it, at which commit, and about which files. The answer to a write
names what the memory already holds of the same matter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.config.worktrees import branch_of, commit_of
from aurora.engine.opening import OpenedMemory
from aurora.engine.projects import require_team_folder
from aurora.engine.working_copies import login_name
from aurora.errors import AuroraError, ChunkNotFoundError, QueryError, SourceError
from aurora.indexing.documents import (
    Added,
    Labels,
    Learned,
    SimilarEntry,
    cut_document,
    learn,
    put_document,
)
from aurora.indexing.indexer import index_files
from aurora.indexing.provenance import (
    Provenance,
    find_named_files,
    provenance_of,
    require_files,
    sketch_files,
)
from aurora.indexing.reader import Names, scan
from aurora.indexing.replacing import (
    find_entry,
    is_entry,
    list_versions,
    piece_ids,
    replaced_ids,
    successor_id,
)
from aurora.indexing.similar import find_similar
from aurora.indexing.team_lessons import write_team_lesson
from aurora.parsers.lessons import LESSONS, TeamLesson, is_lesson_path
from aurora.quick_classes import dataclass, replace
from aurora.redaction import Redactor
from aurora.sources.git import find_user
from aurora.stores.base import Store
from aurora.text import printable
from aurora.types import (
    LEAST_SUCCESS,
    PROVENANCE,
    SKETCHES,
    Chunk,
    Json,
    NewDocument,
    NewLesson,
    Note,
    Progress,
)

if TYPE_CHECKING:
    from aurora.engine.writing import VectorUpdates

logger = logging.getLogger(__name__)

_BATCH = 500  # documents in one transaction
_NOTHING = 'say what: aur mem learn "…"'


class EntryWriter:
    """Writes documents and lessons. `Memory` documents its methods."""

    def __init__(
        self,
        opened: OpenedMemory,
        vectors: VectorUpdates,
        redacting: Callable[[], AbstractContextManager[Redactor]],
    ) -> None:
        self._opened, self._vectors, self._redacting = opened, vectors, redacting
        self._name: str | None = None  # of the person

    def add(self, document: NewDocument) -> Added:
        [added] = self.add_all([document])
        return replace(added, similar=self._find_similar(added.id))

    def add_all(self, documents: Iterable[NewDocument], *, embed: bool = True) -> list[Added]:
        opened, rest = self._opened, iter(documents)
        added: list[Added] = []
        while batch := list(islice(rest, _BATCH)):
            with self._redacting() as redactor:
                cut = [self._cut(document, redactor) for document in batch]
            opened.create()
            store = opened.store
            with store.transaction():
                added += [
                    put_document(store, pieces, replaces=document.replaces)
                    for document, pieces in zip(batch, cut, strict=True)
                ]
            if embed:
                self._vectors.embed_new([piece.id for pieces in cut for piece in pieces])
            if len(batch) == _BATCH:
                opened.listen(Progress("Adding", len(added), 0))
        return added

    def _cut(self, document: NewDocument, redactor: Redactor) -> list[Chunk]:
        path, source = document.path, redactor.text(document.source)
        metadata = redactor.mapping(document.metadata)
        return cut_document(
            redactor.text(document.text),
            Labels(document.namespace, document.document_type, source, metadata),
            name=Names(self._opened.root).of(path.resolve()) if path is not None else "",
            title=redactor.text(document.title),
            key=f"key\0{document.namespace}\0{document.key}".encode() if document.key else b"",
            facts=self._facts(document),
            now=document.created_at or self._opened.now(),
        )

    def learn(self, lesson: NewLesson) -> Learned:
        if not lesson.text.strip():
            raise QueryError("There is nothing to learn", hint=_NOTHING)
        opened = self._opened
        opened.create()
        with self._redacting() as redactor:
            learned = learn(
                opened.store,
                redactor.text(lesson.text),
                pattern_type=lesson.pattern_type,
                score=lesson.score,
                context=redactor.text(lesson.context),
                facts=self._facts(lesson),
                replaces=lesson.replaces,
                now=opened.now(),
            )
        self._vectors.embed_new([learned.id])
        return replace(learned, similar=self._find_similar(learned.id))

    def learn_for_team(self, lesson: NewLesson) -> Learned:
        if not lesson.text.strip():
            raise QueryError("There is nothing to learn", hint=_NOTHING)
        opened = self._opened
        root = require_team_folder(opened.places.root, LESSONS)
        redactor = Redactor()  # whatever the settings say: git keeps what was once committed
        words = printable(" ".join(redactor.text(lesson.context).split()))
        text = redactor.text(lesson.text.replace("\r\n", "\n")).strip()
        written = TeamLesson(
            text,
            redactor.text(lesson.pattern_type).strip(),
            lesson.score,
            context=words,
            provenance=self._provenance(lesson).as_metadata(),
        )
        if redactor.warning:
            opened.warn(redactor.warning)
        opened.create()
        old = self._team_file(root, lesson.replaces) if lesson.replaces else None
        path = write_team_lesson(root, written, replaces=old, now=opened.now())
        files = [path, old] if old else [path]
        on = opened.settings.indexing.redact_secrets
        index_files(opened.store, opened.root, scan(*files), redactor=Redactor(on=on))
        name = Names(opened.root).of(path.resolve())
        ids = opened.store.chunks.find_below(name)
        if not ids:
            raise SourceError(
                f"{name} is written, but this memory leaves it out",
                hint="`aur mem stats --left-out` says why; the team finds the lesson",
            )
        self._vectors.embed_new(ids)
        opened.listen(Note(f"Wrote {name}: commit it, and the team finds it after `aur index`"))
        chunk = opened.store.chunks.get_chunks(ids)[0]
        replaced = (f"{Names(opened.root).of(old)}:lesson",) if old else ()
        return Learned(chunk, replaced, self._find_similar(chunk.id))

    def _team_file(self, root: Path, id_: str) -> Path:
        """The file of the lesson of the team with this id."""
        entry = find_entry(self._opened.store, id_)
        if entry is None or not is_lesson_path(entry.path):
            raise ChunkNotFoundError(
                f"There is no lesson {id_!r} of the team to replace",
                hint="name the id of a lesson in docs/lessons, as `aur mem search` shows it",
            )
        return Names(root).path(entry.path)

    # Provenance

    def _facts(self, entry: NewDocument | NewLesson) -> dict[str, Json]:
        """Metadata of an entry: its provenance, and sketches of the files that it is about."""
        provenance, root = self._provenance(entry), self._opened.root
        sketches = sketch_files(root, provenance.files) if root else {}
        facts: dict[str, Json] = {PROVENANCE: provenance.as_metadata()}
        return {**facts, SKETCHES: sketches} if sketches else facts

    def _provenance(self, entry: NewDocument | NewLesson) -> Provenance:
        opened, root = self._opened, self._opened.root
        if root is None and entry.files:
            raise SourceError(
                f"{entry.files[0]} cannot be named: this memory belongs to no project",
                hint="leave out the files, or keep the entry in the project's memory",
            )
        files: tuple[str, ...] = ()
        if root is not None:
            named = entry.files or find_named_files(root, entry.text)
            files = require_files(root, named)
        return Provenance(
            at=opened.now(),
            agent=entry.agent,
            model=entry.model,
            person="" if entry.agent else self._person(),
            branch=branch_of(root) if root else "",
            commit=commit_of(root) if root else "",
            files=files,
        )

    def _person(self) -> str:
        """The name that git has for the user, or that of the login. Looked up once."""
        if self._name is None:
            folder = self._opened.root or self._opened.folder or self._opened.places.home
            self._name = ""
            with suppress(AuroraError, OSError):
                self._name = find_user(folder)
            self._name = self._name or login_name()
        return self._name

    # What the memory holds already

    def _find_similar(self, id_: str) -> tuple[SimilarEntry, ...]:
        """Entries of the same matter. A write has succeeded, whatever goes wrong here."""
        try:
            return find_similar(self._opened.store, id_)
        except AuroraError as exc:
            logger.warning("similar entries cannot be found: %s", exc.in_one_line)
            return ()

    def history(self, id_: str) -> list[EntryVersion]:
        store = self._opened.store
        entry = find_entry(store, id_)
        if entry is None or not is_entry(entry):
            raise ChunkNotFoundError(
                f"There is no document or lesson {id_!r}",
                hint="name its id, as `aur mem search` shows it",
            )
        return [version_of(store, version) for version in list_versions(store, entry)]


@dataclass(frozen=True, slots=True)
class EntryVersion:
    """One version of a document or lesson. The current one was replaced by nothing."""

    id: str
    title: str
    text: str
    at: datetime | None
    provenance: Provenance
    is_current: bool
    replaced_by: str = ""  # empty, too, if that was forgotten
    replaces: tuple[str, ...] = ()
    score: float | None = None  # the mean success of a lesson

    @property
    def has_failed(self) -> bool:
        return self.score is not None and self.score < LEAST_SUCCESS

    @property
    def state(self) -> str:
        """`current`, or what replaced it; and whether a lesson worked."""
        successor = self.replaced_by or "an entry that is forgotten"
        words = "current" if self.is_current else f"replaced by {successor}"
        return f"{words}, did not work" if self.has_failed else words

    def as_record(self) -> dict[str, Json]:
        """The object that docs/reference/json.md documents."""
        return {
            "id": self.id,
            "title": self.title,
            "state": "current" if self.is_current else "replaced",
            "at": self.at.isoformat() if self.at else None,
            "who": self.provenance.who or None,
            "provenance": self.provenance.as_metadata(),
            "replaced_by": self.replaced_by or None,
            "replaces": list(self.replaces),
            "score": self.score,
            "text": self.text,
        }


def version_of(store: Store, chunk: Chunk) -> EntryVersion:
    """An entry by its first piece."""
    pieces = store.chunks.get_chunks(piece_ids([chunk]))
    reasoning = store.chunks.get_reasoning(chunk.id)
    provenance = provenance_of(chunk)
    return EntryVersion(
        chunk.id,
        str(chunk.metadata.get("title", chunk.name)),
        "\n\n".join(piece.content for piece in pieces),
        provenance.at or chunk.created_at,
        provenance,
        not chunk.is_replaced,
        successor_id(chunk),
        tuple(replaced_ids(chunk)),
        reasoning.success_score if reasoning else None,
    )
