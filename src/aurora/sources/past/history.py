"""Which commits last touched which lines, for the files of one repository.

The answers are those of `git blame` at the last commit, with the lines that were changed on disk
since marked as not committed. How they are found is left to `committed` and `edits`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from aurora.errors import GitError, GitLimitError, NoRepositoryError
from aurora.sources.git import HISTORY, Git, Limits, work_tree
from aurora.sources.past.book import Book
from aurora.sources.past.committed import BLAME_AT_MOST, read_committed
from aurora.sources.past.edits import read_edits
from aurora.sources.past.lines import UNCOMMITTED, LineHistory, Unavailable, Untracked
from aurora.sources.past.since import compare
from aurora.sources.past.snapshot import Snapshot, find_prefix, read_stamp, take_snapshot
from aurora.types import Listener, ignore_events

logger = logging.getLogger(__name__)

_NO_REPOSITORY = "no repository"

FileHistory: TypeAlias = LineHistory | Untracked | Unavailable


class NoHistory:
    """What is known of files outside any repository."""

    notes: Sequence[str] = ()

    def stamp(self) -> str:
        return _NO_REPOSITORY

    def touched_since(self, stamp: str) -> Set[str] | None:  # noqa: ARG002 - as `History` has it
        return None

    def of(self, paths: Sequence[str]) -> Mapping[str, FileHistory]:
        return dict.fromkeys(paths, Untracked())


class History:
    """The histories of files below a folder. What was found out is kept in the file `cache`.

    Up to `blame_at_most` files are asked of `git blame`; for more, the history is replayed. With
    `anew`, what is in the file is not used. Each call of git keeps within `limits`.
    """

    def __init__(
        self,
        root: Path,
        *,
        cache: Path | None,
        anew: bool = False,
        blame_at_most: int = BLAME_AT_MOST,
        limits: Limits = HISTORY,
        listen: Listener = ignore_events,
    ) -> None:
        self._git, self._cache, self._anew = Git(root, limits), cache, anew
        self._blame_at_most, self._listen = blame_at_most, listen

    @property
    def notes(self) -> Sequence[str]:
        """In what the answers are coarser than those of `git blame`, and why."""
        return tuple(self._git.notes)

    def stamp(self) -> str:
        """While this word is the same, so are the histories of files that are; cheap to ask for.

        It is empty when git cannot tell.
        """
        try:
            return read_stamp(self._git) or "no commit"
        except NoRepositoryError:
            return _NO_REPOSITORY
        except GitError:
            return ""

    def touched_since(self, stamp: str) -> Set[str] | None:
        """Paths that may have another history than when a stamp was given; none: all may."""
        (old, _, ended), (new, _, ends) = stamp.partition("-"), self.stamp().partition("-")
        if ended != ends or " " in old + new or not (old and new):
            return None  # shallow in another way, other renames staged, or without a commit
        try:
            top, prefix = self._git.at(work_tree(self._git)), find_prefix(self._git)
            since = compare(top, old, new)
        except GitError:
            return None
        if since is None:
            return None
        return {p.removeprefix(prefix) for p in since.touched if p.startswith(prefix)}

    def of(self, paths: Sequence[str]) -> Mapping[str, FileHistory]:
        """The history of each path, given relative to the root. Git's troubles are answers too.

        Asking for many at once is far cheaper than asking for each.
        """
        try:
            now = take_snapshot(self._git)
            return dict.fromkeys(paths, Untracked()) if now is None else self._read(now, paths)
        except NoRepositoryError:
            return dict.fromkeys(paths, Untracked())
        except GitError as exc:
            return dict.fromkeys(paths, _unavailable(str(self._git.folder), exc))

    def _read(self, now: Snapshot, paths: Sequence[str]) -> dict[str, FileHistory]:
        sources = {path: _committed_as(now, now.prefix + path) for path in paths}
        wanted = {source for source in sources.values() if isinstance(source, str)}
        book, failed = read_committed(
            now,
            wanted,
            cache=self._cache,
            anew=self._anew,
            blame_at_most=self._blame_at_most,
            listen=self._listen,
        )
        edited = {
            now.prefix + path: now.blobs[source]
            for path, source in sources.items()
            if isinstance(source, str) and now.prefix + path in now.edited
        }
        hunks, unread = read_edits(now.git, edited)

        def answer(path: str, source: str) -> FileHistory:
            full = now.prefix + path
            reason = failed.get(source) or unread.get(full)
            if reason is None and source not in book.files:
                reason = GitError("git did not tell")
            if reason is not None:
                return _unavailable(path, reason)
            return _edited(book, source, hunks.get(full, ()))

        return {
            path: answer(path, source) if isinstance(source, str) else source
            for path, source in sources.items()
        }


def _committed_as(now: Snapshot, path: str) -> str | Untracked | Unavailable:
    """The path that a file on disk has in the last commit: another after a staged rename."""
    source = now.edited.get(path, path)
    if source in now.blobs:
        return source
    for above in (path, *map(str, PurePosixPath(path).parents)):
        if above in now.others:
            return Unavailable(f"{above} is a submodule or a link")
    return Untracked()


def _edited(book: Book, path: str, hunks: Sequence[int]) -> LineHistory:
    if not hunks:
        return book.history(path)
    return LineHistory(book.lines(path).edited(hunks, UNCOMMITTED).runs(), book.times)


def _unavailable(path: str, exc: GitError) -> Unavailable:
    logger.warning("Git blame failed for %s: %s", path, exc.message)  # seed 000, FR-10.3
    return Unavailable(exc.message, lasting=isinstance(exc, GitLimitError))
