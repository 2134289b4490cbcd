"""What a store knows of sessions beside their chunks: records, offsets, and what was forgotten.

Each note is a `FileState` with JSON as its digest. Names say what it is of:

    sessions:known:AGENT:ID        a session, and the ids of its exchanges in their order
    sessions:forgotten:AGENT:ID    a session that the user removed: it is not imported again
    sessions:removed:EXCHANGE      the same of an exchange
    sessions:agent:AGENT           an agent that was imported, and what of it was wanted
    sessions:file:AGENT:PATH       a transcript as it was read, and where to go on
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath

from aurora.quick_classes import dataclass, field, replace
from aurora.redaction import Redactor
from aurora.session_facts import SESSION
from aurora.sources.sessions.base import Offset, Session
from aurora.stores.base import SESSION_NOTES, TRANSCRIPT_NOTES, FileState, Store
from aurora.types import Chunk, Json

VERSION = 1  # grows when the same transcript would give other chunks: all are then read again
_KNOWN, _FORGOTTEN, _REMOVED, _AGENT = (
    f"{SESSION_NOTES}{kind}:" for kind in ("known", "forgotten", "removed", "agent")
)
_TEXTS = ("title", "project", "branch", "commit", "model", "parent")


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A stored session, and the ids of its exchanges."""

    session: Session
    exchanges: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return known_name(self.session.agent, self.session.id)

    def joined(self, other: KnownSession) -> KnownSession:
        """With what a later reading tells."""
        old, new = self.session, other.session
        texts = {name: getattr(new, name) or getattr(old, name) for name in _TEXTS}
        started = min(filter(None, (old.started, new.started)), default=None)
        ended = max(filter(None, (old.ended, new.ended)), default=None)
        session = replace(new, started=started, ended=ended, **texts)
        return KnownSession(session, tuple(dict.fromkeys((*self.exchanges, *other.exchanges))))

    def note(self, redactor: Redactor) -> FileState:
        session = self.session
        facts: dict[str, Json] = {name: redactor.text(getattr(session, name)) for name in _TEXTS}
        facts |= {"id": session.id, "path": str(session.path), "exchanges": [*self.exchanges]}
        facts |= {"started": _written(session.started), "ended": _written(session.ended)}
        ended_ns = int(session.ended.timestamp()) * 10**9 if session.ended else 0
        return FileState(self.name, len(self.exchanges), ended_ns, _dumped(facts))


@dataclass(frozen=True, slots=True)
class Wish:
    """Sessions since a time, of these projects; else all."""

    since: datetime | None = None
    projects: tuple[str, ...] = ()

    def has_project(self, project: str) -> bool:
        folder = PurePath(project)
        return not self.projects or any(map(folder.is_relative_to, self.projects))

    def has_time(self, time: datetime | None) -> bool:
        return self.since is None or time is None or time >= self.since

    def covers(self, other: Wish) -> bool:
        is_as_old = self.since is None or (other.since is not None and other.since >= self.since)
        is_as_wide = bool(other.projects) and all(map(self.has_project, other.projects))
        return is_as_old and (not self.projects or is_as_wide)

    def facts(self) -> Json:
        return {"since": _written(self.since), "projects": [*self.projects]}


@dataclass(frozen=True, slots=True)
class Scope:
    """What the user wants of an agent: what any of the wishes names."""

    wishes: tuple[Wish, ...] = (Wish(),)

    def widened(self, wish: Wish) -> Scope:
        if any(known.covers(wish) for known in self.wishes):
            return self
        kept = (known for known in self.wishes if not wish.covers(known))
        return Scope((*kept, wish))

    @property
    def since(self) -> datetime | None:
        """The oldest wanted time; None without a limit."""
        times = [wish.since for wish in self.wishes]
        known = [time for time in times if time]
        return min(known) if known and len(known) == len(times) else None

    def facts(self) -> Json:
        return [wish.facts() for wish in self.wishes]


@dataclass(frozen=True, slots=True)
class TranscriptNote:
    """A transcript as it was when it was read."""

    agent: str
    path: Path
    size: int
    modified_ns: int
    scope: Scope = field(default_factory=Scope)
    offset: Offset | None = None

    @property
    def stamp(self) -> tuple[int, int]:
        return self.size, self.modified_ns

    def note(self, redactor: Redactor) -> FileState:
        offset = self.offset
        if offset is not None:  # it holds words of the transcript, such as its branch
            state = {name: redactor.text(text) for name, text in offset.state.items()}
            offset = replace(offset, state=state)
        facts: dict[str, Json] = {"version": VERSION, "scope": self.scope.facts()}
        names = offset.__match_args__ if offset else ()
        facts["offset"] = {name: getattr(offset, name) for name in names} or None
        name = transcript_name(self.agent, self.path)
        return FileState(name, self.size, self.modified_ns, _dumped(facts))


