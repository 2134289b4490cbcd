"""From code to talk and back: `memory.trail`. Why lines are as they are, how a command worked, and
what mended an error, from commits and the sessions of agents.

Sessions are in the person's memory; code, lessons and documents in the project's. What cannot be
asked is left out, and a note says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aurora.engine.command_runs import fix_error, how_command
from aurora.engine.own_lines import read_chunk_text
from aurora.engine.session_lookup import checkout_folders, has_sessions
from aurora.engine.why import Evidence, FileHistory, find_recorded, why_lines
from aurora.errors import ChunkNotFoundError, GitError, QueryError, SourceError
from aurora.indexing.provenance import provenance_of
from aurora.sources.blame.commits import find_prefix, read_work_tree
from aurora.sources.blame.line_commits import (
    BlamedLines,
    FileCommit,
    LineCommit,
    blame_lines,
    branches_with,
    list_file_commits,
)
from aurora.sources.git import HISTORY, Git, find_root, work_tree
from aurora.stores.base import Store
from aurora.trail_types import Fixes, How, Why
from aurora.types import Chunk, Lines, Note

if TYPE_CHECKING:
    from aurora.engine.memory import Memory

MOST_ENTRIES = 20
_COMMITS = 300  # of a file, the newest ones
_PLACE = re.compile(r"(.+?):([0-9]{1,9})(?:-([0-9]{1,9}))?(?::[0-9]+)?", re.DOTALL)
_NO_SESSIONS = Note(
    "Your memory has no sessions of agents: only git and the project's memory were asked. "
    "`aur sessions import` reads them"
)


class _Target(NamedTuple):
    """A file below a root, and which of its lines are meant."""

    root: Path
    file: str
    lines: Lines | None = None
    name: str = ""


class Trail:
    """Asks commits and sessions about a memory's code, commands and errors."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def why(self, place: str, *, here: str = ".", limit: int = MOST_ENTRIES) -> Why:
        """What led to FILE, FILE:LINE, FILE:FIRST-LAST or FILE:NAME, newest first.

        Paths start at the root of the memory, or at the folder `here` below it, or are absolute.
        """
        return self._why(self._find(place, here), limit)

    def why_chunk(self, chunk: Chunk, *, limit: int = MOST_ENTRIES) -> Why:
        """What led to the lines of a chunk; nothing for one without a file."""
        root = self._root()
        if root is None or not chunk.path:
            return Why(chunk.path, chunk.lines, chunk.name, ())
        return self._why(_Target(root, chunk.path, chunk.lines, chunk.name), limit)

    def _why(self, target: _Target, limit: int) -> Why:
        notes = list[Note]()
        history, folders = _read_history(target, notes), self._folders(target.root)
        sessions = self._sessions()
        notes += [] if sessions else [_NO_SESSIONS]
        evidence = Evidence(sessions, folders, self._recorded(target.root, history))
        entries = why_lines(target.file, target.lines, history, evidence)
        if not entries and not (target.root / target.file).is_file():
            raise ChunkNotFoundError(
                f"There is no file {target.file}, and no commit or session knows it",
                hint="name a file of the project, as results show it",
            )
        return Why(
            target.file, target.lines, target.name, tuple(entries[:limit]),
            max(len(entries) - limit, 0), tuple(notes),
        )  # fmt: skip

    def commits(self, chunk: Chunk) -> BlamedLines:
        """The commits that changed a chunk's lines last, as far as git knows them."""
        root, lines = self._root(), chunk.lines
        if root is None or lines is None or not chunk.path:
            return BlamedLines()
        target = _Target(root, chunk.path, lines)
        return _read_history(target, []).blamed or BlamedLines()

    def how(self, command: str) -> How:
        """When a command last worked and how, and its last failure."""
        sessions = self._sessions()
        if sessions is None:
            return How(command, notes=(_NO_SESSIONS,))
        folders = self._folders(self._root())
        return how_command(sessions, command, folders)

    def fix(self, error: str) -> Fixes:
        """What mended an error, the best first; nothing for one that no session had."""
        sessions = self._sessions()
        if sessions is None:
            return Fixes(error, notes=(_NO_SESSIONS,))
        folders = self._folders(self._root())
        return fix_error(sessions, error, folders)

    # The memories

    def _sessions(self) -> Store | None:
        """The store of the person's memory, if it has sessions."""
        personal = self._memory.personal or self._memory
        if not personal.exists:
            return None
        opened = personal._opened
        return opened.store if opened.read(lambda: has_sessions(opened.store))[0] else None

    def _recorded(self, root: Path, history: FileHistory) -> list[Chunk]:
        """The lessons and documents of the project about the file under any of its names."""
        memory = self._memory
        if not memory.exists or memory.root is None or memory.root.resolve() != root:
            return []
        opened = memory._opened
        chunks = opened.read(lambda: find_recorded(opened.store))[0]
        return [c for c in chunks if not history.names.keys().isdisjoint(provenance_of(c).files)]

    def _root(self) -> Path | None:
        """The root of the memory; of a folder that was never indexed, that of its repository."""
        opened = self._memory._opened
        folder = opened.root or (opened.folder and _top_of(opened.folder))
        return folder.resolve() if folder else None

    def _folders(self, root: Path | None) -> list[str]:
        """Where the repository is checked out."""
        memory = self._memory
        if root is None:
            return []
        is_own = memory.exists and memory.root is not None and memory.root.resolve() == root
        known = memory._opened.store.checkouts.known() if is_own else []
        return checkout_folders(_top_of(root).resolve(), [each.checkout.root for each in known])

    # The file

    def _find(self, place: str, here: str) -> _Target:
        """The file and lines that are meant. A name is looked up in the memory."""
        root = self._root()
        if root is None:
            raise QueryError(f"{place!r} is in no project", hint="go to the folder of a project")
        typed = _PLACE.fullmatch(place)
        file = _file_below(root, here, place)
        if ":" not in place or (file and (root / file).exists()):
            return _Target(root, _required(file, place, root))
        if typed:
            first, last = int(typed[2]), int(typed[3] or typed[2])
            if not 0 < first <= last:
                raise QueryError(f"{place!r} has no such lines", hint="lines count from 1: 12-20")
            file = _required(_file_below(root, here, typed[1]), place, root)
            return _Target(root, file, Lines(first, last))
        return self._find_definition(place, here)

    def _find_definition(self, place: str, here: str) -> _Target:
        holder, chunk = self._memory.locate(place, is_use=False, here=here)
        if holder.root is None or not chunk.path or chunk.lines is None:
            raise QueryError(f"{place!r} is no code of a file", hint="name FILE:NAME or FILE:LINE")
        name = place.rpartition(":")[2]
        symbol = next((s for s in chunk.symbols if s.name == name != chunk.name), None)
        whole = read_chunk_text(holder, chunk).whole or chunk.lines
        title = symbol.name if symbol else chunk.qualified_name or chunk.name
        return _Target(holder.root.resolve(), chunk.path, symbol.lines if symbol else whole, title)


