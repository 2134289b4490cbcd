"""Stores the sessions of agents: readings go into a store in batches, each one transaction.

An exchange is stored once, wherever it comes from: its id is made of the ids in its records. One
that comes again replaces the stored one if it tells more, so a file that was shortened, or is gone,
takes nothing away. The offset of a transcript is written with its last exchanges: an import that is
killed leaves whole exchanges, and the next one goes on.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from aurora.errors import AuroraError
from aurora.indexing.session_chunks import exchange_chunks
from aurora.indexing.session_notes import (
    KnownSession,
    Scope,
    TranscriptNote,
    forgotten_of,
    is_current,
    known_name,
    known_sessions,
    offset_of,
    transcript_name,
    transcript_notes,
)
from aurora.quick_classes import dataclass, field
from aurora.redaction import Redactor
from aurora.session_facts import SESSION
from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Exchange, Options, Reading, Session, SessionReader
from aurora.stores.base import FileState, Store
from aurora.types import READING, Chunk, Listener, Progress

logger = logging.getLogger(__name__)

_BATCH_CHUNKS = 2000  # written in one transaction
_MOST_PIECES = 10_000  # chunks of one exchange
_UNREADABLE = "unreadable"  # how the reasons begin that concern a whole file
_LOG = "-wal"  # of a SQLite file: it grows before the file does
FORGOTTEN, OTHER_PROJECT, OLDER = "forgotten", "of another project", "older than wanted"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as it lies on the disk."""

    path: Path
    size: int
    modified_ns: int


def look_at(path: Path) -> Transcript:
    """The size and time of a transcript; of a database, with its log. Raises `OSError`."""
    status = path.stat()
    size, modified_ns = status.st_size, status.st_mtime_ns
    try:
        log = path.with_name(f"{path.name}{_LOG}").stat()
    except OSError:
        return Transcript(path, size, modified_ns)
    return Transcript(path, size + log.st_size, max(modified_ns, log.st_mtime_ns))


@dataclass(slots=True)
class Counts:
    """What an import did. `read` and `unchanged` are transcripts."""

    read: int = 0
    unchanged: int = 0
    failed: int = 0
    exchanges: int = 0  # stored, new or longer than before
    sessions: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)  # records and exchanges, by reason
    warnings: list[str] = field(default_factory=list)

    def fail(self, path: Path, reason: str) -> None:
        self.failed += 1
        self.warnings.append(f"{path}: {reason}")


class Found(NamedTuple):
    """All transcripts of one agent, and what is wanted of them."""

    reader: SessionReader
    scope: Scope
    places: Sequence[Path | Skipped]


class Wanted(NamedTuple):
    """Transcripts that are new or changed, and the notes of all that were read before."""

    transcripts: list[Transcript]
    notes: Mapping[str, FileState]
    scope: Scope


def find_wanted(store: Store, found: Found, counts: Counts) -> Wanted:
    """Compare sizes and times with the last import. No file is opened."""
    agent, scope = found.reader.agent, found.scope
    wanted = Wanted([], transcript_notes(store, agent), scope)
    oldest_ns = scope.since.timestamp() * 1e9 if scope.since else 0
    for place in found.places:
        if isinstance(place, Skipped):
            counts.fail(place.path, place.reason)
            continue
        try:
            transcript = look_at(place)
        except OSError as exc:
            counts.fail(place, f"{_UNREADABLE}: {exc.strerror or exc}")
            continue
        note = wanted.notes.get(transcript_name(agent, place))
        if note is not None and _is_same(note, transcript) and is_current(note, scope):
            counts.unchanged += 1
        elif transcript.modified_ns < oldest_ns:
            counts.skipped[OLDER] += 1
        else:
            wanted.transcripts.append(transcript)
    return wanted


def _is_same(note: FileState, transcript: Transcript) -> bool:
    return (note.size, note.modified_ns) == (transcript.size, transcript.modified_ns)


class SessionImport:
    """One import into a store. `finish` writes what is waiting."""

    def __init__(self, store: Store, redactor: Redactor, listen: Listener) -> None:
        self._redactor, self._listen = redactor, listen
        self._options = Options(redactor)
        self._batch = _Batch(store, redactor)
        self._forgotten = forgotten_of(store)
        self.counts = Counts()

    def read_all(self, reader: SessionReader, wanted: Wanted) -> None:
        """Read transcripts. One that cannot be read is counted, and tried again the next time."""
        total = len(wanted.transcripts)
        for done, transcript in enumerate(wanted.transcripts, start=1):
            try:
                self._read(reader, transcript, wanted)
            except AuroraError:
                raise  # an error of the store, not of this file
            except Exception as exc:  # a reader of another package may raise anything
                logger.exception("cannot read a transcript of %s", reader.agent)
                self.counts.fail(transcript.path, f"cannot be read ({exc!r})")
            self._listen(Progress(READING, done, total))

    def finish(self) -> None:
        self.counts.exchanges += self._batch.write()

    def _read(self, reader: SessionReader, transcript: Transcript, wanted: Wanted) -> None:
        note = wanted.notes.get(transcript_name(reader.agent, transcript.path))
        since = offset_of(note, wanted.scope) if note else None
        reading = reader.read(transcript.path, since, self._options)
        touched: set[str] = set()
        for exchange in reading:
            session = reading.sessions[exchange.session]
            if self._is_wanted(session, exchange, wanted.scope):
                touched.add(session.id)
                self._add(session, exchange)
        self.counts.skipped.update(reading.skipped)
        if problem := _whole_problem(reading):
            self.counts.fail(transcript.path, problem)
            return
        self.counts.read += 1
        for id_ in touched:  # complete only now
            self._batch.add_session(reading.sessions[id_])
        self._batch.add_transcript(_note(reader.agent, transcript, wanted.scope, reading))

    def _is_wanted(self, session: Session, exchange: Exchange, scope: Scope) -> bool:
        names = {known_name(session.agent, id_) for id_ in (session.id, session.parent) if id_}
        reason = ""
        if names & self._forgotten.sessions or exchange.id in self._forgotten.exchanges:
            reason = FORGOTTEN
        else:
            project = session.project or exchange.cwd
            wishes = [wish for wish in scope.wishes if wish.has_project(project)]
            if not any(wish.has_time(exchange.time) for wish in wishes):
                reason = OLDER if wishes else OTHER_PROJECT
        if reason:
            self.counts.skipped[reason] += 1
        return not reason

    def _add(self, session: Session, exchange: Exchange) -> None:
        self.counts.sessions.add(known_name(session.agent, session.id))
        self._batch.add(session, exchange, exchange_chunks(session, exchange, self._redactor))
        if self._batch.is_full:
            self.counts.exchanges += self._batch.write()


