"""What indexed files and folders looked like at the last look, to notice changes without git.

A look is the size, times and identity of every file, and of every folder in which a new file could
appear. Comparing it costs one `lstat` each and starts no process. The file of looks is derived: it
names files and nothing else, a missing or damaged one only costs a walk, and no file is read
because of what it says.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from aurora.files import digest_of, make_folder, read_file, replacing

if TYPE_CHECKING:
    from aurora.sources.reading import Skipped
    from aurora.sources.walk import SourceFile

# Stamps by path; those below the folder are relative to it, the folder itself is "".
Look: TypeAlias = Mapping[str, str]

FILE = "looks.json"  # in the folder of derived indexes
UNREAD = "?"  # the stamp of a file that is still to be read: it equals no other
FORGOTTEN = ""  # in place of a place: forgotten files, which no refresh reads as they are
_GONE = "gone"
_LARGEST = 256 << 20  # bytes of the file: about two million names
_TICK = 20_000_000  # nanoseconds: two changes of a folder within it may have the same time
_NEVER_READ = {"ignored", "vendored", "hidden"}  # whatever becomes of the file itself
_MOST_EMPTY = 1000  # folders without files that are looked at
_UNWATCHED = {".git", ".aurora", "__pycache__", "node_modules"}
_QUICK, _TIMES, _LONGEST_REST = 0.1, 20, 2.0  # a look of 0.1 s is followed by a rest of 2 s


def stamp_of(path: str) -> str:
    """The size, modification time, change time and inode of a path; links are not followed."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return _GONE
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}-{status.st_ino}"


def stamp_of_file(file: SourceFile) -> str:
    """The same of a file that a walk has described."""
    return f"{file.size} {file.modified_ns} {file.identity}"


def is_same(place: Path, look: Look) -> bool:
    """Whether every file and folder is as it was."""
    top = str(place)
    return all(stamp_of(f"{top}/{name}" if name else top) == was for name, was in look.items())


def hidden_name(path: Path) -> str:
    """Stands in a look for the path of a forgotten file, which is stored nowhere."""
    return digest_of(os.fsencode(path))


def hide(place: Path, look: Look, forgotten: Mapping[str, str]) -> dict[str, str]:
    """The look without the names of forgotten files that are as they were."""
    if not forgotten:
        return dict(look)
    return {
        name: stamp
        for name, stamp in look.items()
        if forgotten.get(hidden_name(Path(place, name))) != stamp
    }


def take_look(place: Path, files: Iterable[SourceFile | Skipped], *, begun_ns: int) -> Look:
    """A look at what a walk of a file or folder has found.

    `begun_ns` is the time before the walk. A folder that changed since may have a file that the
    walk has not seen: it gets no stamp, so that the next look walks again.
    """
    top = str(place)
    start = len(top.rstrip("/")) + 1
    stamps: dict[str, str] = {}
    folders = {""}
    for file in files:
        if getattr(file, "reason", "") in _NEVER_READ:
            continue
        path = str(file.path)
        name = path[start:]
        is_described = hasattr(file, "identity")
        stamps[name] = stamp_of_file(file) if is_described else stamp_of(path)  # type: ignore[arg-type]
        folder = name.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    if not place.is_dir():
        return stamps
    for name in (*sorted(folders), *_empty_folders(top, folders)):
        stamp = stamp_of(f"{top}/{name}" if name else top)
        is_old = stamp != _GONE and int(stamp.split(" ")[1]) < begun_ns - _TICK
        stamps[name] = stamp if is_old else UNREAD
    if index := _git_index(place):
        stamps[os.path.relpath(index, top)] = stamp_of(str(index))
    return stamps


def _empty_folders(top: str, known: Iterable[str]) -> Iterator[str]:
    """Folders without a known file. Below one that holds files, all of them are ignored."""
    waiting, count = list(known), 0
    known = frozenset(waiting)
    while waiting and count < _MOST_EMPTY:
        folder = waiting.pop()
        inner, has_files = [], False
        with suppress(OSError), os.scandir(f"{top}/{folder}") as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    has_files = True
                elif entry.name not in _UNWATCHED:
                    inner.append(f"{folder}/{entry.name}" if folder else entry.name)
        if folder not in known:
            count += 1
            yield folder
            if has_files:
                continue
        waiting += (name for name in inner if name not in known)


def _git_index(place: Path) -> Path | None:
    """The list of tracked files of the repository around a folder."""
    for folder in (place, *place.parents):
        with suppress(OSError):
            if stat.S_ISDIR((folder / ".git").lstat().st_mode):
                return folder / ".git" / "index"
    return None


class Looks:
    """The last looks at the indexed places of one memory, in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def read(self, memory: str) -> dict[str, Look]:
        """The looks by place; none if they are of another memory, damaged or missing."""
        try:
            content = json.loads(read_file(self._file, most=_LARGEST))
            if content["memory"] != memory:
                return {}
            looks = content["places"]
            return {place: look for place, look in looks.items() if isinstance(look, dict)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}

    def write(self, memory: str, looks: Mapping[str, Look]) -> None:
        """Keep the looks. A disk that cannot be written costs a walk next time."""
        if looks == self.read(memory):
            return
        with suppress(OSError):
            make_folder(self._file.parent)
            with replacing(self._file) as out:
                out.write(json.dumps({"memory": memory, "places": looks}).encode())

    def forget(self, memory: str, paths: Iterable[Path]) -> None:
        """Remove the names of forgotten files, and keep their stamps under hidden names."""
        gone = list(paths)
        if not gone:
            return
        names, looks = set(map(str, gone)), self.read(memory)
        looks = {
            place: {name: stamp for name, stamp in look.items() if f"{place}/{name}" not in names}
            for place, look in looks.items()
        }
        hidden = {hidden_name(path): stamp_of(str(path)) for path in gone}
        self.write(memory, looks | {FORGOTTEN: {**looks.get(FORGOTTEN, {}), **hidden}})

    def rest_after(self, seconds: float) -> None:
        """After a look that took long, do not look again for a while.

        The modification time of the file is the end of the rest, also for other processes.
        """
        if seconds > _QUICK:
            until = time.time() + min(_TIMES * seconds, _LONGEST_REST)
            with suppress(OSError):
                os.utime(self._file, (until, until))

    @property
    def are_resting(self) -> bool:
        try:
            left = self._file.stat().st_mtime - time.time()
        except OSError:
            return False
        return 0 < left <= _LONGEST_REST
