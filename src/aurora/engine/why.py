"""What led to some lines: the commits that changed them last, the sessions that edited the file
before these commits, and the decisions about it.

A session belongs to a commit if it made the commit, or if it edited the file in the week before and
no other commit of the file lies between. Of several commits that follow an edit, one on the branch
of the session comes first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import NamedTuple

from aurora.engine.session_lookup import (
    Edit,
    asked_in,
    facts_of,
    find_chunks,
    find_edits,
    find_in_session,
    name_in,
)
from aurora.indexing.provenance import provenance_of
from aurora.quick_classes import dataclass, field
from aurora.session_facts import SESSION
from aurora.sources.blame.line_commits import BlamedLines, FileCommit, LineCommit
from aurora.stores.base import Store
from aurora.text import pluralize, printable
from aurora.trail_types import WhyEntry
from aurora.types import Chunk, Criteria, Kind, Lines, moment

SHORT = 8  # digits of a commit that are shown
_WINDOW = 7 * 86_400  # seconds from an edit to its commit: a branch may be squashed days later
_SAME_WORK = 7_200  # seconds: an exchange that long may edit and commit several times
_SKEW = 1  # second: git leaves out the fraction
_CHOICES = 5  # commits after an edit among which its branch decides
_MAKERS = 30  # commits whose sessions are looked for
_DAY = 86_400
_MOST_SESSIONS = 20  # whose decisions are read
_TEXT = 240  # characters of a decision or lesson
_COMMITTED = re.compile(r"\[[^\]\n]*\b([0-9a-f]{7,40})\] ")  # what `git commit` prints
_GIT_COMMIT = re.compile(r"\bgit\b.*\bcommit\b")
_RECORDED = (Criteria(kinds=(Kind.REASONING,)), Criteria(metadata=(("source", "document"),)))


@dataclass(frozen=True, slots=True)
class FileHistory:
    """What git tells of a file and of the lines that are asked for.

    `names` are those the file had, from the top of the repository, each with the time of the commit
    that gave it another one.
    """

    blamed: BlamedLines | None = None  # None: git cannot tell
    commits: Sequence[FileCommit] = ()  # of the whole file, oldest first
    names: Mapping[str, float] = field(default_factory=dict)
    branches: Callable[[str], Set[str]] = lambda _commit: frozenset()


class Link(NamedTuple):
    """An exchange, and the commit that it led to, if any."""

    chunk: Chunk
    name: str  # of the file, where the exchange edited it
    commit: str = ""
    made: bool = False  # the exchange made the commit


# From edits to commits


def link_edits(
    edits: Iterable[Edit], history: FileHistory, makers: Mapping[str, Set[str]]
) -> list[Link]:
    """Each edit with the commit that it went into. `makers` are the sessions that made commits."""
    links = []
    for edit in edits:
        commit = _commit_of(edit.chunk, history, makers)
        links.append(Link(edit.chunk, edit.name, commit.id if commit else ""))
    led_to = {link.commit for link in links} | makers.keys()
    times = {commit.id: commit.time for commit in history.commits}
    for commit in history.commits:  # an exchange that edited and committed several times
        before = [
            link for link in links
            if commit.id not in led_to and times.get(link.commit, commit.time) < commit.time
            and commit.time - _seconds(link.chunk) <= _SAME_WORK
            and _is_foreign(link.chunk, commit.id, history)
            == _is_foreign(link.chunk, link.commit, history)
        ]  # fmt: skip
        if before:
            last = max(before, key=lambda link: _seconds(link.chunk))
            links.append(last._replace(commit=commit.id))
    return links


def _is_foreign(chunk: Chunk, commit: str, history: FileHistory) -> bool:
    """Whether a commit is not on the branch of a session."""
    branch = facts_of(chunk).branch
    return bool(branch) and branch not in history.branches(commit)


def _commit_of(
    chunk: Chunk, history: FileHistory, makers: Mapping[str, Set[str]]
) -> FileCommit | None:
    """The first commit after an edit: one of this session before others, then one of its branch.
    Its author's time counts; a commit that was amended may only have the later one."""
    at, session = _seconds(chunk), facts_of(chunk).id
    after = [c for c in history.commits if at - _SKEW <= c.time <= at + _WINDOW] or [
        c for c in history.commits if c.time < at <= c.committed <= at + _WINDOW
    ]
    if len(after) < 2:
        return after[0] if after else None

    def order(commit: FileCommit) -> tuple[bool, bool, int]:
        is_foreign = _is_foreign(chunk, commit.id, history)
        return session not in makers.get(commit.id, ()), is_foreign, commit.time

    return min(after[:_CHOICES], key=order)


