"""Lines changed on disk since the last commit, for the files that git says differ.

Contents on disk may hold secrets, so no copy of them is written anywhere, not even for a moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from aurora.errors import GitError
from aurora.sources.git import Git, own_filters
from aurora.sources.past.commits import WORKERS
from aurora.sources.past.hunks import PATCH, parse_hunks

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
