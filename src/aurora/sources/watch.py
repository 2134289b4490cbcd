"""Watches a project: which folders to watch, which changes matter, and bursts of changed files.

The watched folders are those that a walk reads, and those in which git records that HEAD moved.
Ignored, vendored and build folders are not watched.

`FileWatcher` uses the optional package watchfiles. It watches each folder separately, because a
recursive watch follows links and stops at the first unreadable folder. When folders appear or
disappear, the list of folders is made again.
"""

from __future__ import annotations

import fnmatch
import logging
import re
import stat
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aurora.errors import SourceError, WatchError
from aurora.files import open_no_follow
from aurora.package_manager import install_command
from aurora.platforms import follows_whole_trees
from aurora.quick_classes import dataclass
from aurora.sources.git import find_ignored, find_root, list_ignored_folders
from aurora.sources.ignore import AURORA_IGNORE, GIT_IGNORE, IgnoreFiles
from aurora.sources.reading import VENDORED
from aurora.sources.walk import folder_reason, walk_folders
from aurora.text import is_text

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger(__name__)

IGNORE_FILES = (GIT_IGNORE, AURORA_IGNORE)  # as in a walk: the later file wins
_NEVER = VENDORED | {".aurora", ".hg", ".svn", "__pycache__"}
_HEADS = frozenset({"HEAD", "packed-refs", "tables.list"})  # the last one: the reftable format
_POINTER_BYTES = 8192  # of a git file that names a folder
# Files that editors, file managers and Python write beside a file.
_NOISE = (
    "*~", ".*.sw?", "4913", "#*#", ".#*", "*.kate-swp", ".~lock.*#", "*___jb_???___", "*.crswap",
    ".goutputstream-*", "*.pyc", "*.pyo", ".DS_Store", "Thumbs.db",
)  # fmt: skip
_noise = re.compile("|".join(map(fnmatch.translate, _NOISE)))

_QUIET_MS = 400  # longer than the pause of an editor or git between two files
_MAX_BURST_MS = 5000  # also ends the burst of a file that is written all the time
_FLOOD = 2000  # with more changes at once, the system may have dropped some
_TRIES = 20  # while folders vanish between listing and watching
_MODIFIED = 2  # of watchfiles.Change


class Rules(NamedTuple):
    """What decides which files are ignored below `top`: git, or the ignore files alone."""

    top: Path
    by_git: bool


@dataclass(frozen=True, slots=True)
class WatchScope:
    """The folders and files that are watched."""

    folders: Mapping[Path, Rules]
    heads: frozenset[Path] = frozenset()  # git folders that change when HEAD moves
    files: frozenset[Path] = frozenset()  # single files, watched through their folder
    own: tuple[str, ...] = ()  # prefixes of paths that the memory writes

    @property
    def watched(self) -> frozenset[Path]:
        return frozenset(chain(self.folders, self.heads, (file.parent for file in self.files)))

    def is_news(self, path: Path) -> bool:
        """True when the name of a changed path may matter to the memory."""
        if str(path).startswith(self.own):
            return False
        if path in self.files or path in self.folders:
            return True
        if path.parent in self.heads:
            is_branch = "/refs/heads/" in path.as_posix() and path.suffix != ".lock"
            return is_branch or path.name in _HEADS
        is_noise = path.name in _NEVER or _noise.match(path.name) is not None
        return path.parent in self.folders and not is_noise


def drop_ignored(scope: WatchScope, paths: Iterable[Path]) -> set[Path]:
    """Drop the paths that git or an ignore file excludes."""
    kept: set[Path] = set()
    groups: defaultdict[Rules, set[Path]] = defaultdict(set)
    for path in paths:
        rules = scope.folders.get(path.parent)
        if rules is None or path in scope.files or path.name in {".git", *IGNORE_FILES}:
            kept.add(path)
        else:
            groups[rules].add(path)
    return kept.union(*(group - _ignored(rules, group) for rules, group in groups.items()))