def _note(agent: str, transcript: Transcript, scope: Scope, reading: Reading) -> TranscriptNote:
    size, modified_ns = transcript.size, transcript.modified_ns
    return TranscriptNote(agent, transcript.path, size, modified_ns, scope, reading.offset)


def _whole_problem(reading: Reading) -> str:
    """Why a file could not be read, if nothing of it could."""
    if reading.sessions or reading.offset is not None:
        return ""
    return next((reason for reason in reading.skipped if reason.startswith(_UNREADABLE)), "")


class _Batch:
    """Chunks and notes that wait to be written in one transaction."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store, self._redactor = store, redactor
        self._exchanges: dict[str, list[Chunk]] = {}
        self._sessions: dict[str, KnownSession] = {}
        self._transcripts: list[TranscriptNote] = []
        self._chunks = 0

    @property
    def is_full(self) -> bool:
        return self._chunks >= _BATCH_CHUNKS

    def add(self, session: Session, exchange: Exchange, chunks: list[Chunk]) -> None:
        if not chunks:
            return
        waiting = self._exchanges.get(exchange.id)
        if waiting is None or _tells_more(chunks, waiting):
            self._exchanges[exchange.id] = chunks
            self._chunks += len(chunks)
        self.add_session(session, exchange.id)

    def add_session(self, session: Session, *exchanges: str) -> None:
        known = KnownSession(session, exchanges)
        waiting = self._sessions.get(known.name)
        self._sessions[known.name] = waiting.joined(known) if waiting else known

    def add_transcript(self, note: TranscriptNote) -> None:
        self._transcripts.append(note)

    def write(self) -> int:
        """Write everything; returns how many exchanges are new or longer than before."""
        store, redactor = self._store, self._redactor
        with store.transaction():
            written = self._write_exchanges()
            stored = known_sessions(store, [*self._sessions])
            sessions = (
                stored[name].joined(known) if name in stored else known
                for name, known in self._sessions.items()
            )
            store.chunks.add_files(
                [known.note(redactor) for known in sessions]
                + [transcript.note(redactor) for transcript in self._transcripts]
            )
        self._exchanges, self._sessions, self._transcripts = {}, {}, []
        self._chunks = 0
        return written

    def _write_exchanges(self) -> int:
        store, wanted, stale = self._store.chunks, list[Chunk](), list[str]()
        firsts = [chunks[0].id for chunks in self._exchanges.values()]
        known = {chunk.id for chunk in store.get_chunks(firsts)}
        written = 0
        for id_, chunks in self._exchanges.items():
            stored = pieces_of(self._store, id_) if chunks[0].id in known else []
            if stored and not _replaces(chunks, stored):
                continue
            stale += {chunk.id for chunk in stored} - {chunk.id for chunk in chunks}
            wanted += chunks
            written += not stored or _tells_more(chunks, stored)
        if stale:
            store.delete_chunks(stale)
        store.put_chunks(wanted)
        return written


def pieces_of(store: Store, exchange: str) -> list[Chunk]:
    """The stored chunks of an exchange."""
    ids = store.chunks.find_ids_from(f"{SESSION}:{exchange}", limit=_MOST_PIECES)
    chunks = store.chunks.get_chunks(ids)
    return [chunk for chunk in chunks if chunk.metadata.get("exchange") == exchange]


def _tells_more(chunks: Sequence[Chunk], stored: Sequence[Chunk]) -> bool:
    return _length(chunks) > _length(stored)


def _replaces(chunks: Sequence[Chunk], stored: Sequence[Chunk]) -> bool:
    """True for an exchange that grew, or has other words. That of a resumed session stays as it
    was in the first one."""
    is_same = stored[0].metadata.get("session") == chunks[0].metadata.get("session")
    if not is_same or _length(chunks) != _length(stored):
        return _tells_more(chunks, stored)
    return {chunk.content for chunk in chunks} != {chunk.content for chunk in stored}


def _length(chunks: Sequence[Chunk]) -> int:
    return sum(len(chunk.content) for chunk in chunks)
