"""Indexes in segments: files that never change, and a manifest that names those in use.

    NAME.idx                 the manifest: facts, the names of the segments, and their removed items
    NAME.idx.TOKEN.seg       a segment; a token is random and never used again
    NAME.idx.TOKEN.PID.tmp   a draft: a segment that no manifest names yet

A change writes a segment of what is new, lists the removed items of the others, and replaces the
manifest, so that a kill at any moment leaves the old index or the new one. A segment that the
manifest does not name is deleted. The last segment is inside the manifest while it is small, so
that a small index is one file. All files are index files with checksums.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from aurora.errors import IndexFileError
from aurora.files import make_folder, open_file
from aurora.platforms import lock
from aurora.quick_classes import NamedTuple
from aurora.signals.index_file import (
    Array,
    Arrays,
    IndexFile,
    write_arrays,
    write_index_file,
)
from aurora.types import Json

LOCK = "segments.lock"  # held while a manifest is replaced
_INSIDE = ""  # in place of a token: the segment is inside the manifest
_MOST_INSIDE = 1 << 22  # bytes of such a segment
_TRIES = 20  # other processes may replace the manifest while its segments are opened
_MOST_REMOVED = 4  # a segment that has lost one item of so many is written again
_NONE = array("i")
# Segments in use, by file, inode and time: a newer manifest mostly names the same ones.
_OPEN: WeakValueDictionary[tuple[Path, int, int], IndexFile] = WeakValueDictionary()


class Segment(NamedTuple):
    """The arrays of some items, and the ascending places of those that were removed."""

    arrays: Arrays
    removed: Array = _NONE


class SegmentedFile:
    """A manifest and its segments, opened for reading."""

    def __init__(self, manifest: IndexFile, segments: Sequence[Segment]) -> None:
        self.path, self.facts, self.segments = manifest.path, manifest.facts, segments
        self._kind = manifest.kind

    def check(self) -> None:
        """Compare every checksum."""
        IndexFile(self.path, kind=self._kind).check()
        for file, _ in self.segments:
            if isinstance(file, IndexFile):
                file.check()


def open_segments(path: Path, *, kind: str) -> SegmentedFile:
    """Open an index. Raises `OSError` without a manifest, `IndexFileError` for a damaged index."""
    for _ in range(_TRIES):
        manifest = IndexFile(path, kind=kind)
        names = _names(manifest)
        try:
            files = [_open_segment(path, name, kind) if name else manifest for name in names]
        except FileNotFoundError as exc:
            if names == _names(IndexFile(path, kind=kind)):
                raise IndexFileError(f"{path} names a segment that is missing: {exc}") from exc
            continue  # a writer has replaced the manifest meanwhile
        removed = _read_removed(manifest, files)
        return SegmentedFile(manifest, [*map(Segment, files, removed)])
    raise IndexFileError(f"{path} is replaced again and again")


def _names(manifest: IndexFile) -> list[str]:
    names = manifest.facts.get("segments", [])
    if not isinstance(names, list) or not all(
        isinstance(name, str) and (name == _INSIDE or name.isdecimal()) for name in names
    ):
        raise IndexFileError(f"{manifest.path} has invalid names of segments")
    return [str(name) for name in names]


def _segment_path(path: Path, token: str) -> Path:
    return path.with_name(f"{path.name}.{token}.seg")


def _open_segment(path: Path, token: str, kind: str) -> IndexFile:
    name = _segment_path(path, token)
    status = name.stat()
    key = (name, status.st_ino, status.st_mtime_ns)
    file = _OPEN.get(key) or IndexFile(name, kind=f"{kind} segment")
    if file.facts.get("token") != token:
        raise IndexFileError(f"{file.path} is another segment")
    _OPEN[key] = file
    return file


def _read_removed(manifest: IndexFile, files: Sequence[IndexFile]) -> list[Array]:
    """The removed places of each segment. Their readers know how many items a segment has."""
    if "segments" not in manifest.facts:  # made by another version
        return []
    try:
        places = array("i", manifest.read("removed", 0, manifest.size("removed")).tolist())
        ends = manifest.read("removed_ends", 0, len(files)).tolist()
        starts = [0, *ends][: len(files)]
        return [places[start:stop] for start, stop in zip(starts, ends, strict=True)]
    except (TypeError, ValueError, OverflowError) as exc:
        raise IndexFileError(f"{manifest.path} has invalid removed places: {exc}") from exc


def write_draft(path: Path, *, kind: str, arrays: Mapping[str, Array]) -> IndexFile:
    """Write a segment of the index at `path`, and open it. The index does not name it yet."""
    make_folder(path.parent)
    token = str(int.from_bytes(os.urandom(8)) >> 1)
    draft = path.with_name(f"{path.name}.{token}.{os.getpid()}.tmp")
    try:
        with open_file(draft, "xb") as file:
            write_arrays(file, kind=f"{kind} segment", facts={"token": token}, arrays=arrays)
        return IndexFile(draft, kind=f"{kind} segment")
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def discard(segments: Iterable[Segment]) -> None:
    """Delete the drafts among segments. What is open can still be read."""
    for arrays, _ in segments:
        if isinstance(arrays, IndexFile) and _is_draft(arrays):
            with suppress(OSError):  # open on Windows: deleted after this process has ended
                arrays.path.unlink()


def save_segments(
    path: Path,
    *,
    kind: str,
    facts: Mapping[str, Json],
    segments: Sequence[Segment],
    names: Sequence[str],
) -> SegmentedFile:
    """Make these the segments of the index at `path`, and open it.

    Those that its manifest does not name are written first, with the arrays of these `names`. Of
    two processes, the last one wins.
    """
    make_folder(path.parent)
    files = list(segments)
    try:
        while True:
            with _locked(path, files) as is_locked:
                current = _current_names(path, kind)
                lacking = [n for n, (file, _) in enumerate(files) if not _is_written(file, current)]
                inside = _read_small(files[-1].arrays, names) if len(files) - 1 in lacking else None
                if len(lacking) == bool(inside):
                    _replace_manifest(path, kind, facts, files, inside, sweep=is_locked)
                    return open_segments(path, kind=kind)
            for n in lacking[: -1 if inside else None]:  # perhaps another process has merged it
                arrays, removed = files[n]
                draft = write_draft(path, kind=kind, arrays=_read_all(arrays, names))
                files[n] = Segment(draft, removed)
    finally:
        discard(files)


@contextmanager
def _locked(path: Path, files: Sequence[Segment]) -> Iterator[bool]:
    """Lets one process at a time name and delete segments; False where there are none."""
    if not any(path.parent.glob(f"{path.name}.*.seg")) and not _has_drafts(files):
        yield False
        return
    with open_file(path.with_name(LOCK), "ab") as file:
        with suppress(OSError):  # a disk without locks
            lock(file, wait=True)
        yield True


def _current_names(path: Path, kind: str) -> list[str]:
    try:
        return _names(IndexFile(path, kind=kind))
    except (OSError, IndexFileError):
        return []


def _is_written(file: Arrays, current: Collection[str]) -> bool:
    """Whether it is a draft or a segment that the manifest names."""
    return isinstance(file, IndexFile) and (_is_draft(file) or _token(file) in current)


def _has_drafts(segments: Iterable[Segment]) -> bool:
    return any(isinstance(file, IndexFile) and _is_draft(file) for file, _ in segments)


def _is_draft(file: IndexFile) -> bool:
    return file.path.suffix == ".tmp"


def _token(file: IndexFile) -> str:
    return str(file.facts.get("token"))


def _read_all(arrays: Arrays, names: Iterable[str]) -> dict[str, Array]:
    return {name: arrays.read(name, 0, arrays.size(name)) for name in names}


def _read_small(arrays: Arrays, names: Iterable[str]) -> dict[str, Array] | None:
    """The arrays of a segment that may be inside the manifest."""
    whole = _read_all(arrays, names)
    views = [memoryview(array) for array in whole.values()]  # type: ignore[arg-type]
    return whole if sum(view.nbytes for view in views) <= _MOST_INSIDE else None


def _replace_manifest(
    path: Path,
    kind: str,
    facts: Mapping[str, Json],
    files: Sequence[Segment],
    inside: Mapping[str, Array] | None,
    *,
    sweep: bool,
) -> None:
    """Name these segments, with the arrays of the last one perhaps `inside`; delete all others."""
    tokens, places, ends = list[str](), array("i"), array("q")
    try:
        for file, removed in files:
            places.extend(removed.tolist())
            ends.append(len(places))
            if isinstance(file, IndexFile) and _is_draft(file):
                _rename(file.path, _segment_path(path, _token(file)))
            tokens.append(_token(file) if isinstance(file, IndexFile) else _INSIDE)
        if inside is not None:
            tokens[-1] = _INSIDE
        write_index_file(
            path,
            kind=kind,
            facts={**facts, "segments": [*tokens]},
            arrays={**(inside or {}), "removed": places, "removed_ends": ends},
        )
    finally:
        if sweep:
            used = {_segment_path(path, token) for token in _current_names(path, kind)}
            for other in set(path.parent.glob(f"{path.name}.*.seg")) - used:
                with suppress(OSError):  # open in a process on Windows: the next change deletes it
                    other.unlink()


def _rename(draft: Path, name: Path) -> None:
    try:
        draft.replace(name)
    except PermissionError:  # it is open, on Windows
        from shutil import copyfile  # noqa: PLC0415 - a start should not wait for it

        copyfile(draft, name)


def pick_merges(
    sizes: Sequence[tuple[int, int]], *, most: int, growth: int = 4, small: int = 0
) -> slice | None:
    """The neighbours that become one segment; None where nothing pays.

    `sizes` are the items and the removed items of each segment, the newest last. A segment is
    merged with all newer ones when it is at most `growth` times as large as they, or `small`. No
    merged segment has more than `most` items, so that a change never writes more.
    """
    left = [items - removed for items, removed in sizes]
    start, total = len(left), 0
    while start and left[start - 1] <= min(
        most - total, max(growth * total, small) if total else most
    ):
        start -= 1
        total += left[start]
    if len(left) - start > 1:
        return slice(start, len(left))
    worn = (n for n, (items, removed) in enumerate(sizes) if removed * _MOST_REMOVED > items)
    return next((slice(n, n + 1) for n in worn), None)
