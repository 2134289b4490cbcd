"""`git blame` for the files of a repository: which commits last touched which lines.

`History` returns what `git blame` says at the last commit, with lines edited on disk marked as
uncommitted. It uses the cheapest of these sources, which all agree with `git blame`:

* the cache of an earlier run at this commit, on any branch, worktree or clone;
* the cache of an earlier run at another commit, for files that no commit has touched since;
* a replay of the commits since then, if they are linear;
* `git blame` itself for a few files, or a replay of the whole history for many.

(One known difference: of two files that both continue a deleted file, git's renames give the
history to one, blame to both.) For Django's 2,929 Python files, blaming one by one takes 21 minutes
of CPU and the replay 18 s; one file after a commit takes 0.3 s.

Where git reaches a limit, each line of a file gets the last commit of the file instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TypeAlias, TypeVar

from aurora.errors import GitError, GitLimitError, NoRepositoryError
from aurora.quick_classes import dataclass
from aurora.sources.blame.cache import (
    BlameCache,
    cache_file,
    cached_heads,
    drop_oldest,
    load_cache,
    mark_used,
    save_cache,
)
from aurora.sources.blame.commits import (
    WORKERS,
    Commit,
    CommitRange,
    Snapshot,
    compare_commits,
    empty_tree,
    find_prefix,
    read_changes,
    read_commits,
    read_stamp,
    take_snapshot,
    tree_pairs,
)
from aurora.sources.blame.replay import (
    PATCH,
    UNCOMMITTED,
    BaseCommit,
    LineHistory,
    LineOwners,
    parse_hunks,
    replay,
)
from aurora.sources.git import HISTORY, Git, Limits, own_filters, work_tree
from aurora.types import Listener, ignore_events

logger = logging.getLogger(__name__)

T = TypeVar("T")

BLAME_AT_MOST = 16  # in Django a replay costs as much as 44 blames, in Flask as 43
_PATHS_PER_CALL = 200  # on one command line
_NEAR = 1_000  # commits among which the nearest cached one is looked for
_NO_REPOSITORY = "no repository"
_BLAME_ENTRY = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$")


@dataclass(frozen=True, slots=True)
class Untracked:
    """No commit holds the file: untracked, ignored, only staged, or outside a repository."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Git tracks the file, but blame failed, with git's reason."""

    reason: str
    lasting: bool = False  # a limit, which the same call would reach again


FileHistory: TypeAlias = LineHistory | Untracked | Unavailable


class NoHistory:
    """The interface of `History` for files outside any repository."""

    notes: Sequence[str] = ()

    def stamp(self) -> str:
        return _NO_REPOSITORY

    def touched_since(self, stamp: str) -> Set[str] | None:  # noqa: ARG002 - as in `History`
        return None

    def of(self, paths: Sequence[str]) -> Mapping[str, FileHistory]:
        return dict.fromkeys(paths, Untracked())


