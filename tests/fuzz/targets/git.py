"""What git answers, and the book of what it answered before.

An input is the file of a book: as it is, and with a first line that fits it. Its bytes are also
numbers, of which edits, renames and commits are made and written as git writes them; these read
back.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

from aurora.sources.blame.cache import BlameCache, load_cache, save_cache
from aurora.sources.blame.commits import Change, Commit, parse_changes, parse_commit
from aurora.sources.blame.replay import (
    _HEADER,
    UNCOMMITTED,
    LineHistory,
    LineOwners,
    _parse_hunk,
)
from aurora.sources.git import _failure
from aurora.types import Lines, moment
from tests.fuzz.inputs import require_told, scratch, scratch_file

_TREES = (b"1" * 40, b"2" * 40)
_BLOB = b"3" * 40


def check(data: bytes) -> None:
    _check_book(data)
    _check_book(b"aurora-history 1 %08x\n" % zlib.crc32(data) + data)
    _check_lines(data)
    _check_changes(data)
    _check_commit(data)
    _check_failure(data)


def _check_book(content: bytes) -> None:
    """One that is no use is as good as none."""
    book = load_cache(scratch_file("fuzzed.book", content))
    for path in book.files:
        book.lines(path)
        book.history(path).touching(Lines(1, 9))
    save_cache(scratch("saved.book"), book)
    again = load_cache(scratch("saved.book"))
    assert again.files.keys() == book.files.keys()


def _check_lines(data: bytes) -> None:
    """Edits carried out on runs of owners are those carried out on a list of lines."""
    lines, hunks = [1] * 300, list(_hunks(data))
    owners = LineOwners([], 1).edited([number for hunk in hunks for number in hunk], 2)
    for place, removed, added in reversed(hunks):
        lines[place : place + removed] = [2] * added
    assert (owners.owners + [owners.tail] * 300)[: len(lines)] == lines
    assert LineOwners.from_runs(owners.runs()).runs() == owners.runs()
    book = BlameCache("head")
    book.put("a", "blob", owners)
    assert book.lines("a").runs() == owners.runs()
    history = LineHistory(owners.runs(), [0, 10, 20])
    for line, owner in enumerate(lines[:20], start=1):
        told = history.touching(Lines(line, line))
        assert told.commits == ((owner * 10,) if owner != UNCOMMITTED else ())


def _hunks(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Edits from the top, each read from the line that git writes of it."""
    place = 0
    for skipped, removed, added in zip(data[0:60:3], data[1:60:3], data[2:60:3], strict=False):
        place += skipped % 8 + 1
        removed, added = removed % 4, added % 4  # noqa: PLW2901 - small ones are as good
        if removed or added:
            # Git counts from 1, and names the line before where nothing is removed.
            head = b"\n@@ -%d,%d +1,%d @@ f\n" % (place + (removed > 0), removed, added)
            ((_, *numbers),) = _HEADER.findall(head)
            assert _parse_hunk(*numbers) == (place, removed, added)
            yield place, removed, added
        place += removed


def _check_changes(data: bytes) -> None:
    """Any name that a file can have, also one with a line's end in it."""
    names = [name for name in data.split(b"/") if name and b"\0" not in name][:20]
    rows, expected = [b"%s %s\n" % _TREES], []
    for at, name in enumerate(names):
        path = os.fsdecode(name)
        if at % 3 == 2:
            rows.append(b":100644 100644 %s %s R090\0%s\0new\0" % (_BLOB, _BLOB, name))
            expected += [Change(path, b"", path), Change("new", _BLOB, path)]
        elif at % 3:
            rows.append(b":100644 000000 %s %s D\0%s\0" % (_BLOB, b"0" * 40, name))
            expected.append(Change(path, b"", path))
        else:
            rows.append(b":000000 100755 %s %s A\0%s\0" % (b"0" * 40, _BLOB, name))
            expected.append(Change(path, _BLOB, ""))
    found: dict[tuple[bytes, bytes], list[Change]] = {}
    parse_changes(b"".join(rows), found)
    assert found == {_TREES: expected}


def _check_commit(data: bytes) -> None:
    time = int.from_bytes(data[:8], "big", signed=True)
    parents = (b"4" * 40,) * (len(data) % 3)
    facts = b"%d %s %s" % (time, _TREES[0], b" ".join(parents))
    assert parse_commit(b"commit 5", facts) == Commit(b"5", time, _TREES[0], parents)
    assert moment(time - 1) <= moment(time) <= moment(time + 1)  # also of a clock that is far off


def _check_failure(data: bytes) -> None:
    require_told(_failure(128, os.fsdecode(data)))
