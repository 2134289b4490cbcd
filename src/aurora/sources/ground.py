"""Which folders are worth watching, and which changes in them are news.

The folders are those that a walk would read from, and those in which git notes that HEAD moved.
Folders that are ignored, vendored or built are not among them: what happens there costs nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from aurora.errors import SourceError
from aurora.sources.git import find_ignored, find_root, list_ignored_folders
from aurora.sources.ignore import AURORA_IGNORE, GIT_IGNORE, IgnoreFiles
from aurora.sources.reading import open_file, walk_folders
from aurora.sources.unwanted import VENDORED
from aurora.sources.walk import folder_reason, is_utf8

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
class Ground:
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


def drop_ignored(ground: Ground, paths: Iterable[Path]) -> set[Path]:
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
) -> Ground:
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
    return Ground(folders, heads, frozenset(files), tuple(map(str, own)))


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
