"""The blame cache: the last commit of every line of files at one commit, in one derived file.

    line 1   magic, format, checksum of the rest
    rest     JSON: the commit, where a shallow history ends, the commits that own lines with their
             times, and for each path its blob and runs ("line owner line owner …")

A file that is damaged, foreign or of another format counts as empty. A folder holds a file for each
commit that was read. A commit's id determines its whole history, so all branches, worktrees and
clones can share one folder.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import lt
from pathlib import Path
from typing import NamedTuple

from aurora.files import make_folder, read_file, remove_leftovers, replacing
from aurora.sources.blame.replay import LineHistory, LineOwners

_MAGIC = b"aurora-history 1 "
_MAX_BYTES = 32 << 20  # the cache of Django's Python files has 2.7 million
_MAX_FOLDER = 256 << 20  # bytes of all files: Django at a hundred commits
_FILE = re.compile(r"history-([0-9a-f]{40,64})(-[0-9a-f]{8})?\.book")
_MAX_LINES = 10_000_000  # of a file; each line takes memory as soon as the file is edited


class Entry(NamedTuple):
    """The lines of one committed content of one path."""

    blob: str
    runs: str


class BlameCache:
    """The line owners of files at one commit. An owner is an index into `ids`; 0 is no commit."""

    def __init__(self, head: str = "", shallow: str = "") -> None:
        self.head, self.shallow = head, shallow
        self.ids: list[str] = [""]
        self.times: list[int] = [0]
        self.files: dict[str, Entry] = {}
        self._numbers: dict[str, int] = {}

    def number(self, commit: str, time: int) -> int:
        """Return the number of a commit; a new commit is added."""
        if len(self._numbers) != len(self.ids):
            self._numbers = {id_: number for number, id_ in enumerate(self.ids)}
        if commit not in self._numbers:
            self._numbers[commit] = len(self.ids)
            self.ids.append(commit)
            self.times.append(time)
        return self._numbers[commit]

    def put(self, path: str, blob: str, lines: LineOwners) -> None:
        words = (f"{first} {owner}" for first, owner in lines.runs())
        self.files[path] = Entry(blob, " ".join(words))

    def history(self, path: str) -> LineHistory:
        return LineHistory(_parse_runs(self.files[path].runs), self.times)

    def lines(self, path: str) -> LineOwners:
        return LineOwners.from_runs(_parse_runs(self.files[path].runs))

    def keep_only(self, blobs: Mapping[str, str]) -> None:
        """Drop the entries whose blob is not the path's blob."""
        self.files = {p: entry for p, entry in self.files.items() if blobs.get(p) == entry.blob}

    def drop(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)


def load_cache(path: Path | None) -> BlameCache:
    """Read a cache file; an empty cache if there is none, or none that can be used."""
    if path is None:
        return BlameCache()
    try:
        first, _, rest = read_file(path, most=_MAX_BYTES).partition(b"\n")
        if first != _MAGIC + b"%08x" % zlib.crc32(rest):
            return BlameCache()
        return _parse_cache(json.loads(rest))
    except (OSError, ValueError, RecursionError):
        return BlameCache()


def _parse_cache(content: object) -> BlameCache:
    """Raise `ValueError` for invalid content, which may have a valid checksum."""
    match content:
        case {
            "head": str(head),
            "shallow": str(shallow),
            "ids": [*ids],
            "times": [*times],
            "files": dict(files),
        } if _are_commits(ids, times):
            cache = BlameCache(head, shallow)
            cache.ids, cache.times = ids, times
            cache.files = dict(_parse_entries(files, owners=len(ids)))
            return cache
    raise ValueError("not a blame cache")


def _are_commits(ids: Sequence[object], times: Sequence[object]) -> bool:
    typed = {*map(type, ids)} == {str} and {*map(type, times)} == {int}
    return typed and len(ids) == len(times)


