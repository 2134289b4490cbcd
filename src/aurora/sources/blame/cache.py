"""What is already known of committed lines, kept in one derived file.

    line 1   magic, format, checksum of the rest
    rest     JSON: the commit it holds for, where a shallow history ends, the commits that own
             lines with their times, and for each path its blob and runs ("first owner first …")

A file that is damaged, foreign or of another format is as good as none: everything is made anew.

A repository at this moment: its last commit's files, and where the work tree differs.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import lt
from pathlib import Path
from typing import NamedTuple

from aurora.errors import GitError
from aurora.files import make_folder, read_file, replacing
from aurora.sources.blame.commits import read_work_tree
from aurora.sources.blame.replay import Annotation, LineHistory
from aurora.sources.git import Git, work_tree
from aurora.sources.reading import open_file

_MAGIC = b"aurora-history 1 "
_MOST_BYTES = 32 << 20  # of a book; that of Django's Python files has 2.7 million
_MOST_LINES = 10_000_000  # of a file; each takes memory as soon as the file is edited


class Entry(NamedTuple):
    """The lines of one committed content of one path."""

    blob: str
    runs: str


class BlameCache:
    """Lines of files at one commit. Numbers are commits; 0 is nobody's."""

    def __init__(self, head: str = "", shallow: str = "") -> None:
        self.head, self.shallow = head, shallow
        self.ids: list[str] = [""]
        self.times: list[int] = [0]
        self.files: dict[str, Entry] = {}
        self._numbers: dict[str, int] = {}

    def number(self, commit: str, time: int) -> int:
        """A commit's number, a new one at need."""
        if len(self._numbers) != len(self.ids):
            self._numbers = {known: number for number, known in enumerate(self.ids)}
        if commit not in self._numbers:
            self._numbers[commit] = len(self.ids)
            self.ids.append(commit)
            self.times.append(time)
        return self._numbers[commit]

    def put(self, path: str, blob: str, lines: Annotation) -> None:
        words = (f"{first} {owner}" for first, owner in lines.runs())
        self.files[path] = Entry(blob, " ".join(words))

    def history(self, path: str) -> LineHistory:
        return LineHistory(_runs(self.files[path].runs), self.times)

    def lines(self, path: str) -> Annotation:
        return Annotation.from_runs(_runs(self.files[path].runs))

    def keep_only(self, blobs: Mapping[str, str]) -> None:
        """Drop what is not a path's content any more."""
        self.files = {p: entry for p, entry in self.files.items() if blobs.get(p) == entry.blob}

    def drop(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)


def _runs(words: str) -> tuple[tuple[int, int], ...]:
    numbers = list(map(int, words.split()))
    return tuple(zip(numbers[0::2], numbers[1::2], strict=True))


def load_cache(path: Path | None) -> BlameCache:
    """The book in a file, or an empty one."""
    if path is None:
        return BlameCache()
    try:
        first, _, rest = read_file(path, most=_MOST_BYTES).partition(b"\n")
        if first != _MAGIC + b"%08x" % zlib.crc32(rest):
            return BlameCache()
        return _book_of(json.loads(rest))
    except (OSError, ValueError, RecursionError):
        return BlameCache()


def _book_of(found: object) -> BlameCache:
    """`ValueError` for what no book holds, also where its checksum is right."""
    match found:
        case {
            "head": str(head),
            "shallow": str(shallow),
            "ids": [*ids],
            "times": [*times],
            "files": dict(files),
        } if _are_commits(ids, times):
            book = BlameCache(head, shallow)
            book.ids, book.times = ids, times
            book.files = dict(_entries(files, owners=len(ids)))
            return book
    raise ValueError("it is no book")


def _are_commits(ids: Sequence[object], times: Sequence[object]) -> bool:
    of_kinds = {*map(type, ids)} == {str} and {*map(type, times)} == {int}
    return of_kinds and len(ids) == len(times)


def _entries(files: Mapping[str, object], *, owners: int) -> Iterator[tuple[str, Entry]]:
    for path, entry in files.items():
        match entry:
            case [str(blob), str(runs)] if _are_lines(_runs(runs), owners):
                yield path, Entry(blob, runs)
            case _:
                raise ValueError(f"{path} has no lines")


def _are_lines(runs: Sequence[tuple[int, int]], owners: int) -> bool:
    """Whether they start at the first line, each below the one before, and have known owners."""
    starts = [first for first, _ in runs]
    ascending = all(map(lt, starts, starts[1:]))
    known = all(0 <= owner < owners for _, owner in runs)
    return starts[:1] == [1] and starts[-1] <= _MOST_LINES and ascending and known


