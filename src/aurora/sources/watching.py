"""Bursts of changed files, as the operating system tells them.

Built on the package watchfiles, which is an extra. Every folder is watched by itself, because a
watch of a whole tree would follow links out of it, and end at the first folder that may not be
read; where folders come or go, all of them are looked at again.
"""

from __future__ import annotations

import logging
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aurora.errors import WatchError
from aurora.sources.ground import IGNORE_FILES, Ground, drop_ignored, survey

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger(__name__)

_QUIET_MS = 400  # longer than an editor or git pauses between two files
_LONGEST_MS = 5000  # the end of every burst: what is written to all the time is followed, too
_FLOOD = 2000  # changes at once among which the system may have dropped some without a word
_TRIES = 20  # while folders vanish between being listed and being watched
_MODIFIED = 2  # of watchfiles.Change
_WHOLE_TREES = not sys.platform.startswith("linux")  # others have no limit and follow no links


class Stop(Protocol):
    """When to end: a `threading.Event`, for one."""

    def is_set(self) -> bool: ...


def require_watchfiles() -> type[RustNotify]:
    """The watcher of the package, or an error that says how to install it."""
    try:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise WatchError(
            "Watching needs the package watchfiles, which is not installed",
            hint="pip install 'aurora-memory[watch]'",
        ) from exc
    return RustNotify


class FileWatcher:
    """Watches from the moment it is made; each burst holds what changed since the one before.

    Targets and logs may come and go. `own` are files and folders that the memory itself writes. A
    burst is over when nothing else changed for `quiet_ms`.
    """

    def __init__(
        self,
        targets: Iterable[Path],
        *,
        logs: Path | None = None,
        own: Iterable[Path] = (),
        stop: Stop | None = None,
        quiet_ms: int = _QUIET_MS,
        whole_trees: bool = _WHOLE_TREES,
    ) -> None:
        self._targets = tuple(target.resolve() for target in targets)
        self._logs = logs.resolve() if logs is not None else None
        self._roots = (*self._targets, self._logs) if self._logs is not None else self._targets
        self._own = tuple(path.resolve() for path in own)
        self._stop: Stop = stop or threading.Event()
        self._quiet_ms, self._whole_trees = quiet_ms, whole_trees
        self._package = require_watchfiles()
        self._watch, self._ground = self._open()

    def __iter__(self) -> Iterator[frozenset[Path]]:
        """Bursts that are news, until `stop` is set."""
        try:
            while not self._stop.is_set():
                if burst := self._wait():
                    yield burst
        finally:
            self._watch.close()

    def _wait(self) -> frozenset[Path]:
        """What changed next; nothing when it is no news."""
        try:
            # Without a limit of time: at its end the package drops what came just then.
            found = self._watch.watch(_LONGEST_MS, self._quiet_ms, 0, _Ask(self._has_to_end))
        except RuntimeError as exc:  # such as a file name that is not UTF-8: it is of no use then
            logger.info("watching starts anew: %s", exc)
            return self._start_anew()
        if found == "signal":
            raise KeyboardInterrupt  # the package has caught what the signal's handler raised
        if isinstance(found, str):
            return frozenset() if self._stop.is_set() else self._start_anew()
        return self._sift(found)

    def _has_to_end(self) -> bool:
        """True when asked to, or when a target came, went or became another."""
        return self._stop.is_set() or self._found != _identities(self._roots)

    def _sift(self, changes: set[tuple[int, str]]) -> frozenset[Path]:
        if len(changes) >= _FLOOD:
            return self._start_anew()
        ground = self._ground
        touched = {Path(path) for kind, path in changes if kind == _MODIFIED}
        moved = {Path(path) for kind, path in changes if kind != _MODIFIED}
        paths = moved | (touched - ground.watched)  # a folder's own date says nothing
        news = drop_ignored(ground, filter(ground.is_news, paths))
        if any(_changes_ground(path, ground) for path in news):
            self._start_anew()
        return frozenset(news)

    def _start_anew(self) -> frozenset[Path]:
        """Watch what is there now. Changes may have been missed: all targets are news."""
        self._watch.close()  # first: both together may be more than the system allows
        self._watch, self._ground = self._open()
        return frozenset(self._targets)

    def _open(self) -> tuple[RustNotify, Ground]:
        self._found = _identities(self._roots)
        ground = self._survey()
        for _ in range(_TRIES):
            try:
                watch = self._start(ground)
            except (FileNotFoundError, PermissionError):
                ground = self._survey()
                continue
            except (OSError, RuntimeError) as exc:
                raise _cannot_watch(ground, exc) from exc
            known, ground = ground, self._survey()
            if ground.watched <= known.watched:  # none came before its parent was watched
                return watch, ground
            watch.close()
        raise WatchError(
            f"The folders below {self._targets[0]} come and go too quickly to be watched",
            hint="name those that do in an .auroraignore, or watch fewer folders",
        )

    def _survey(self) -> Ground:
        return survey(self._targets, logs=self._logs, own=self._own)

    def _start(self, ground: Ground) -> RustNotify:
        trees = ground.heads.union(path for path in self._roots if path.exists())
        paths = map(str, trees if self._whole_trees else ground.watched)
        return self._package(list(paths), False, False, 0, self._whole_trees, False)


@dataclass(frozen=True, slots=True)
class _Ask:
    """A question in the shape of an event; the package asks it at every step."""

    is_set: Callable[[], bool]


def _identities(paths: Sequence[Path]) -> list[tuple[int, int] | None]:
    """Which folder each is now. Of a file, only that it is there: saving often replaces it."""
    found: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            found.append(None)
        else:
            is_folder = stat.S_ISDIR(status.st_mode)
            found.append((status.st_dev, status.st_ino) if is_folder else (0, 0))
    return found


def _changes_ground(path: Path, ground: Ground) -> bool:
    """True for what says which folders count, for a new folder, and for a single file: another
    may have taken its place."""
    return path.name in IGNORE_FILES or path in ground.files or path.is_dir()


def _cannot_watch(ground: Ground, exc: Exception) -> WatchError:
    text, count = str(exc), len(ground.watched)
    if "MaxFilesWatch" in text:
        return WatchError(
            f"The system does not let us watch {count} folders: its limit is reached",
            hint="raise it with `sudo sysctl fs.inotify.max_user_watches=524288`, "
            "or watch fewer folders",
        )
    return WatchError(
        f"The files cannot be watched: {text}",
        hint="close other programs that watch files, or raise fs.inotify.max_user_instances",
    )