def _top_of(folder: Path) -> Path:
    """The top of the repository around a folder; the folder itself where git cannot tell."""
    try:
        return find_root(folder) or folder
    except SourceError:
        return folder


def _file_below(root: Path, here: str, file: str) -> str:
    """The name of a file from the root; empty if it is outside."""
    path = Path(os.path.normpath(root / here / file))
    for known in (path, path.parent.resolve() / path.name):
        if known.is_relative_to(root):
            return known.relative_to(root).as_posix()
    return ""


def _required(file: str, place: str, root: Path) -> str:
    if not file or file == ".":
        raise QueryError(f"{place!r} is no file below {root}", hint="name a file of this project")
    return file


# What git tells


def _read_history(target: _Target, notes: list[Note]) -> FileHistory:
    """The commits of the lines and of the file; less, and a note, where git cannot tell."""
    git = Git(target.root, HISTORY)
    try:
        git = git.at(work_tree(git))
        name = find_prefix(Git(target.root)) + target.file
    except GitError as exc:
        notes.append(Note(f"git was not asked: {exc.message}"))
        return FileHistory(names={target.file: inf})
    try:
        commits = _file_commits(git, name)
    except GitError as exc:
        notes.append(Note(f"git cannot tell the commits of {target.file}: {exc.message}"))
        commits = []
    return FileHistory(
        _blamed(git, name, target, commits, notes),
        commits[::-1],
        _names(name, commits),
        lru_cache(partial(branches_with, git)),
    )


def _file_commits(git: Git, name: str) -> list[FileCommit]:
    """The commits of a file, newest first, also of one that is renamed and not yet committed."""
    commits = list_file_commits(git, name, _COMMITS)
    if not commits and (git.folder / name).exists():
        changes = read_work_tree(git, "HEAD")
        before = next((c.source for c in changes if c.path == name and c.source != name), "")
        commits = list_file_commits(git, before, _COMMITS) if before else []
    return commits


def _names(name: str, commits: Sequence[FileCommit]) -> dict[str, float]:
    """The names of a file, each with the time of the commit that gave it another one."""
    names, until = {name: inf}, inf
    for commit in commits:
        names.setdefault(commit.path, until)
        until = commit.committed
    return names


def _blamed(
    git: Git, name: str, target: _Target, commits: Sequence[FileCommit], notes: list[Note]
) -> BlamedLines:
    path = target.root / target.file
    if not path.is_file():
        notes.append(Note(f"{target.file} is gone: these are the last commits of it"))
        return BlamedLines(tuple(_as_gone(commit) for commit in commits[:MOST_ENTRIES]))
    try:
        return blame_lines(git, name, target.lines)
    except GitError as exc:
        if "has only" in exc.message:
            raise QueryError(f"git blame: {exc.message}", hint="name lines that it has") from exc
        notes.append(Note(f"git has no commit of {target.file}: {exc.message}"))
        return BlamedLines((), uncommitted=1)


def _as_gone(commit: FileCommit) -> LineCommit:
    return LineCommit(commit.id, commit.time, commit.author, commit.subject, 0)
