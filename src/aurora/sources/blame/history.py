"""Which commits last touched which lines, for the files of one repository.

The answers are those of `git blame` at the last commit, with the lines that were changed on disk
since marked as not committed. How they are found is left to `committed` and `edits`.

Which files' histories may differ between two commits of a repository.

Both commits are followed along their first parents down to the commit where the two lines meet. A
file that no commit on either line changed, compared with that commit's first parent, has the same
history at both ends: `git blame` passes such a file on to the first parent whole. This holds after
new commits, merges, pulls, resets, rebases and on another branch alike.

Lines changed on disk since the last commit, for the files that git says differ.

Contents on disk may hold secrets, so no copy of them is written anywhere, not even for a moment.

The last commit of every line of a few files, from `git blame` itself.

The lines of the last commit's files, by the cheapest way that gives git's own answer.

* What an earlier run found, for files that nothing has touched since (`book`, `since`).
* A replay of the commits added since, when they follow one another without a merge.
* `git blame`, for a few files; a replay of the whole history, for many.

All three agree with `git blame`, so they may be mixed. (In one known case a replay does not: of two
files that both continue one that a commit deleted, git's renames give the past to one, blame to
both.) For Django's 2,929 Python files, blaming one by one takes 21 minutes of CPU and the replay
18 s; one file after a commit takes 0.3 s.

Where git reaches a limit, each line of a file gets the last commit of the file instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from aurora.errors import GitError, GitLimitError, NoRepositoryError
from aurora.sources.blame.cache import (
    BlameCache,
    Snapshot,
    find_prefix,
    load_cache,
    read_stamp,
    save_cache,
    take_snapshot,
)
from aurora.sources.blame.commits import (
    PATCH,
    WORKERS,
    Commit,
    empty_tree,
    parse_hunks,
    read_changes,
    read_commits,
)
from aurora.sources.blame.replay import (
    UNCOMMITTED,
    Annotation,
    LineHistory,
    Start,
    Unavailable,
    Untracked,
    replay,
)
from aurora.sources.git import HISTORY, Git, Limits, own_filters, work_tree
from aurora.types import Listener, ignore_events

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Since:
    """What came between: the paths touched on the way, and the commits where that is all.

    `commits` is empty unless they follow the old commit one by one, without a merge.
    """

    touched: frozenset[str]
    commits: Sequence[Commit]
    tree: bytes  # of the old commit, if there are such commits


def compare(git: Git, old: str, new: str) -> Since | None:
    """What lies between two commits, or nothing where they have no line in common."""
    try:
        ahead, fork = _line(git, old, new)
        behind, meeting = _line(git, fork, old) if fork else ([], "")
    except GitError:  # the old commit was thrown away since
        return None
    if not fork or meeting != fork:
        return None
    tree = git.ask("rev-parse", f"{fork}^{{tree}}").strip()
    touched = frozenset(
        row.path
        for line in (ahead, behind)
        for rows in read_changes(git, steps(line, tree)).values()
        for row in rows
    )
    straight = not behind and all(len(commit.parents) == 1 for commit in ahead)
    return Since(touched, ahead if straight else (), tree)


def _line(git: Git, bottom: str, top: str) -> tuple[list[Commit], str]:
    """First parents from the top that the bottom does not know, and the first it does."""
    line = read_commits(git, "--first-parent", f"{bottom}..{top}")
    if not line:
        return line, top
    parents = line[0].parents
    return line, parents[0].decode() if parents else ""


def steps(line: Sequence[Commit], tree: bytes) -> list[tuple[bytes, bytes]]:
    """The trees before and after each commit; `tree` is the one before the first."""
    trees = [tree, *(commit.tree for commit in line)]
    return list(pairwise(trees))


_AT_ONCE = 200  # names on one command line


def read_edits(
    git: Git, committed: Mapping[str, str]
) -> tuple[dict[str, Sequence[int]], dict[str, GitError]]:
    """Hunks from the committed blob to each path's content on disk, and what went wrong for whom.

    Contents pass through the filters of `git add`, so other line ends are no change; but not
    through programs that the repository itself names.
    """
    if not committed:
        return {}, {}
    filters = own_filters(git)
    blobs, failed = _hash_files(git, filters, list(committed))
    edited = [path for path, blob in blobs.items() if blob != committed[path].encode()]

    def compare(path: str) -> Sequence[int] | GitError:
        words = ("--literal-pathspecs", "diff", *PATCH, committed[path], "--", path)
        try:
            return parse_hunks(git.ask(*words, unused=filters))
        except GitError as exc:
            return exc

    hunks: dict[str, Sequence[int]] = dict.fromkeys(blobs, ())
    with ThreadPoolExecutor(WORKERS) as workers:
        for path, answer in zip(edited, workers.map(compare, edited), strict=True):
            if isinstance(answer, GitError):
                failed[path] = answer
            else:
                hunks[path] = answer
    return hunks, failed


def _hash_files(
    git: Git, filters: Sequence[str], paths: Sequence[str]
) -> tuple[dict[str, bytes], dict[str, GitError]]:
    """The id that the blob of every file on disk would have."""
    found: dict[str, bytes] = {}
    failed: dict[str, GitError] = {}
    for low in range(0, len(paths), _AT_ONCE):
        part = paths[low : low + _AT_ONCE]
        try:
            found.update(zip(part, _hash(git, filters, part), strict=True))
        except GitError:  # one that cannot be read spoils the others
            for path in part:
                try:
                    found[path] = _hash(git, filters, [path])[0]
                except GitError as exc:
                    failed[path] = exc
    return found, failed


def _hash(git: Git, filters: Sequence[str], paths: Sequence[str]) -> list[bytes]:
    return git.ask("hash-object", "--", *paths, unused=filters).split()


_ENTRY = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$")


def blame(git: Git, path: str, *, commit: str) -> tuple[list[bytes], dict[bytes, int]]:
    """The commit of each line, and every commit's time."""
    answer = git.ask(
        "blame", "--incremental", "--no-textconv", "--ignore-revs-file=",
        commit, "--", path,
    )  # fmt: skip
    owners: dict[int, bytes] = {}
    times: dict[bytes, int] = {}
    current = b""
    for line in answer.split(b"\n"):
        if entry := _ENTRY.match(line):
            current, first, count = entry[1], int(entry[2]), int(entry[3])
            owners.update(dict.fromkeys(range(first, first + count), current))
        elif line.startswith(b"author-time "):
            times[current] = int(line[12:])
    return [owners[number] for number in sorted(owners)], times