def _ignored(rules: Rules, paths: Iterable[Path]) -> set[Path]:
    if not rules.by_git:
        ignore = IgnoreFiles(rules.top, IGNORE_FILES)
        return {path for path in paths if path.name[0] == "." or ignore.ignores_file(path)}
    own = IgnoreFiles(rules.top, [AURORA_IGNORE])
    names = {path.relative_to(rules.top).as_posix(): path for path in paths}
    try:
        ignored = find_ignored(rules.top, names)
    except SourceError:  # an extra index run is harmless, and reports the error
        ignored = set()
    return {path for name, path in names.items() if name in ignored or own.ignores_file(path)}


def survey(
    targets: Iterable[Path], *, logs: Path | None = None, own: Iterable[Path] = ()
) -> WatchScope:
    """List the folders to watch now. Missing targets are left out."""
    folders: dict[Path, Rules] = {}
    files: set[Path] = set()
    for target in targets:
        if target.is_dir():
            folders.update(_below(target, _rules_for(target)))
        elif target.parent.is_dir():
            files.add(target)
    rules = chain(folders.values(), (_rules_for(file.parent) for file in files))
    repositories = {each.top for each in rules if each.by_git}
    if logs is not None:
        folders.update(_below(logs, Rules(logs, by_git=False)))
    heads = frozenset(chain.from_iterable(map(_heads, repositories)))
    return WatchScope(folders, heads, frozenset(files), tuple(map(str, own)))


def _rules_for(folder: Path) -> Rules:
    try:
        root = find_root(folder)
    except SourceError:  # the next index run reports it
        root = None
    if root is None:
        return Rules(folder, by_git=False)
    return Rules(root if folder.is_relative_to(root) else folder, by_git=True)


def _below(top: Path, rules: Rules) -> Iterator[tuple[Path, Rules]]:
    """Yield the folders at and below `top` with their rules. Links are not followed."""
    waiting = [(top, rules)]
    while waiting:  # the top, then every repository inside it
        start, rules = waiting.pop()
        is_excluded = _exclusion(start, rules)
        for here, names, files in walk_folders(start):
            if here != start and (".git" in names or ".git" in files):
                names.clear()
                waiting.append((here, _rules_for(here)))
                continue
            names[:] = [
                name
                for name in names
                if name not in _NEVER and is_text(name) and not is_excluded(here / name)
            ]
            yield here, rules


def _exclusion(top: Path, rules: Rules) -> Callable[[Path], bool]:
    """A test for folders that are not watched."""
    if not rules.by_git:
        ignore = IgnoreFiles(top, IGNORE_FILES)
        return lambda folder: bool(folder_reason(folder, ignore))
    try:
        ignored = {top / name for name in list_ignored_folders(top)}
    except SourceError:
        ignored = set()
    own = IgnoreFiles(rules.top, [AURORA_IGNORE])
    return lambda folder: folder.name == ".git" or folder in ignored or own.ignores_folder(folder)


def _heads(repository: Path) -> Iterator[Path]:
    """Yield the git folders of a repository that change when HEAD moves."""
    place = repository / ".git"
    if place.is_file():  # in a linked work tree or submodule, it names the folder
        place = repository / _read(place).removeprefix("gitdir:").strip()
    folder = place.resolve()
    common = (folder / _read(folder / "commondir")).resolve()  # shared by all its work trees
    for inner in (folder, folder / "logs", common, common / "reftable"):
        if inner.is_dir():
            yield inner
    yield from (branches for branches, _, _ in walk_folders(common / "refs" / "heads"))


