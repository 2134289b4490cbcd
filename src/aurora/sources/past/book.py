"""What is already known of committed lines, kept in one derived file.

    line 1   magic, format, checksum of the rest
    rest     JSON: the commit it holds for, where a shallow history ends, the commits that own
             lines with their times, and for each path its blob and runs ("first owner first …")

A file that is damaged, foreign or of another format is as good as none: everything is made anew.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from aurora.private import make_folder, opener
from aurora.sources.past.lines import Annotation, LineHistory

_MAGIC = b"aurora-history 1 "


class Entry(NamedTuple):
    """The lines of one committed content of one path."""

    blob: str
    runs: str


class Book:
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


def load_book(path: Path | None) -> Book:
    """The book in a file, or an empty one."""
    if path is None:
        return Book()
    try:
        first, _, rest = path.read_bytes().partition(b"\n")
        if first != _MAGIC + b"%08x" % zlib.crc32(rest):
            return Book()
        found = json.loads(rest)
    except (OSError, ValueError):
        return Book()
    book = Book(found["head"], found["shallow"])
    book.ids, book.times = found["ids"], found["times"]
    book.files = {name: Entry(*entry) for name, entry in found["files"].items()}
    return book


def save_book(path: Path, book: Book) -> None:
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
    make_folder(path.parent)
    for leftover in path.parent.glob(f"{path.name}.*.tmp"):  # of one who was killed while writing
        leftover.unlink(missing_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb", opener=opener) as out:
            out.write(_MAGIC + b"%08x\n" % zlib.crc32(content) + content)
        scratch.replace(path)
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def _renumbered(book: Book) -> tuple[Sequence[int], dict[str, tuple[str, str]]]:
    owners = {"0"}.union(*(entry.runs.split()[1::2] for entry in book.files.values()))
    used = sorted(map(int, owners))
    names = {str(old): str(new) for new, old in enumerate(used)}
    files = {}
    for path, (blob, runs) in book.files.items():
        words = runs.split()
        words[1::2] = [names[owner] for owner in words[1::2]]
        files[path] = (blob, " ".join(words))
    return used, files