BLAME_AT_MOST = 16  # in Django a replay costs as much as 44 blames, in Flask as 43


def read_committed(
    now: Snapshot,
    paths: Collection[str],
    *,
    cache: Path | None,
    anew: bool = False,
    blame_at_most: int,
    listen: Listener = ignore_events,
) -> tuple[BlameCache, dict[str, GitError]]:
    """A book with the paths' lines at the last commit, and what went wrong for which path.

    With `anew`, what an earlier run found is not used.
    """
    book = load_cache(None if anew else cache)
    before = (book.head, len(book.files))
    try:
        _bring_up_to_date(book, now, paths)
        missing = sorted(path for path in paths if path not in book.files)
        failed: dict[str, GitError] = {}
        if 0 < len(missing) <= blame_at_most:
            failed = _blame(book, now, missing)
        elif missing:
            _replay(book, now, read_commits(now.git, now.head), missing, listen=listen)
    except GitLimitError as exc:
        book.files.clear()
        book.head, book.shallow = now.head, now.shallow
        missing = sorted(paths)
        failed = dict.fromkeys(missing, exc)
    _put_last_commits(book, now, failed)
    if cache is not None and (missing or before != (book.head, len(book.files))):
        _save(cache, book)
    return book, failed


def _put_last_commits(book: BlameCache, now: Snapshot, failed: dict[str, GitError]) -> None:
    """Where a limit was reached, give all lines of a file to the last commit that changed it.

    Only trees along the first parents are compared. What is found leaves `failed`.
    """
    limited = {path: exc for path, exc in failed.items() if isinstance(exc, GitLimitError)}
    if not limited:
        return
    try:
        line = read_commits(now.git, "--first-parent", now.head)
        pairs = steps(line, empty_tree(now.git))
        changes = read_changes(now.git, pairs, options=("--no-renames",))
    except GitLimitError as exc:
        failed |= dict.fromkeys(limited, exc)
        return
    last = {row.path: at for at, pair in enumerate(pairs) for row in changes.get(pair, ())}
    for path in sorted(limited.keys() & last.keys()):
        commit = line[last[path]]
        number = book.number(commit.id.decode(), commit.time)
        book.put(path, now.blobs[path], Annotation([], number))
        reason = failed.pop(path).message
        now.git.notes[f"some files have one commit for all their lines: {reason}"] = None