def _parse_entries(files: Mapping[str, object], *, owners: int) -> Iterator[tuple[str, Entry]]:
    for path, entry in files.items():
        match entry:
            case [str(blob), str(runs)] if _are_lines(_parse_runs(runs), owners):
                yield path, Entry(blob, runs)
            case _:
                raise ValueError(f"{path} has no lines")


def _parse_runs(words: str) -> tuple[tuple[int, int], ...]:
    numbers = list(map(int, words.split()))
    return tuple(zip(numbers[0::2], numbers[1::2], strict=True))


def _are_lines(runs: Sequence[tuple[int, int]], owners: int) -> bool:
    """True when the runs begin at line 1, ascend, and have valid owners."""
    starts = [first for first, _ in runs]
    ascending = all(map(lt, starts, starts[1:]))
    valid = all(0 <= owner < owners for _, owner in runs)
    return starts[:1] == [1] and starts[-1] <= _MAX_LINES and ascending and valid


def save_cache(path: Path, cache: BlameCache) -> None:
    """Write a cache atomically, without the commits that own no line."""
    owners = {"0"}.union(*(entry.runs.split()[1::2] for entry in cache.files.values()))
    used = sorted(map(int, owners))
    numbers = {str(old): str(new) for new, old in enumerate(used)}
    files = {}
    for name, (blob, runs) in cache.files.items():
        words = runs.split()
        words[1::2] = [numbers[owner] for owner in words[1::2]]
        files[name] = (blob, " ".join(words))
    content = json.dumps(
        {
            "head": cache.head,
            "shallow": cache.shallow,
            "ids": [cache.ids[number] for number in used],
            "times": [cache.times[number] for number in used],
            "files": files,
        }
    ).encode()
    if len(content) > _MAX_BYTES - 100:  # with the first line, it could not be read again
        return
    make_folder(path.parent)
    with replacing(path) as out:
        out.write(_MAGIC + b"%08x\n" % zlib.crc32(content) + content)


# A folder of caches


def cache_file(folder: Path, head: str, shallow: str) -> Path:
    """The file for a commit; a shallow history that ends elsewhere has another file."""
    end = f"-{zlib.crc32(shallow.encode()):08x}" if shallow else ""
    return folder / f"history-{head}{end}.book"


def cached_heads(folder: Path) -> dict[str, Path]:
    """The commits that have a file, with the file; the last used one first."""
    files = sorted(_files(folder), reverse=True)
    return {match[1]: path for _, path in files if (match := _FILE.fullmatch(path.name))}


def _files(folder: Path) -> list[tuple[int, Path]]:
    return [(_mtime(path), path) for path in folder.glob("history-*.book")]


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # another process just removed it
        return 0


def mark_used(path: Path) -> None:
    """The files that were not used for longest are dropped first."""
    with suppress(OSError):
        os.utime(path)


def drop_oldest(folder: Path, most: int = _MAX_FOLDER) -> None:
    """Remove files until the rest takes at most so many bytes, and what killed runs left."""
    for scratch in folder.glob("history-*.tmp"):
        remove_leftovers(folder / f"{scratch.name.partition('.')[0]}.book")
    size = 0
    for _, path in sorted(_files(folder), reverse=True):
        with suppress(OSError):
            size += path.stat().st_size
            if size > most:
                path.unlink()


def forget_paths(folder: Path, names: Collection[str]) -> None:
    """Remove files from all caches of a folder, where their paths may begin elsewhere."""
    needles = [json.dumps(name.rpartition("/")[2])[1:-1].encode() for name in names]
    for _, path in _files(folder):
        with suppress(OSError):
            content = read_file(path, most=_MAX_BYTES)
            if any(needle in content for needle in needles):
                _forget_in(path, names)


def _forget_in(path: Path, names: Collection[str]) -> None:
    cache = load_cache(path)
    gone = [
        cached
        for cached in cache.files
        if any(
            f"/{cached}".endswith(f"/{name}") or f"/{name}".endswith(f"/{cached}") for name in names
        )
    ]
    if gone:
        cache.drop(gone)
        save_cache(path, cache)
    elif not cache.head:
        path.unlink()  # damaged, and it holds a name that must go