def find_makers(store: Store, commits: Sequence[LineCommit]) -> list[Link]:
    """The exchanges whose `git commit` made these commits, by its output or its message."""
    links = []
    for commit in commits[:_MAKERS]:
        phrases = [commit.id[:digits] for digits in range(7, 13)]
        phrases += [commit.subject] if " " in commit.subject else []
        links += [
            Link(chunk, "", commit.id, made=True)
            for chunk in find_chunks(store, phrases, ("command",))
            if chunk.metadata.get("failed") is not True and _has_made(chunk, commit)
        ]
    return links


def _has_made(chunk: Chunk, commit: LineCommit) -> bool:
    command = chunk.content.partition("\n")[0]
    printed = _COMMITTED.search(chunk.content)
    if printed:
        return commit.id.startswith(printed[1])
    is_then = 0 <= commit.time - _seconds(chunk) + _SKEW <= _DAY
    return is_then and bool(_GIT_COMMIT.search(command)) and commit.subject in chunk.content


def _seconds(chunk: Chunk) -> float:
    at = chunk.created_at
    return at.timestamp() if at else 0.0


# The list


class Evidence(NamedTuple):
    """What is known besides git: the person's sessions, and the project's lessons and documents."""

    sessions: Store | None
    folders: Sequence[str]  # of the checkouts
    recorded: Sequence[Chunk]  # lessons and documents about the file


def why_lines(
    file: str, lines: Lines | None, history: FileHistory, evidence: Evidence
) -> list[WhyEntry]:
    """All entries for a file or some of its lines, newest first."""
    blamed = history.blamed or BlamedLines()
    entries = [_commit_entry(commit, blamed, lines) for commit in blamed.commits]
    if evidence.sessions is not None:
        links = _links(evidence.sessions, history, evidence.folders)
        kept = [link for link in links if _belongs(link, history, lines)]
        entries += _session_entries(kept, history)
        entries += _decisions(evidence.sessions, kept, history.names, evidence.folders)
    entries += [_recorded_entry(chunk, file) for chunk in evidence.recorded]
    return sorted(entries, key=lambda entry: (-_time(entry.time), entry.kind, entry.id))


def _links(store: Store, history: FileHistory, folders: Sequence[str]) -> list[Link]:
    made = find_makers(store, history.blamed.commits if history.blamed else ())
    makers: defaultdict[str, set[str]] = defaultdict(set)
    for link in made:
        makers[link.commit].add(facts_of(link.chunk).id)
    # A session that made a commit ran in a checkout, also if that is gone.
    gone = {facts_of(link.chunk).project.rstrip("/") for link in made} - {"", *folders}
    edits = [
        edit for edit in find_edits(store, history.names.keys(), [*folders, *sorted(gone)])
        if _seconds(edit.chunk) <= history.names[edit.name]
    ]  # fmt: skip
    links = link_edits(edits, history, makers)
    edited = {(link.commit, facts_of(link.chunk).id) for link in links}
    only_made = (link for link in made if (link.commit, facts_of(link.chunk).id) not in edited)
    return [*links, *only_made]


def _belongs(link: Link, history: FileHistory, lines: Lines | None) -> bool:
    """Whether an exchange is about the lines: it led to a commit of theirs, or to their state on
    disk. Without git, and for the whole file, all are."""
    if lines is None or history.blamed is None:
        return True
    if link.commit:
        return any(commit.id == link.commit for commit in history.blamed.commits)
    last = max((commit.time for commit in history.commits), default=0)
    return history.blamed.uncommitted > 0 and _seconds(link.chunk) >= last


def _commit_entry(commit: LineCommit, blamed: BlamedLines, lines: Lines | None) -> WhyEntry:
    scope = "these" if lines else "its"
    what = f"last changed {commit.lines} of {scope} {blamed.total} lines"
    if commit.lines == blamed.total:
        what = f"last changed all of {scope} lines" if commit.lines else "changed the file"
    return WhyEntry(
        "commit", moment(commit.time), printable(commit.subject), what,
        commit.id, who=printable(commit.author), commit=commit.id,
    )  # fmt: skip


