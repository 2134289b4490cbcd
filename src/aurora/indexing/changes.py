"""Finds the files that changed since the last look, and reads them until the time is over.

`remember_run` notes after an index run which places it read and what they looked like. A refresh
looks at no other place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from aurora.indexing.reader import FileReader, Names, Scan, is_unchanged, scan
from aurora.quick_classes import dataclass, replace
from aurora.redaction import Redactor
from aurora.sources.looks import (
    FORGOTTEN,
    UNREAD,
    Look,
    Looks,
    hidden_name,
    hide,
    stamp_of_file,
    take_look,
)
from aurora.sources.reading import Skipped
from aurora.sources.walk import SourceFile
from aurora.stores.base import FileState, Store
from aurora.types import ignore_events


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that changed, the newest first, and the states of files that are gone."""

    scanned: Scan
    begun_ns: int  # the time before the walk
    files: Sequence[SourceFile]
    gone: Sequence[FileState]

    @property
    def paths(self) -> list[Path]:
        return [file.path for file in self.files]


@dataclass(frozen=True, slots=True)
class ReadChanges:
    """The number of files that were read, that were removed, and that are still to be read."""

    read: int
    removed: int
    unread: int
    warnings: tuple[str, ...] = ()


def remember_run(
    store: Store, names: Names, scanned: Scan, *, looks: Looks, begun_ns: int, git: bool
) -> None:
    """Add the places of an index run to those that are kept fresh. They replace places below."""
    known = dict(store.chunks.indexed_places())
    seen = dict(looks.read(store.identity))
    seen.pop(FORGOTTEN, None)  # an index run has read them again
    for place in scanned.places:
        name = place_name(names, place)
        inside = [each for each in known if _is_below(place_path(names, each), place)]
        around = [each for each in known if _is_below(place, place_path(names, each))]
        for each in inside:
            del known[each]
            seen.pop(str(place_path(names, each)), None)
        if not around or name in around:
            known[name] = git
            seen[str(place)] = take_look(place, _below(scanned, place), begun_ns=begun_ns)
    if known != store.chunks.indexed_places():
        store.chunks.put_indexed_places(known)
    looks.write(store.identity, seen)


def place_name(names: Names, place: Path) -> str:
    return "." if place == names.path(".") else names.of(place)


def place_path(names: Names, name: str) -> Path:
    return names.path(name)


def _is_below(path: Path, folder: Path) -> bool:
    return path == folder or path.is_relative_to(folder)


def _below(scanned: Scan, place: Path) -> Iterable[SourceFile | Skipped]:
    top = str(place)
    return (
        file
        for path, file in scanned.files.items()
        if str(path).startswith(f"{top}/") or path == place
    )


def find_changes(
    store: Store, names: Names, places: Sequence[Path], looks: Mapping[str, Look], *, logs: Path
) -> Changes:
    """What changed below places since the last look, or since the index run without a look.

    A file that the user has forgotten is not found again while it is as it was.
    """
    begun_ns = time.time_ns()
    scanned = scan(*(place for place in places if place != logs), logs=_logs_in(places, logs))
    states = store.chunks.file_states()
    sources = {
        names.of(file.path): file for file in scanned.files.values() if isinstance(file, SourceFile)
    }
    before = {
        f"{place}/{name}".rstrip("/"): stamp
        for place in map(str, places)
        for name, stamp in looks.get(place, {}).items()
    }
    forgotten = looks.get(FORGOTTEN, {})
    changed = [
        file
        for name, file in sources.items()
        if before.get(str(file.path)) != stamp_of_file(file)
        and forgotten.get(hidden_name(file.path)) != stamp_of_file(file)
        and ((state := states.get(name)) is None or not is_unchanged(file, state, ""))
    ]
    missing = [states[name] for name in states.keys() - sources.keys()]
    shut = [file.path for file in scanned.files.values() if _is_shut(file)]
    gone = [
        state
        for state in missing
        if _is_under(path := names.path(state.path), scanned.places) and not _is_under(path, shut)
    ]
    changed.sort(key=lambda file: file.modified_ns, reverse=True)
    return Changes(scanned, begun_ns, changed, gone)


def _logs_in(places: Sequence[Path], logs: Path) -> Path | None:
    return logs if logs in places else None


def _is_shut(file: SourceFile | Skipped) -> bool:
    return isinstance(file, Skipped) and file.is_unreadable


def _is_under(path: Path, places: Sequence[Path]) -> bool:
    return any(map(path.is_relative_to, places))


def read_changes(
    store: Store,
    names: Names,
    changes: Changes,
    *,
    looks: Looks,
    redactor: Redactor,
    is_over: Callable[[], bool],
) -> ReadChanges:
    """Read changed files until `is_over`, and remove the rows of files that are gone.

    While files are left to read, one of them may be a gone file under a new name: rows of gone
    files then stay until the next run.
    """
    shut = {path: file for path, file in changes.scanned.files.items() if _is_shut(file)}
    files = {file.path: file for file in changes.files}
    wanted = store.chunks.file_states([*map(names.of, files), *(s.path for s in changes.gone)])
    reader = FileReader(store, names, wanted, redactor)
    reader.read(replace(changes.scanned, files={**files, **shut}), ignore_events, is_over=is_over)
    unread = {file.path for file in reader.unread}
    seen = dict(looks.read(store.identity))
    for place in changes.scanned.places:
        found = _below(changes.scanned, place)
        look = take_look(place, found, begun_ns=changes.begun_ns)
        look = hide(place, look, seen.get(FORGOTTEN, {}))
        start = len(str(place)) + 1
        look |= {str(path)[start:]: UNREAD for path in unread if _is_below(path, place)}
        seen[str(place)] = look
    looks.write(store.identity, seen)
    return ReadChanges(reader.parsed, reader.removed, len(unread), tuple(reader.warnings))