class History:
    """Blame for the files below a folder, cached in the folder `cache`.

    Repositories may share that folder. Up to `blame_at_most` files are read by `git blame`; for
    more, the history is replayed. With `ignore_cache`, the cache is not read. Each git call keeps
    within `limits`.
    """

    def __init__(
        self,
        root: Path,
        *,
        cache: Path | None,
        ignore_cache: bool = False,
        blame_at_most: int = BLAME_AT_MOST,
        limits: Limits = HISTORY,
        listen: Listener = ignore_events,
    ) -> None:
        self._git, self._cache, self._ignore_cache = Git(root, limits), cache, ignore_cache
        self._blame_at_most, self._listen = blame_at_most, listen

    @property
    def notes(self) -> Sequence[str]:
        """Why results are coarser than those of `git blame`, if they are."""
        return tuple(self._git.notes)

    def stamp(self) -> str:
        """A word that changes when blame of unchanged files may; empty when git fails."""
        try:
            return read_stamp(self._git) or "no commit"
        except NoRepositoryError:
            return _NO_REPOSITORY
        except GitError:
            return ""

    def touched_since(self, stamp: str) -> Set[str] | None:
        """Return the paths whose blame may have changed since a stamp; None: all may have."""
        (old, _, old_extra), (new, _, extra) = stamp.partition("-"), self.stamp().partition("-")
        if old_extra != extra or " " in old + new or not (old and new):
            return None  # another shallow end, other staged renames, or no commit
        try:
            top, prefix = self._git.at(work_tree(self._git)), find_prefix(self._git)
            commits = compare_commits(top, old, new)
        except GitError:
            return None
        if commits is None:
            return None
        return {p.removeprefix(prefix) for p in commits.touched if p.startswith(prefix)}

    def of(self, paths: Sequence[str]) -> Mapping[str, FileHistory]:
        """The history of each path. One call for many paths is far cheaper than a call for each."""
        try:
            now = take_snapshot(self._git)
            return dict.fromkeys(paths, Untracked()) if now is None else self._read(now, paths)
        except NoRepositoryError:
            return dict.fromkeys(paths, Untracked())
        except GitError as exc:
            return dict.fromkeys(paths, _unavailable(str(self._git.folder), exc))

    def _read(self, now: Snapshot, paths: Sequence[str]) -> dict[str, FileHistory]:
        sources = {path: _committed_as(now, now.prefix + path) for path in paths}
        committed = {source for source in sources.values() if isinstance(source, str)}
        cache, failed = self._read_committed(now, committed)
        edited = {
            now.prefix + path: now.blobs[source]
            for path, source in sources.items()
            if isinstance(source, str) and now.prefix + path in now.edited
        }
        hunks, unread = read_edits(now.git, edited)

        def history_of(path: str, source: str) -> FileHistory:
            full = now.prefix + path
            reason = failed.get(source) or unread.get(full)
            if reason is None and source not in cache.files:
                reason = GitError("git did not tell")
            if reason is not None:
                return _unavailable(path, reason)
            if edits := hunks.get(full, ()):
                lines = cache.lines(source).edited(edits, UNCOMMITTED)
                return LineHistory(lines.runs(), cache.times)
            return cache.history(source)

        return {
            path: history_of(path, source) if isinstance(source, str) else source
            for path, source in sources.items()
        }

    def _read_committed(
        self, now: Snapshot, paths: Collection[str]
    ) -> tuple[BlameCache, dict[str, GitError]]:
        """Return a cache with the lines of the paths at the last commit, and errors by path."""
        cache = self._load(now)
        before = (cache.head, len(cache.files))
        failed: dict[str, GitError] = {}
        try:
            _update(cache, now, paths)
            missing = sorted(path for path in paths if path not in cache.files)
            if 0 < len(missing) <= self._blame_at_most:
                failed = _blame(cache, now, missing)
            elif missing:
                commits = read_commits(now.git, now.head)
                _replay(cache, now, commits, missing, listen=self._listen)
        except GitLimitError as exc:
            cache.files.clear()
            cache.head, cache.shallow = now.head, now.shallow
            missing = sorted(paths)
            failed = dict.fromkeys(missing, exc)
        _put_last_commits(cache, now, failed)
        if missing or before != (cache.head, len(cache.files)):
            self._save(cache, now)
        return cache, failed

    def _load(self, now: Snapshot) -> BlameCache:
        """The cache of this commit; without one, that of the nearest commit."""
        if self._cache is None or self._ignore_cache:
            return BlameCache()
        own = cache_file(self._cache, now.head, now.shallow)
        cache = load_cache(own)
        if cache.head:
            mark_used(own)
            return cache
        try:
            return load_cache(_find_nearest(now, self._cache))
        except GitError:
            return BlameCache()

    def _save(self, cache: BlameCache, now: Snapshot) -> None:
        if self._cache is None:
            return
        try:
            save_cache(cache_file(self._cache, now.head, now.shallow), cache)
            drop_oldest(self._cache)
        except OSError as exc:  # results do not depend on it; the next run takes longer
            logger.warning("cannot keep git history in %s: %s", self._cache, exc)


