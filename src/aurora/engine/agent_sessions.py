"""The sessions of agents in the person's memory: `Memory.sessions`.

They are kept in a file on this machine, whatever the settings say of servers, and stay when the
agent deletes its own.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from aurora.engine.layers import Workspace
from aurora.engine.opening import OpenedMemory
from aurora.engine.writing import MemoryWriter
from aurora.errors import AuroraError, NoMemoryError, QueryError, SourceError
from aurora.indexing.embedding import Embedded
from aurora.indexing.indexer import embed_all
from aurora.indexing.session_import import (
    Counts,
    Found,
    SessionImport,
    Transcript,
    find_wanted,
    look_at,
    pieces_of,
)
from aurora.indexing.session_notes import (
    KnownSession,
    Scope,
    TranscriptNote,
    Wish,
    agent_note,
    forgotten_note,
    imported_agents,
    known_sessions,
    transcript_name,
    transcript_notes,
)
from aurora.indexing.turns import show_progress, write_turn
from aurora.quick_classes import dataclass, field, replace
from aurora.redaction import Redactor
from aurora.report_types import AgentOnDisk, ExchangeEntry, SessionEntry
from aurora.session_facts import AGENT_MEMORY
from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Session, SessionReader
from aurora.sources.sessions.memories import MemoryFile, locate_memories
from aurora.sources.sessions.readers import agent_names, make_reader
from aurora.sources.walk import read_text
from aurora.stores.base import TRANSCRIPT_NOTES, Store
from aurora.text import pluralize
from aurora.types import PRIVATE, Chunk, Listener, NewDocument, Note

EXPORTS = "exports"  # the agent of files that the user names
_MOST_NEW = 4_000_000  # bytes of a transcript that a hook reads: less than a second
_RESUME = {
    "claude-code": "claude --resume {}",
    "codex": "codex resume {}",
    "gemini-cli": "gemini --resume {}",
    "cursor": "cursor-agent --resume {}",
    "opencode": "opencode --session {}",
    "copilot-cli": "copilot --resume {}",
    "aider": "aider --restore-chat-history",
}


@dataclass(frozen=True, slots=True)
class SessionsReport:
    """What an import did. `read` and `unchanged` are transcripts, `skipped` records by reason."""

    agents: tuple[str, ...] = ()
    read: int = 0
    unchanged: int = 0
    failed: int = 0
    sessions: int = 0  # of which something was read
    exchanges: int = 0  # stored: new, or longer than before
    memories: int = 0  # files in which agents remember, new or changed
    skipped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    embedded: Embedded = field(default_factory=Embedded)

    @property
    def is_partial(self) -> bool:
        return bool(self.failed or self.embedded.failed)

    @classmethod
    def total(cls, reports: Sequence[SessionsReport]) -> SessionsReport:
        """The report of several imports."""
        skipped = sum((Counter(report.skipped) for report in reports), Counter[str]())
        return cls(
            tuple(dict.fromkeys(agent for report in reports for agent in report.agents)),
            sum(report.read for report in reports),
            sum(report.unchanged for report in reports),
            sum(report.failed for report in reports),
            sum(report.sessions for report in reports),
            sum(report.exchanges for report in reports),
            sum(report.memories for report in reports),
            dict(skipped),
            tuple(warning for report in reports for warning in report.warnings),
            reduce(Embedded.plus, (report.embedded for report in reports), Embedded()),
        )


class AgentSessions:
    """Finds, imports, shows and forgets the sessions of agents."""

    def __init__(
        self, opened: OpenedMemory, writer: MemoryWriter, scrub: Callable[[], None]
    ) -> None:
        """`scrub` overwrites removed text in all files of the memory."""
        self._opened, self._writer, self._scrub = opened, writer, scrub
        self._folders: tuple[Path, ...] = ()

    def beside(self, *folders: Path | None) -> AgentSessions:
        """The same, with projects that may hold transcripts."""
        sessions = AgentSessions(self._opened, self._writer, self._scrub)
        sessions._folders = tuple(filter(None, folders))
        return sessions

    def scan(self, agents: Sequence[str] = ()) -> list[AgentOnDisk]:
        """What lies on this machine. Nothing is stored."""
        imported = self._imported()
        return [
            _on_disk(reader, self._locate(reader, Scope()), is_imported=reader.agent in imported)
            for reader in map(make_reader, agents or agent_names())
            if reader.agent != EXPORTS
        ]

    def import_(
        self,
        agents: Sequence[str] = (),
        *,
        since: datetime | None = None,
        projects: Sequence[Path] = (),
        quick: bool = False,
        listen: Listener | None = None,
    ) -> SessionsReport:
        """Store the sessions of these agents, or of all; later imports read what was added.

        Without `projects`, those of all folders; `since` leaves out older ones. A later import that
        wants more reads the files again. Words find them first; vectors follow, with `quick` only
        fast ones.
        """
        folders = tuple(name for project in projects for name in _names_of(project))
        names = agents or [name for name in agent_names() if name != EXPORTS]
        wish, known = Wish(since, folders), self._imported()
        self._opened.create()
        scopes = {
            name: known[name].widened(wish) if name in known else Scope((wish,)) for name in names
        }
        return self._import(scopes, keep=True, quick=quick, listen=listen)

    def follow(self, *, quick: bool = False, listen: Listener | None = None) -> SessionsReport:
        """Store what is new of the agents that were imported once. Without news, nothing is read
        but the sizes and times of files."""
        scopes = self._imported()
        if not scopes:
            return SessionsReport()
        return self._import(scopes, keep=False, quick=quick, listen=listen)

    def follow_one(
        self, agent: str, *, session: str = "", transcript: str = "", always: bool = False
    ) -> SessionsReport:
        """Store what is new of one session. Of an agent that was never imported, only `always`.

        For hooks, which do not wait: beside an index run nothing is read, and of a long transcript
        that was never read neither. The next index run reads both.
        """
        if always and agent not in self._imported():
            self._opened.create()
        scope = self._imported().get(agent, Scope() if always else None)
        if scope is None or self._opened.run_progress() is not None:
            return SessionsReport()
        reader = make_reader(agent)
        places = [
            place
            for place in self._locate(reader, scope)
            if isinstance(place, Path) and _has_session(place, session, transcript)
        ]
        if any(_count_new_bytes(self._opened.store, agent, place) > _MOST_NEW for place in places):
            return SessionsReport()
        return self._run([Found(reader, scope, places)], keep=False, quick=True, listen=None)

    def keep_up(self, *, quick: bool) -> None:
        """Follow beside an index run, which goes on whatever is wrong with sessions."""
        opened = self._opened
        try:
            report = self.follow(quick=quick)
        except AuroraError as exc:
            opened.warn(f"The sessions of agents were not read: {exc.in_one_line}")
            return
        for warning in report.warnings:
            opened.warn(warning)
        if report.exchanges:
            opened.listen(Note(f"Read {pluralize(report.exchanges, 'new exchange')} of sessions"))

    def import_file(
        self, path: Path, *, agent: str = EXPORTS, listen: Listener | None = None
    ) -> SessionsReport:
        """Store the conversations of an export, `conversations.json` or the archive with it, or one
        transcript of an agent."""
        if not path.is_file():
            raise SourceError(f"There is no file {path}", hint="name an export or a transcript")
        self._opened.create()
        found = Found(make_reader(agent), Scope(), [path.resolve()])
        return self._run([found], keep=False, quick=False, listen=listen)

    def list(self, *, agent: str = "", project: Path | None = None) -> Sequence[SessionEntry]:
        """The stored sessions, newest first."""
        wish = Wish(None, _names_of(project) if project else ())
        entries = [
            _entry(known)
            for known in self._known()
            if agent in ("", known.session.agent) and wish.has_project(known.session.project)
        ]
        oldest = datetime.min.replace(tzinfo=UTC)
        return sorted(entries, key=lambda entry: entry.ended or oldest, reverse=True)

    def find(self, prefix: str) -> SessionEntry:
        """The session whose id begins so. `QueryError` if there is none, or more than one."""
        return _entry(self._find(prefix))

    def show(self, prefix: str) -> tuple[SessionEntry, Sequence[ExchangeEntry]]:
        """A session and its exchanges, in their order."""
        known, store = self._find(prefix), self._opened.store
        pieces = ((id_, pieces_of(store, id_)) for id_ in known.exchanges)
        return _entry(known), [_exchange(id_, chunks) for id_, chunks in pieces if chunks]

    def forget(self, word: str) -> int:
        """Remove sessions for good: one by its id, those of an agent, or of a project's folder.

        Their sub-agents go, too, and exchanges that another session shares. No import brings them
        back. Returns the number of sessions.
        """
        meant = self._meant(word)
        store, exchanges = self._opened.store, {id_ for item in meant for id_ in item.exchanges}
        with write_turn(store, listen=self._opened.listen):
            ids = [chunk.id for id_ in exchanges for chunk in pieces_of(store, id_)]
            with store.transaction():
                store.chunks.add_files(map(forgotten_note, meant))
                store.chunks.forget_files(item.name for item in meant)
                self._writer.forget(ids)
        self._scrub()
        return len(meant)

    def meant(self, word: str) -> Sequence[SessionEntry]:
        """The sessions that `forget` would remove."""
        return [*map(_entry, self._meant(word))]

    def _meant(self, word: str) -> Sequence[KnownSession]:
        known = self._known()
        folder = Wish(None, (*_names_of(Path(word).expanduser()), word))
        meant = [item for item in known if item.session.agent == word] or [
            item
            for item in known
            if item.session.project and folder.has_project(item.session.project)
        ]
        meant = meant or [self._find(word)]
        parents = {item.session.id for item in meant}
        children = (item for item in known if item.session.parent in parents)
        return list({item.name: item for item in (*meant, *children)}.values())

    def _find(self, prefix: str) -> KnownSession:
        wanted = [known for known in self._known() if _is_meant(known, prefix)]
        exact = [known for known in wanted if known.session.id == prefix]
        if len(exact or wanted) == 1:
            return (exact or wanted)[0]
        if not wanted:
            raise QueryError(f"There is no session {prefix!r}", hint="`aur sessions list`")
        ids = ", ".join(known.session.id for known in wanted[:5])
        raise QueryError(f"{len(wanted)} sessions begin with {prefix!r}", hint=f"such as {ids}")

    # Importing

    def _import(
        self, scopes: Mapping[str, Scope], *, keep: bool, quick: bool, listen: Listener | None
    ) -> SessionsReport:
        readers, warnings = list[SessionReader](), list[str]()
        for name in scopes:
            try:
                readers.append(make_reader(name))
            except SourceError as exc:
                if keep:
                    raise
                warnings.append(exc.in_one_line)  # its package was removed
        found = [
            Found(reader, scope := scopes[reader.agent], self._locate(reader, scope))
            for reader in readers
        ]
        report = self._run(found, keep=keep, quick=quick, listen=listen)
        return replace(report, warnings=(*warnings, *report.warnings))

    def _run(
        self, found: Sequence[Found], *, keep: bool, quick: bool, listen: Listener | None
    ) -> SessionsReport:
        """Read what changed, and make it searchable. Without news, only `keep` writes."""
        opened, listen = self._opened, listen or self._opened.listen
        store, agents = opened.store, tuple(each.reader.agent for each in found)
        if not (keep or self._has_news(store, found)):
            return SessionsReport(agents)
        with self._writer.redacting() as redactor, write_turn(store, listen=listen) as tell:
            hear = show_progress(tell, listen)
            run = SessionImport(store, redactor, hear)
            if keep:
                notes = [agent_note(each.reader.agent, each.scope) for each in found]
                store.chunks.add_files(notes)
            for each in found:
                run.read_all(each.reader, find_wanted(store, each, run.counts))
            run.finish()
            memories = self._read_memories(store, agents, redactor, run.counts)
            vectors = self._writer.vectors
            embedded = embed_all(store, vectors.embedder(), vectors, hear)
        better = Embedded() if quick else vectors.improve()
        return _report(agents, run.counts, memories, embedded, better.warnings)

    def _has_news(self, store: Store, found: Sequence[Found]) -> bool:
        counts = Counts()
        return any(find_wanted(store, each, counts).transcripts for each in found) or any(
            self._changed_memories(store, [each.reader.agent for each in found], counts)
        )

    def _locate(self, reader: SessionReader, scope: Scope) -> Sequence[Path | Skipped]:
        """The transcripts of an agent, also those that lie in projects which Aurora knows."""
        workspace = Workspace(self._opened.places.home).list().values()
        projects = (Path(project) for wish in scope.wishes for project in wish.projects)
        known = [*projects, *workspace, *self._folders]
        return reader.locate(self._home, self._environ, list(dict.fromkeys(known)))

    @property
    def _environ(self) -> Mapping[str, str]:
        return self._opened.files.environ

    @property
    def _home(self) -> Path:
        """The home of the user, where agents keep their files."""
        named = self._environ.get("HOME") or self._environ.get("USERPROFILE")
        return Path(named) if named else Path.home()

    # Files in which agents remember

    def _changed_memories(
        self, store: Store, agents: Sequence[str], counts: Counts
    ) -> Iterator[tuple[MemoryFile, TranscriptNote]]:
        """The memory files in the home that are new or changed. Those in projects are read by
        index runs."""
        notes = store.chunks.states_from(TRANSCRIPT_NOTES)
        for file in locate_memories(self._home, self._environ):
            if isinstance(file, Skipped):
                counts.fail(file.path, file.reason)
            elif file.agent in agents:
                with suppress(OSError):  # removed since it was listed
                    seen = look_at(file.path)
                    note = TranscriptNote(file.agent, seen.path, seen.size, seen.modified_ns)
                    known = notes.get(transcript_name(file.agent, file.path))
                    if known is None or (known.size, known.modified_ns) != note.stamp:
                        yield file, note

    def _read_memories(
        self, store: Store, agents: Sequence[str], redactor: Redactor, counts: Counts
    ) -> int:
        """Store memory files as private documents; returns how many are new or changed."""
        read = 0
        for file, note in list(self._changed_memories(store, agents, counts)):
            text = read_text(file.path, any_words=True)
            if isinstance(text, Skipped):
                counts.fail(file.path, text.reason)
                continue
            if text.strip():
                self._writer.entries.add_all([_document(file, text, note)], embed=False)
                read += 1
            store.chunks.add_files([note.note(redactor)])
        return read

    def _imported(self) -> dict[str, Scope]:
        try:
            return imported_agents(self._opened.store)
        except NoMemoryError:
            return {}

    def _known(self) -> Sequence[KnownSession]:
        try:
            return [*known_sessions(self._opened.store).values()]
        except NoMemoryError:
            return []


def _has_session(place: Path, session: str, transcript: str) -> bool:
    """Whether a session is in a transcript: by its path, its name or the name of a folder, as those
    of sub-agents. A database has all sessions of its agent."""
    if place.suffix not in (".jsonl", ".json"):
        return True
    if transcript and place == Path(transcript):
        return True
    return bool(session) and (session in place.stem or session in place.parts)


def _count_new_bytes(store: Store, agent: str, place: Path) -> int:
    """How many bytes were added since the transcript was read."""
    note = transcript_notes(store, agent).get(transcript_name(agent, place))
    with suppress(OSError):
        return look_at(place).size - (note.size if note else 0)
    return 0  # reading it tells what is wrong


def _names_of(folder: Path) -> tuple[str, ...]:
    """The names that an agent may have for a folder: with links and without."""
    return tuple(sorted({str(folder.absolute()), str(folder.resolve())}))


def _on_disk(
    reader: SessionReader, found: Iterable[Path | Skipped], *, is_imported: bool
) -> AgentOnDisk:
    transcripts, problems = list[Transcript](), list[str]()
    for place in found:
        try:
            if isinstance(place, Skipped):
                problems.append(f"{place.path}: {place.reason}")
            else:
                transcripts.append(look_at(place))
        except OSError as exc:
            problems.append(f"{place}: {exc.strerror or exc}")
    times = [transcript.modified_ns for transcript in transcripts]
    return AgentOnDisk(
        reader.agent,
        reader.title,
        len(transcripts),
        sum(transcript.size for transcript in transcripts),
        _moment(min(times)) if times else None,
        _moment(max(times)) if times else None,
        is_imported,
        tuple(problems),
    )


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _report(
    agents: tuple[str, ...],
    counts: Counts,
    memories: int,
    embedded: Embedded,
    better: Sequence[str],
) -> SessionsReport:
    return SessionsReport(
        agents,
        counts.read,
        counts.unchanged,
        counts.failed,
        len(counts.sessions),
        counts.exchanges,
        memories,
        dict(counts.skipped),
        (*counts.warnings, *embedded.warnings, *better),
        embedded,
    )


def _document(file: MemoryFile, text: str, note: TranscriptNote) -> NewDocument:
    project = {"project": file.project} if file.project else {}
    return NewDocument(
        text,
        path=file.path,
        document_type=AGENT_MEMORY,
        metadata={"agent": file.agent, PRIVATE: True, **project},
        created_at=_moment(note.modified_ns),
        agent=file.agent,
    )


def _is_meant(known: KnownSession, prefix: str) -> bool:
    session = known.session
    return session.id.startswith(prefix) or f"{session.agent}:{session.id}".startswith(prefix)


def _entry(known: KnownSession) -> SessionEntry:
    session = known.session
    return SessionEntry(
        session.id,
        session.agent,
        session.title,
        session.project,
        session.branch,
        session.model,
        session.parent,
        session.started,
        session.ended,
        len(known.exchanges),
        str(session.path),
        _resume_command(session),
    )


def _resume_command(session: Session) -> str:
    """The command that goes on with a session in its folder; empty where the agent has none."""
    command = _RESUME.get(session.agent, "").format(shlex.quote(session.parent or session.id))
    folder = session.project
    return f"cd {shlex.quote(folder)} && {command}" if command and folder else command


def _exchange(id_: str, chunks: Sequence[Chunk]) -> ExchangeEntry:
    by_form: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_form.setdefault(str(chunk.metadata.get("form")), []).append(chunk)
    talk = sorted(by_form.get("exchange", by_form.get("summary", [])), key=_part)
    facts = chunks[0].metadata
    return ExchangeEntry(
        id_,
        str(facts.get("time", "")),
        str(facts.get("model", "")),
        "\n".join(chunk.content for chunk in talk),
        tuple(chunk.content for chunk in by_form.get("command", [])),
    )


def _part(chunk: Chunk) -> int:
    """The number of a piece, which its id ends with."""
    number = chunk.id.rpartition("@")[2]
    return int(number) if "@" in chunk.id and number.isdigit() else 1
