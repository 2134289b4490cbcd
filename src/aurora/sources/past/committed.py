"""The lines of the last commit's files, by the cheapest way that gives git's own answer.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aurora.errors import GitError, GitLimitError
from aurora.sources.past.blame import blame
from aurora.sources.past.book import Book, load_book, save_book
from aurora.sources.past.commits import WORKERS, Commit, empty_tree, read_changes, read_commits
from aurora.sources.past.lines import Annotation
from aurora.sources.past.replay import Start, replay
from aurora.sources.past.since import Since, compare, steps
from aurora.sources.past.snapshot import Snapshot
from aurora.types import Listener, ignore_events

logger = logging.getLogger(__name__)

BLAME_AT_MOST = 16  # in Django a replay costs as much as 44 blames, in Flask as 43


def read_committed(
    now: Snapshot,
    paths: Collection[str],
    *,
    cache: Path | None,
    anew: bool = False,
    blame_at_most: int,
    listen: Listener = ignore_events,
) -> tuple[Book, dict[str, GitError]]:
    """A book with the paths' lines at the last commit, and what went wrong for which path.

    With `anew`, what an earlier run found is not used.
    """
    book = load_book(None if anew else cache)
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


def _put_last_commits(book: Book, now: Snapshot, failed: dict[str, GitError]) -> None:
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


def _bring_up_to_date(book: Book, now: Snapshot, paths: Collection[str]) -> None:
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


def _follow(book: Book, now: Snapshot, since: Since, paths: Collection[str]) -> None:
    """Carry out the commits that were added since on the lines known before."""
    wanted = book.files.keys() | paths  # no file that was never asked for, or was forgotten
    touched = sorted(since.touched & now.blobs.keys() & wanted)
    blobs = {path: entry.blob.encode() for path, entry in book.files.items()}
    start = Start(book.head.encode(), since.tree, blobs, book.lines)
    found = _replay(book, now, since.commits, touched, start=start)
    book.drop(since.touched - found)


def _replay(
    book: Book,
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


def _blame(book: Book, now: Snapshot, paths: Sequence[str]) -> dict[str, GitError]:
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


def _save(cache: Path, book: Book) -> None:
    try:
        save_book(cache, book)
    except OSError as exc:  # answers do not depend on it; the next run only takes longer
        logger.warning("cannot keep git history in %s: %s", cache, exc)