def _find_nearest(now: Snapshot, folder: Path) -> Path | None:
    """The cache of the last commit that leads here; else of the last used one that git knows."""
    files = cached_heads(folder)
    if not files:
        return None
    line = now.git.run("rev-list", "--first-parent", f"-n{_NEAR}", now.head, "--").decode()
    names = "".join(f"{head}\n" for head in files).encode()
    objects = now.git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", given=names)
    known = (row.split()[0] for row in objects.decode().splitlines() if row.endswith(" commit"))
    return next((files[head] for head in (*line.split(), *known) if head in files), None)


def _committed_as(now: Snapshot, path: str) -> str | Untracked | Unavailable:
    """The path of a file in the last commit: another path after a staged rename."""
    source = now.edited.get(path, path)
    if source in now.blobs:
        return source
    for above in (path, *map(str, PurePosixPath(path).parents)):
        if above in now.others:
            return Unavailable(f"{above} is a submodule or a link")
    return Untracked()


def _unavailable(path: str, exc: GitError) -> Unavailable:
    logger.warning("Git blame failed for %s: %s", path, exc.message)
    return Unavailable(exc.message, lasting=isinstance(exc, GitLimitError))


# Committed lines


def _update(cache: BlameCache, now: Snapshot, paths: Collection[str]) -> None:
    """Move the cache to the last commit, and drop the entries that no longer hold."""
    if (cache.head, cache.shallow) == (now.head, now.shallow):
        return
    commits = None
    if cache.head and cache.shallow == now.shallow:
        commits = compare_commits(now.git, cache.head, now.head)
    if commits is None:
        cache.files.clear()
    elif commits.commits:
        _replay_range(cache, now, commits, paths)
    else:
        cache.drop(commits.touched)
    cache.keep_only(now.blobs)
    cache.head, cache.shallow = now.head, now.shallow


def _replay_range(
    cache: BlameCache, now: Snapshot, added: CommitRange, paths: Collection[str]
) -> None:
    """Apply the commits added since to the cached lines."""
    wanted = cache.files.keys() | paths  # no file that was never requested, or was forgotten
    touched = sorted(added.touched & now.blobs.keys() & wanted)
    blobs = {path: entry.blob.encode() for path, entry in cache.files.items()}
    base = BaseCommit(cache.head.encode(), added.base_tree, blobs, cache.lines)
    replayed = _replay(cache, now, added.commits, touched, base=base)
    cache.drop(added.touched - replayed)


def _replay(
    cache: BlameCache,
    now: Snapshot,
    commits: Sequence[Commit],
    paths: Sequence[str],
    *,
    base: BaseCommit | None = None,
    listen: Listener = ignore_events,
) -> set[str]:
    """Put the lines of the paths into the cache; returns the paths that a replay can tell."""
    first = len(cache.ids)
    owners = replay(now.git, commits, paths, first=first, base=base, listen=listen)

    def number(owner: int) -> int:
        if owner < first:  # a cached commit
            return owner
        commit = commits[owner - first]
        return cache.number(commit.id.decode(), commit.time)

    for path, lines in owners.items():
        cache.put(path, now.blobs[path], lines.renumbered(number))
    return set(owners)


def _blame(cache: BlameCache, now: Snapshot, paths: Sequence[str]) -> dict[str, GitError]:
    """Put the lines of the paths into the cache; returns errors by path."""
    results, failed = _call_each(lambda path: blame(now.git, path, commit=now.head), paths)
    for path, (owners, times) in results.items():
        numbers = {owner: cache.number(owner.decode(), times[owner]) for owner in times}
        lines = [numbers[owner] for owner in owners]
        cache.put(path, now.blobs[path], LineOwners(lines[:-1], lines[-1] if lines else 0))
    return failed