def _read(file: Path) -> str:
    try:
        with open_no_follow(file) as content:
            return content.read(_POINTER_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


class Stop(Protocol):
    """Tells when to stop; a `threading.Event`, for example."""

    def is_set(self) -> bool: ...


def require_watchfiles() -> type[RustNotify]:
    """Return the watcher class of watchfiles, or raise `WatchError`."""
    try:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise WatchError(
            "Watching needs the package watchfiles, which is not installed",
            hint=install_command("watch"),
        ) from exc
    return RustNotify


class FileWatcher:
    """Yields bursts of changed paths, starting when the watcher is created.

    Targets and logs may appear and disappear. `own` are paths that the memory itself writes. A
    burst ends after `quiet_ms` without a change.
    """

    def __init__(
        self,
        targets: Iterable[Path],
        *,
        logs: Path | None = None,
        own: Iterable[Path] = (),
        stop: Stop | None = None,
        quiet_ms: int = _QUIET_MS,
        recursive: bool | None = None,
    ) -> None:
        self._targets = tuple(target.resolve() for target in targets)
        self._logs = logs.resolve() if logs is not None else None
        self._roots = (*self._targets, self._logs) if self._logs is not None else self._targets
        self._own = tuple(path.resolve() for path in own)
        self._stop: Stop = stop or threading.Event()
        self._quiet_ms = quiet_ms
        self._recursive = follows_whole_trees() if recursive is None else recursive
        self._package = require_watchfiles()
        self._watch, self._scope = self._open()

    def __iter__(self) -> Iterator[frozenset[Path]]:
        """Yield bursts with relevant changes until `stop` is set."""
        try:
            while not self._stop.is_set():
                if burst := self._wait():
                    yield burst
        finally:
            self._watch.close()

    def _wait(self) -> frozenset[Path]:
        """Wait for the next burst; it is empty when no change is relevant."""
        try:
            # No timeout: watchfiles would drop the changes that arrive at its end.
            changes = self._watch.watch(_MAX_BURST_MS, self._quiet_ms, 0, _Event(self._must_end))
        except RuntimeError as exc:  # a file name that is not UTF-8, for example
            logger.info("watching starts again: %s", exc)
            return self._restart()
        if changes == "signal":
            raise KeyboardInterrupt  # watchfiles caught the exception of the signal handler
        if isinstance(changes, str):
            return frozenset() if self._stop.is_set() else self._restart()
        return self._filter(changes)

    def _must_end(self) -> bool:
        """True after `stop`, and when a target appeared, disappeared or was replaced."""
        return self._stop.is_set() or self._identities != [*map(_identity, self._roots)]

    def _filter(self, changes: set[tuple[int, str]]) -> frozenset[Path]:
        if len(changes) >= _FLOOD:
            return self._restart()
        scope = self._scope
        touched = {Path(path) for kind, path in changes if kind == _MODIFIED}
        moved = {Path(path) for kind, path in changes if kind != _MODIFIED}
        paths = moved | (touched - scope.watched)  # the date of a folder says nothing
        news = drop_ignored(scope, filter(scope.is_news, paths))
        # A watched file may have been replaced.
        if any(p.name in IGNORE_FILES or p in scope.files or p.is_dir() for p in news):
            self._restart()
        return frozenset(news)

    def _restart(self) -> frozenset[Path]:
        """Watch the current folders. Changes may have been missed, so all targets are returned."""
        self._watch.close()  # first: two watches together may exceed the limit of the system
        self._watch, self._scope = self._open()
        return frozenset(self._targets)

    def _open(self) -> tuple[RustNotify, WatchScope]:
        self._identities = [*map(_identity, self._roots)]
        list_scope = partial(survey, self._targets, logs=self._logs, own=self._own)
        scope = list_scope()
        for _ in range(_TRIES):
            try:
                watch = self._start(scope)
            except (FileNotFoundError, PermissionError):
                scope = list_scope()
                continue
            except (OSError, RuntimeError) as exc:
                raise _cannot_watch(scope, exc) from exc
            before, scope = scope, list_scope()
            if scope.watched <= before.watched:  # no folder appeared before its parent was watched
                return watch, scope
            watch.close()
        raise WatchError(
            f"The folders below {self._targets[0]} come and go too quickly to be watched",
            hint="name those that do in an .auroraignore, or watch fewer folders",
        )

    def _start(self, scope: WatchScope) -> RustNotify:
        trees = scope.heads.union(path for path in self._roots if path.exists())
        paths = map(str, trees if self._recursive else scope.watched)
        return self._package(list(paths), False, False, 0, self._recursive, False)


@dataclass(frozen=True, slots=True)
class _Event:
    """A function with the interface of `threading.Event`, as watchfiles needs it."""

    is_set: Callable[[], bool]


def _identity(path: Path) -> tuple[int, int] | None:
    """The device and inode of a folder. A file only counts as present: saving replaces it."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else (0, 0)


def _cannot_watch(scope: WatchScope, exc: Exception) -> WatchError:
    text, count = str(exc), len(scope.watched)
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
