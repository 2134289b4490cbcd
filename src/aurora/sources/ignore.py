"""Ignore files in the syntax of git, nested and negated: `.auroraignore`, and `.gitignore` where
there is no git to ask."""

from __future__ import annotations

import stat
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from aurora.errors import SourceError
from aurora.globs import LONGEST_GLOB, Rule, parse_rule
from aurora.sources.reading import open_file

AURORA_IGNORE = ".auroraignore"
GIT_IGNORE = ".gitignore"

# Each file is compared with each rule, so a clone could make an index run take days.
_MOST_RULES = 10_000  # for one path
_LARGEST = 1 << 20  # bytes


class IgnoreFiles:
    """The rules at and below a folder. A rule of a deeper file beats one further up."""

    def __init__(self, top: Path, names: Iterable[str]) -> None:
        self._top, self._names = top, tuple(names)
        self._known: dict[Path, list[tuple[Path, Sequence[Rule]]]] = {}
        self._folders: dict[Path, bool] = {top: False}

    def ignores_folder(self, folder: Path) -> bool:
        """True for a folder that is ignored, or lies in one: nothing in it can come back."""
        for step in unknown_steps(self._top, folder, self._folders):
            self._folders[step] = self._folders[step.parent] or self._verdict(step, "/")
        return self._folders[folder]

    def speaks_of(self, folder: Path) -> bool:
        """False when no rule can touch the files of a folder."""
        return self.ignores_folder(folder) or bool(self._rules(folder))

    def ignores_file(self, file: Path) -> bool:
        return self.ignores_folder(file.parent) or self._verdict(file, "")

    def _verdict(self, path: Path, suffix: str) -> bool:
        """What the last rule says that matches the path."""
        for folder, rules in reversed(self._rules(path.parent)):
            below = path.relative_to(folder).as_posix() + suffix
            for rule in reversed(rules):
                if rule.matches(below):
                    return not rule.negated
        return False

    def _rules(self, folder: Path) -> list[tuple[Path, Sequence[Rule]]]:
        """All rules that speak of a folder's contents, the furthest up first."""
        for step in unknown_steps(self._top, folder, self._known):
            above = [] if step == self._top else self._known[step.parent]
            files = [step / name for name in self._names]
            own = [(step, rules) for file in files if (rules := _read(file))]
            self._known[step] = above + own if own else above
            if own and sum(len(rules) for _, rules in above + own) > _MOST_RULES:
                _refuse(own[-1][0], f"more than {_MOST_RULES:,} rules hold there")
        return self._known[folder]


def unknown_steps(top: Path, folder: Path, known: Container[Path]) -> list[Path]:
    """The folders from `top` down to `folder` that are not known yet.

    A loop and not recursion: a clone may nest more folders than Python nests calls.
    """
    steps = []
    while folder not in known:
        steps.append(folder)
        if folder in (top, folder.parent):
            break
        folder = folder.parent
    return steps[::-1]


def _read(file: Path) -> Sequence[Rule]:
    """The rules of an ignore file, none if there is no such file.

    What cannot be read is an error: without it, what the user wants left out would be read.
    """
    try:
        mode = file.lstat().st_mode
    except OSError:  # not there, or in a folder that is shut; its files cannot be read, either
        return ()
    if stat.S_ISLNK(mode):
        _refuse(file, "it is a link, which Aurora does not follow", "put the file in its place")
    if not stat.S_ISREG(mode):
        return ()
    try:
        with open_file(file) as opened:
            content = opened.read(_LARGEST + 1)
    except OSError as exc:
        _refuse(file, str(exc.strerror), "check who owns it, or delete it")
    if len(content) > _LARGEST:
        _refuse(file, f"it is larger than {_LARGEST:,} bytes")
    lines = content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    return [rule for line in lines if (rule := _parse(file, line.removesuffix("\r")))]


def _parse(file: Path, line: str) -> Rule | None:
    if len(line) > LONGEST_GLOB and not line.startswith("#"):
        _refuse(file, f"a rule is longer than {LONGEST_GLOB:,} characters: {line[:40]}…")
    return parse_rule(line)


def _refuse(path: Path, reason: str, hint: str = "shorten it, or delete it") -> NoReturn:
    raise SourceError(f"Cannot read {path}: {reason}", hint=hint)