def _call_each(
    call: Callable[[str], T], paths: Sequence[str]
) -> tuple[dict[str, T], dict[str, GitError]]:
    """The results of calls that run side by side, and their errors, by path."""
    results: dict[str, T] = {}
    failed: dict[str, GitError] = {}
    with ThreadPoolExecutor(WORKERS) as workers:
        for path, future in [(path, workers.submit(call, path)) for path in paths]:
            try:
                results[path] = future.result()
            except GitError as exc:
                failed[path] = exc
    return results, failed


def blame(git: Git, path: str, *, commit: str) -> tuple[list[bytes], dict[bytes, int]]:
    """Run `git blame`; returns the commit of each line, and the time of each commit."""
    output = git.run(
        "blame", "--incremental", "--no-textconv", "--ignore-revs-file=",
        commit, "--", path,
    )  # fmt: skip
    owners: dict[int, bytes] = {}
    times: dict[bytes, int] = {}
    current = b""
    for line in output.split(b"\n"):
        if entry := _BLAME_ENTRY.match(line):
            current, first, count = entry[1], int(entry[2]), int(entry[3])
            owners.update(dict.fromkeys(range(first, first + count), current))
        elif line.startswith(b"author-time "):
            times[current] = int(line[12:])
    return [owners[number] for number in sorted(owners)], times


def _put_last_commits(cache: BlameCache, now: Snapshot, failed: dict[str, GitError]) -> None:
    """After a limit, give all lines of a file to the last commit that changed the file.

    Only trees along the first parents are compared. Resolved paths leave `failed`.
    """
    limited = {path: exc for path, exc in failed.items() if isinstance(exc, GitLimitError)}
    if not limited:
        return
    try:
        line = read_commits(now.git, "--first-parent", now.head)
        pairs = tree_pairs(line, empty_tree(now.git))
        changes = read_changes(now.git, pairs, options=("--no-renames",))
    except GitLimitError as exc:
        failed |= dict.fromkeys(limited, exc)
        return
    last = {row.path: at for at, pair in enumerate(pairs) for row in changes.get(pair, ())}
    for path in sorted(limited.keys() & last.keys()):
        commit = line[last[path]]
        number = cache.number(commit.id.decode(), commit.time)
        cache.put(path, now.blobs[path], LineOwners([], number))
        reason = failed.pop(path).message
        now.git.notes[f"some files have one commit for all their lines: {reason}"] = None


# Lines edited on disk. No copy of them is written anywhere: they may hold secrets.


def read_edits(
    git: Git, committed: Mapping[str, str]
) -> tuple[dict[str, Sequence[int]], dict[str, GitError]]:
    """Return the hunks from the committed blob to each path's content on disk, and errors.

    Contents pass through the filters of `git add`, so other line ends are no change, but not
    through programs that the repository itself names.
    """
    if not committed:
        return {}, {}
    filters = own_filters(git)
    blobs, failed = _hash_files(git, filters, list(committed))
    edited = [path for path, blob in blobs.items() if blob != committed[path].encode()]

    def compare(path: str) -> Sequence[int]:
        words = ("--literal-pathspecs", "diff", *PATCH, committed[path], "--", path)
        return parse_hunks(git.run(*words, unused=filters))

    hunks, uncompared = _call_each(compare, edited)
    return hunks, failed | uncompared


def _hash_files(
    git: Git, filters: Sequence[str], paths: Sequence[str]
) -> tuple[dict[str, bytes], dict[str, GitError]]:
    """Return the blob id of every file on disk, and errors by path."""
    blobs: dict[str, bytes] = {}
    failed: dict[str, GitError] = {}

    def hash_files(part: Sequence[str]) -> None:
        ids = git.run("hash-object", "--", *part, unused=filters).split()
        blobs.update(zip(part, ids, strict=True))

    for low in range(0, len(paths), _PATHS_PER_CALL):
        part = paths[low : low + _PATHS_PER_CALL]
        try:
            hash_files(part)
        except GitError:  # one unreadable file fails the whole call
            for path in part:
                try:
                    hash_files([path])
                except GitError as exc:
                    failed[path] = exc
    return blobs, failed