def _bring_up_to_date(book: BlameCache, now: Snapshot, paths: Collection[str]) -> None:
    """Turn the book to the last commit; what would not hold any more leaves it."""
    if (book.head, book.shallow) == (now.head, now.shallow):
        return
    since = None
    if book.head and book.shallow == now.shallow:
        since = compare(now.git, book.head, now.head)
    if since is None:
        book.files.clear()
    elif since.commits:
        _follow(book, now, since, paths)
    else:
        book.drop(since.touched)
    book.keep_only(now.blobs)
    book.head, book.shallow = now.head, now.shallow


def _follow(book: BlameCache, now: Snapshot, since: Since, paths: Collection[str]) -> None:
    """Carry out the commits that were added since on the lines known before."""
    wanted = book.files.keys() | paths  # no file that was never asked for, or was forgotten
    touched = sorted(since.touched & now.blobs.keys() & wanted)
    blobs = {path: entry.blob.encode() for path, entry in book.files.items()}
    start = Start(book.head.encode(), since.tree, blobs, book.lines)
    found = _replay(book, now, since.commits, touched, start=start)
    book.drop(since.touched - found)


def _replay(
    book: BlameCache,
    now: Snapshot,
    commits: Sequence[Commit],
    paths: Sequence[str],
    *,
    start: Start | None = None,
    listen: Listener = ignore_events,
) -> set[str]:
    """Put the lines of the paths into the book; those that could be told."""
    first = len(book.ids)
    found = replay(now.git, commits, paths, first=first, start=start, listen=listen)

    def number(owner: int) -> int:
        if owner < first:  # known before
            return owner
        commit = commits[owner - first]
        return book.number(commit.id.decode(), commit.time)

    for path, lines in found.items():
        book.put(path, now.blobs[path], _renamed(lines, number))
    return set(found)


def _renamed(lines: Annotation, number: Callable[[int], int]) -> Annotation:
    numbers = {owner: number(owner) for owner in {lines.tail, *lines.owners}}
    return Annotation([numbers[owner] for owner in lines.owners], numbers[lines.tail])


def _blame(book: BlameCache, now: Snapshot, paths: Sequence[str]) -> dict[str, GitError]:
    def ask(path: str) -> tuple[list[bytes], Mapping[bytes, int]] | GitError:
        try:
            return blame(now.git, path, commit=now.head)
        except GitError as exc:
            return exc

    failed = {}
    with ThreadPoolExecutor(WORKERS) as workers:
        for path, answer in zip(paths, workers.map(ask, paths), strict=True):
            if isinstance(answer, GitError):
                failed[path] = answer
                continue
            owners, times = answer
            numbers = {owner: book.number(owner.decode(), times[owner]) for owner in times}
            lines = [numbers[owner] for owner in owners]
            book.put(path, now.blobs[path], Annotation(lines[:-1], lines[-1] if lines else 0))
    return failed


def _save(cache: Path, book: BlameCache) -> None:
    try:
        save_cache(cache, book)
    except OSError as exc:  # answers do not depend on it; the next run only takes longer
        logger.warning("cannot keep git history in %s: %s", cache, exc)


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


def _edited(book: BlameCache, path: str, hunks: Sequence[int]) -> LineHistory:
    if not hunks:
        return book.history(path)
    return LineHistory(book.lines(path).edited(hunks, UNCOMMITTED).runs(), book.times)


def _unavailable(path: str, exc: GitError) -> Unavailable:
    logger.warning("Git blame failed for %s: %s", path, exc.message)  # seed 000, FR-10.3
    return Unavailable(exc.message, lasting=isinstance(exc, GitLimitError))
