"""Lines changed on disk since the last commit, for the files that git says differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aurora.errors import GitError
from aurora.sources.git import Scratch, ask, open_scratch, own_filters
from aurora.sources.past.hunks import read_hunks

_AT_ONCE = 200  # names on one command line


def read_edits(
    folder: Path, committed: Mapping[str, str]
) -> tuple[dict[str, Sequence[int]], dict[str, str]]:
    """Hunks from the committed blob to each path's content on disk, and what went wrong for whom.

    Contents pass through the filters of `git add`, so other line ends are no change; but not
    through programs that the repository itself names.
    """
    if not committed:
        return {}, {}
    with open_scratch(folder) as scratch:
        blobs, failed = _hash_files(folder, scratch, list(committed))
        pairs = {path: (committed[path].encode(), blob) for path, blob in blobs.items()}
        distinct = list(dict.fromkeys(pair for pair in pairs.values() if pair[0] != pair[1]))
        hunks = read_hunks(folder, scratch, distinct)
    return {path: hunks.get(pair, ()) for path, pair in pairs.items()}, failed


def _hash_files(
    folder: Path, scratch: Scratch, paths: Sequence[str]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The blob of every file as it is on disk, written to the scratch objects."""
    found: dict[str, bytes] = {}
    failed: dict[str, str] = {}
    for low in range(0, len(paths), _AT_ONCE):
        part = paths[low : low + _AT_ONCE]
        try:
            found.update(zip(part, _hash(folder, scratch, part), strict=True))
        except GitError:  # one that cannot be read spoils the others
            for path in part:
                try:
                    found[path] = _hash(folder, scratch, [path])[0]
                except GitError as exc:
                    failed[path] = exc.message
    return found, failed


def _hash(folder: Path, scratch: Scratch, paths: Sequence[str]) -> list[bytes]:
    words = ("hash-object", "-w", "--", *paths)
    return ask(folder, *words, scratch=scratch.sealed(), unused=own_filters(folder)).split()