def _session_entries(links: Sequence[Link], history: FileHistory) -> Iterator[WhyEntry]:
    """One entry for each session, with the time and the question of its last exchange."""
    sessions: defaultdict[str, list[Link]] = defaultdict(list)
    for link in sorted(links, key=lambda link: (-_seconds(link.chunk), not link.name, link.made)):
        sessions[facts_of(link.chunk).id].append(link)
    for session, own in sessions.items():
        chunk = own[0].chunk
        reasons = list(dict.fromkeys(_reason(link, history) for link in own))
        more = f", and {pluralize(len(reasons) - 2, 'more change')}" if len(reasons) > 2 else ""
        yield WhyEntry(
            "session", chunk.created_at, _asked(own), f"{'; '.join(reasons[:2])}{more}",
            f"{SESSION}:{facts_of(chunk).exchange}", who=printable(facts_of(chunk).agent),
            branch=printable(facts_of(chunk).branch), session=session,
            commit=next((link.commit for link in own if link.commit), ""),
        )  # fmt: skip


def _asked(links: Sequence[Link]) -> str:
    """What was asked before the edits; the name of a command's chunk is the command."""
    talks = (asked_in(link.chunk) for link in links if link.name)
    title = facts_of(links[0].chunk).title
    return printable(next(filter(None, talks), title))


def _reason(link: Link, history: FileHistory) -> str:
    commit = link.commit[:SHORT]
    if link.made:
        return f"made commit {commit}"
    current = next(iter(history.names), link.name)
    what = "edited this file" if link.name == current else f"edited this file as {link.name}"
    if not link.commit:
        return f"{what}{_after(link, history)}"
    times = (c.time for c in history.commits if c.id == link.commit)
    apart = _duration(next(times, 0) - _seconds(link.chunk))
    branch = facts_of(link.chunk).branch
    on = f" on branch {printable(branch)}" if branch else ""
    return f"{what} {apart} before commit {commit}{on}"


def _after(link: Link, history: FileHistory) -> str:
    """What became of an edit without a commit."""
    if history.blamed is None:
        return ""
    if any(commit.time >= _seconds(link.chunk) for commit in history.commits):
        return "; no commit of it in the week after"
    return ", not committed yet" if history.blamed.uncommitted else " after its last commit"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return "within a minute"
    for size, word in ((_DAY, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size or size == 60:
            return pluralize(round(seconds / size), word)
    raise AssertionError


def _decisions(
    store: Store, links: Sequence[Link], names: Mapping[str, float], folders: Sequence[str]
) -> Iterator[WhyEntry]:
    """What these sessions decided in exchanges that edited or read the file."""
    sessions = dict.fromkeys(facts_of(link.chunk).id for link in links)
    for session in list(sessions)[:_MOST_SESSIONS]:
        for chunk in find_in_session(store, session, ("decision",)):
            project = facts_of(chunk).project
            files = {name_in(folders, file, project) for file in facts_of(chunk).files}
            edited = {name_in(folders, file, project) for file in facts_of(chunk).edited}
            if not files.isdisjoint(names):
                how = "edited" if not edited.isdisjoint(names) else "read"
                yield WhyEntry(
                    "decision", chunk.created_at, asked_in(chunk),
                    f"decided in an exchange that {how} this file", chunk.id, _short(chunk),
                    printable(facts_of(chunk).agent), session=session,
                )  # fmt: skip


def _recorded_entry(chunk: Chunk, file: str) -> WhyEntry:
    is_lesson = chunk.kind is Kind.REASONING
    origin = provenance_of(chunk)
    title = "" if is_lesson else printable(chunk.qualified_name or chunk.name)
    kind = "lesson" if is_lesson else printable(chunk.document_type or "document")
    at = origin.at or chunk.created_at
    reason = f"is about {printable(file)}"
    return WhyEntry(kind, at, title, reason, chunk.id, _short(chunk), printable(origin.who))


def _short(chunk: Chunk) -> str:
    """The beginning of a text on one line, without the title that it may begin with."""
    text = printable(" ".join(chunk.content.removeprefix(f"{chunk.name}\n").split()))
    return text if len(text) <= _TEXT else f"{text[:_TEXT].rpartition(' ')[0]} …"


def _time(at: datetime | None) -> float:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() if at else 0.0


def find_recorded(store: Store) -> list[Chunk]:
    """The lessons and documents of a memory, of each the first piece."""
    rows = {row for each in _RECORDED for row in store.search.find_rows(each)}
    chunks = store.chunks.get_rows(sorted(rows - store.checkouts.hidden_rows())).values()
    return [chunk for chunk in chunks if chunk.metadata.get("part", 1) == 1]
