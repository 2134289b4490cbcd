"""Which folders are worth watching, and which changes in them are news.

The folders are those that a walk would read from, and those in which git notes that HEAD moved.
Folders that are ignored, vendored or built are not among them: what happens there costs nothing.

Bursts of changed files, as the operating system tells them.

Built on the package watchfiles, which is an extra. Every folder is watched by itself, because a
watch of a whole tree would follow links out of it, and end at the first folder that may not be
read; where folders come or go, all of them are looked at again.
"""

from __future__ import annotations

import fnmatch
import logging
import re
import stat
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aurora.errors import SourceError, WatchError
from aurora.sources.git import find_ignored, find_root, list_ignored_folders
from aurora.sources.ignore import AURORA_IGNORE, GIT_IGNORE, IgnoreFiles
from aurora.sources.reading import VENDORED, open_file, walk_folders
from aurora.sources.walk import folder_reason, is_utf8

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger(__name__)


IGNORE_FILES = (GIT_IGNORE, AURORA_IGNORE)  # in the order of a walk: the later one wins
_NEVER = VENDORED | {".aurora", ".hg", ".svn", "__pycache__"}
_HEADS = frozenset({"HEAD", "packed-refs", "tables.list"})  # the last one in git's newer format
_POINTER_BYTES = 8192  # of a file of git that names a folder; it may be a link to anything
# What editors, file managers and Python leave beside a file, for a moment or for good.
_NOISE = (
    "*~", ".*.sw?", "4913", "#*#", ".#*", "*.kate-swp", ".~lock.*#", "*___jb_???___", "*.crswap",
    ".goutputstream-*", "*.pyc", "*.pyo", ".DS_Store", "Thumbs.db",
)  # fmt: skip
_noise = re.compile("|".join(map(fnmatch.translate, _NOISE)))


@dataclass(frozen=True, slots=True)
class Rules:
    """Who says what is ignored below `top`: git, or the ignore files alone."""

    top: Path
    by_git: bool


@dataclass(frozen=True, slots=True)
class WatchScope:
    """Everything that is watched."""

    folders: Mapping[Path, Rules]
    heads: frozenset[Path] = frozenset()  # folders of git that tell when HEAD moves
    files: frozenset[Path] = frozenset()  # single files, which are watched in their folder
    own: tuple[str, ...] = ()  # how paths begin that the memory itself writes to

    @property
    def watched(self) -> frozenset[Path]:
        return frozenset(chain(self.folders, self.heads, (file.parent for file in self.files)))

    def is_news(self, path: Path) -> bool:
        """True when a change there may change what the memory holds, as far as names tell."""
        if str(path).startswith(self.own):
            return False
        if path in self.files or path in self.folders:
            return True
        if path.parent in self.heads:
            return _moves_head(path)
        return path.parent in self.folders and not _is_noise(path.name)


def _moves_head(path: Path) -> bool:
    is_branch = "/refs/heads/" in path.as_posix() and path.suffix != ".lock"
    return is_branch or path.name in _HEADS


def _is_noise(name: str) -> bool:
    return name in _NEVER or _noise.match(name) is not None


def drop_ignored(ground: WatchScope, paths: Iterable[Path]) -> set[Path]:
    """The paths without those that git or an ignore file keeps out of the memory."""
    kept: set[Path] = set()
    groups: defaultdict[Rules, set[Path]] = defaultdict(set)
    for path in paths:
        rules = ground.folders.get(path.parent)
        if rules is None or path in ground.files or path.name in {".git", *IGNORE_FILES}:
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
    except SourceError:  # a run too many is better than one too few; it tells what is wrong
        ignored = set()
    return {path for name, path in names.items() if name in ignored or own.ignores_file(path)}


def survey(
    targets: Iterable[Path], *, logs: Path | None = None, own: Iterable[Path] = ()
) -> WatchScope:
    """Look at the folders as they are now. Targets that are not there are left out."""
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
    except SourceError:  # the next run tells what is wrong with the repository
        root = None
    if root is None:
        return Rules(folder, by_git=False)
    return Rules(root if folder.is_relative_to(root) else folder, by_git=True)


def _below(top: Path, rules: Rules) -> Iterator[tuple[Path, Rules]]:
    """Folders at and below one, links not followed, each with the rules that hold in it."""
    waiting = [(top, rules)]
    while waiting:  # the top, then every repository that lies in it
        start, rules = waiting.pop()
        is_left_out = _by_git(start, rules) if rules.by_git else _by_name(start)
        for here, names, files in walk_folders(start):
            if here != start and (".git" in names or ".git" in files):
                names.clear()
                waiting.append((here, _rules_for(here)))
                continue
            names[:] = [
                name
                for name in names
                if name not in _NEVER and is_utf8(name) and not is_left_out(here / name)
            ]
            yield here, rules


def _by_git(top: Path, rules: Rules) -> Callable[[Path], bool]:
    try:
        ignored = {top / name for name in list_ignored_folders(top)}
    except SourceError:
        ignored = set()
    own = IgnoreFiles(rules.top, [AURORA_IGNORE])
    return lambda folder: folder.name == ".git" or folder in ignored or own.ignores_folder(folder)


def _by_name(top: Path) -> Callable[[Path], bool]:
    ignore = IgnoreFiles(top, IGNORE_FILES)
    return lambda folder: bool(folder_reason(folder, ignore))


def _heads(repository: Path) -> Iterator[Path]:
    """The folders of a repository's git in which something changes when HEAD moves."""
    folder = _git_folder(repository)
    common = (folder / _read(folder / "commondir")).resolve()  # shared by all its work trees
    for place in (folder, folder / "logs", common, common / "reftable"):
        if place.is_dir():
            yield place
    yield from (branches for branches, _, _ in walk_folders(common / "refs" / "heads"))


def _git_folder(repository: Path) -> Path:
    """`.git` itself, or where it points to: in an added work tree or a submodule it is a file."""
    place = repository / ".git"
    if place.is_file():
        place = repository / _read(place).removeprefix("gitdir:").strip()
    return place.resolve()


def _read(file: Path) -> str:
    try:
        with open_file(file) as content:
            return content.read(_POINTER_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


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

    def _open(self) -> tuple[RustNotify, WatchScope]:
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

    def _survey(self) -> WatchScope:
        return survey(self._targets, logs=self._logs, own=self._own)

    def _start(self, ground: WatchScope) -> RustNotify:
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


def _changes_ground(path: Path, ground: WatchScope) -> bool:
    """True for what says which folders count, for a new folder, and for a single file: another
    may have taken its place."""
    return path.name in IGNORE_FILES or path in ground.files or path.is_dir()


def _cannot_watch(ground: WatchScope, exc: Exception) -> WatchError:
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