def save_cache(path: Path, book: BlameCache) -> None:
    """Write the book in one step, less the commits that own nothing any more."""
    used, files = _renumbered(book)
    content = json.dumps(
        {
            "head": book.head,
            "shallow": book.shallow,
            "ids": [book.ids[number] for number in used],
            "times": [book.times[number] for number in used],
            "files": files,
        }
    ).encode()
    if len(content) > _MOST_BYTES - 100:  # with the first line it could not be read again
        return
    make_folder(path.parent)
    with replacing(path) as out:
        out.write(_MAGIC + b"%08x\n" % zlib.crc32(content) + content)


def forget_paths(folder: Path, names: Collection[str]) -> None:
    """Take files out of all books of a folder. A book may call them by more or fewer folders."""
    for path in folder.glob("history-*.book"):
        book = load_cache(path)
        gone = [
            known
            for known in book.files
            if any(
                f"/{one}".endswith(f"/{other}")
                for name in names
                for one, other in ((known, name), (name, known))
            )
        ]
        if gone:
            book.drop(gone)
            save_cache(path, book)


def _renumbered(book: BlameCache) -> tuple[Sequence[int], dict[str, tuple[str, str]]]:
    owners = {"0"}.union(*(entry.runs.split()[1::2] for entry in book.files.values()))
    used = sorted(map(int, owners))
    names = {str(old): str(new) for new, old in enumerate(used)}
    files = {}
    for path, (blob, runs) in book.files.items():
        words = runs.split()
        words[1::2] = [names[owner] for owner in words[1::2]]
        files[path] = (blob, " ".join(words))
    return used, files


_SHALLOW_BYTES = 1 << 20  # 25,000 commits; the file may be a link to anything


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Paths are those of the whole repository; `prefix` leads to the folder that was asked for."""

    git: Git  # at the top of the work tree
    prefix: str
    head: str
    shallow: str
    blobs: Mapping[str, str]  # regular files of the last commit
    others: frozenset[str]  # its links and submodules
    edited: Mapping[str, str]  # path on disk -> path in the last commit


def read_stamp(git: Git) -> str:
    """A word that changes whenever the histories of unchanged files may; empty without a commit."""
    top = git.at(work_tree(git))
    _refuse_partial_clone(top)
    head = _head(top)
    beside = _shallow(top) + (_renames(top, head) if head else "")
    return head + (f"-{zlib.crc32(os.fsencode(beside)):08x}" if beside else "")


def take_snapshot(git: Git) -> Snapshot | None:
    """What is there, or nothing while there is no commit."""
    top = git.at(work_tree(git))
    _refuse_partial_clone(top)
    prefix, head = find_prefix(git), _head(top)
    if not head:
        return None
    blobs, others = _read_tree(top, head)
    changes = read_work_tree(top, head)
    edited = {row.path: row.source for row in changes if row.blob and row.source in blobs}
    for row in changes:
        if not row.blob and row.path in blobs and _is_on_disk(top.folder / row.path):
            edited.setdefault(row.path, row.path)  # taken out of the index, and still there
    return Snapshot(top, prefix, head, _shallow(top), blobs, others, edited)


def find_prefix(git: Git) -> str:
    """What leads from the top of the repository to a folder: empty, or ending with a slash."""
    return os.fsdecode(git.ask("rev-parse", "--show-prefix").removesuffix(b"\n"))


def _renames(top: Git, head: str) -> str:
    """Renames that are not committed: whoever stages one gives an unchanged file another past."""
    rows = read_work_tree(top, head)
    return "".join(
        f"{row.source}\0{row.path}\0" for row in rows if row.source not in ("", row.path)
    )


def _is_on_disk(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _head(top: Git) -> str:
    try:
        return top.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode().strip()
    except GitError:
        return ""


def _read_tree(top: Git, commit: str) -> tuple[dict[str, str], frozenset[str]]:
    blobs, others = {}, set()
    for row in top.ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        facts, _, name = row.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        if mode.startswith("10"):
            blobs[os.fsdecode(name)] = blob
        else:
            others.add(os.fsdecode(name))
    return blobs, frozenset(others)


def _refuse_partial_clone(top: Git) -> None:
    """Old contents may be missing there, and git would fetch them one by one."""
    words = top.ask("config", "--list", "--name-only", "-z").lower().split(b"\0")
    if b"extensions.partialclone" in words or any(w.endswith(b".promisor") for w in words):
        raise GitError("a partial clone does not hold its whole history")


def _shallow(top: Git) -> str:
    """Where a shallow history ends; fetching more changes answers while HEAD stays the same."""
    name = os.fsdecode(top.ask("rev-parse", "--git-path", "shallow").removesuffix(b"\n"))
    try:
        with open_file(top.folder / name) as file:
            return file.read(_SHALLOW_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