def known_name(agent: str, session: str) -> str:
    return f"{_KNOWN}{agent}:{session}"


def transcript_name(agent: str, path: Path) -> str:
    return f"{TRANSCRIPT_NOTES}{agent}:{path}"


# Reading notes


def known_sessions(store: Store, names: Iterable[str] | None = None) -> dict[str, KnownSession]:
    """The sessions of a store by the names of their notes: those of the names, or all."""
    chunks = store.chunks
    notes = chunks.states_from(_KNOWN) if names is None else chunks.file_states(names)
    return {name: _known(note) for name, note in notes.items()}


def _known(note: FileState) -> KnownSession:
    agent, _, id_ = note.path.removeprefix(_KNOWN).partition(":")
    facts = _read(note.digest)
    texts = {name: str(facts.get(name) or "") for name in _TEXTS}
    session = Session(
        agent=agent,
        id=id_,
        path=Path(str(facts.get("path") or "")),
        started=_moment(facts.get("started")),
        ended=_moment(facts.get("ended")),
        **texts,
    )
    exchanges = facts.get("exchanges")
    ids = map(str, exchanges) if isinstance(exchanges, list) else ()
    return KnownSession(session, tuple(ids))


def transcript_notes(store: Store, agent: str) -> Mapping[str, FileState]:
    """The notes of an agent's transcripts by name."""
    return store.chunks.states_from(f"{TRANSCRIPT_NOTES}{agent}:")


def offset_of(note: FileState, scope: Scope) -> Offset | None:
    """Where to go on in a transcript; None where it must be read from its start."""
    facts = _read(note.digest)
    offset, wanted = facts.get("offset"), facts.get("scope")
    if not isinstance(offset, dict) or not is_current(note, scope) or wanted is None:
        return None
    state = offset.get("state")
    return Offset(
        int(str(offset.get("position", 0))),
        str(offset.get("head", "")),
        str(offset.get("tail", "")),
        {key: str(text) for key, text in state.items()} if isinstance(state, dict) else {},
    )


def is_current(note: FileState, scope: Scope) -> bool:
    """True if the transcript was read by this version, for the same wishes."""
    facts = _read(note.digest)
    return facts.get("version") == VERSION and facts.get("scope") == scope.facts()


def imported_agents(store: Store) -> dict[str, Scope]:
    """The agents that were imported, and what is wanted of each."""
    notes = store.chunks.states_from(_AGENT)
    scopes = {}
    for name, note in notes.items():
        wishes = _read(note.digest).get("wishes")
        listed = wishes if isinstance(wishes, list) else []
        scopes[name.removeprefix(_AGENT)] = Scope(tuple(map(_wish, listed)))
    return scopes


def agent_note(agent: str, scope: Scope) -> FileState:
    return FileState(f"{_AGENT}{agent}", 0, 0, _dumped({"wishes": scope.facts()}))


def _wish(facts: Json) -> Wish:
    given = facts if isinstance(facts, dict) else {}
    projects = given.get("projects")
    names = tuple(map(str, projects)) if isinstance(projects, list) else ()
    return Wish(_moment(given.get("since")), names)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Sessions and exchanges that the user removed: none is stored again."""

    sessions: frozenset[str] = frozenset()  # names of their notes when they were known
    exchanges: frozenset[str] = frozenset()


def forgotten_of(store: Store) -> Forgotten:
    notes = store.chunks.states_from
    return Forgotten(
        frozenset(f"{_KNOWN}{name.removeprefix(_FORGOTTEN)}" for name in notes(_FORGOTTEN)),
        frozenset(name.removeprefix(_REMOVED) for name in notes(_REMOVED)),
    )


def forgotten_note(known: KnownSession) -> FileState:
    """What stays of a session that is removed: its id."""
    return FileState(f"{_FORGOTTEN}{known.name.removeprefix(_KNOWN)}", 0, 0, "")


def removed_notes(chunks: Iterable[Chunk]) -> list[FileState]:
    """What stays of exchanges of which chunks are removed: their ids."""
    sessions = (chunk for chunk in chunks if chunk.metadata.get("source") == SESSION)
    ids = {str(chunk.metadata.get("exchange", "")) for chunk in sessions}
    return [FileState(f"{_REMOVED}{id_}", 0, 0, "") for id_ in sorted(ids - {""})]


# JSON


def _dumped(facts: Mapping[str, Json]) -> str:
    return (
        json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        .encode(errors="replace")
        .decode()
    )


def _read(text: str) -> dict[str, Json]:
    try:
        facts = json.loads(text)
    except ValueError:  # Aurora never writes this
        return {}
    return facts if isinstance(facts, dict) else {}


def _written(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _moment(text: Json) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text or ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
