"""Ignore files in the syntax of git, nested and negated: `.auroraignore` everywhere, and
`.gitignore` outside git."""

from __future__ import annotations

import stat
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from aurora.errors import SourceError
from aurora.files import open_no_follow
from aurora.globs import LONGEST_GLOB, Rule, parse_rule

AURORA_IGNORE = ".auroraignore"
GIT_IGNORE = ".gitignore"

# Each file is compared with each rule: without limits, a clone could make an index run take days.
_MAX_RULES = 10_000  # that apply to one path
_MAX_BYTES = 1 << 20


class IgnoreFiles:
    """The rules at and below a folder. A rule of a deeper file wins over one further up."""

    def __init__(self, top: Path, names: Iterable[str]) -> None:
        self._top, self._names = top, tuple(names)
        self._rules_of: dict[Path, list[tuple[Path, Sequence[Rule]]]] = {}
        self._ignored: dict[Path, bool] = {top: False}

    def ignores_folder(self, folder: Path) -> bool:
        """True for an ignored folder and for any folder inside one."""
        for step in unknown_steps(self._top, folder, self._ignored):
            self._ignored[step] = self._ignored[step.parent] or self._matches(step, "/")
        return self._ignored[folder]

    def has_rules_for(self, folder: Path) -> bool:
        """False when no rule can match the files of a folder."""
        return self.ignores_folder(folder) or bool(self._rules(folder))

    def ignores_file(self, file: Path) -> bool:
        return self.ignores_folder(file.parent) or self._matches(file, "")

    def _matches(self, path: Path, suffix: str) -> bool:
        """The verdict of the last rule that matches the path."""
        for folder, rules in reversed(self._rules(path.parent)):
            below = path.relative_to(folder).as_posix() + suffix
            for rule in reversed(rules):
                if rule.matches(below):
                    return not rule.negated
        return False

    def _rules(self, folder: Path) -> list[tuple[Path, Sequence[Rule]]]:
        """All rules that apply inside a folder, with the folder of each file, the top first."""
        for step in unknown_steps(self._top, folder, self._rules_of):
            above = [] if step == self._top else self._rules_of[step.parent]
            own = [(step, rules) for name in self._names if (rules := _read_rules(step / name))]
            self._rules_of[step] = above + own if own else above
            if own and sum(len(rules) for _, rules in above + own) > _MAX_RULES:
                _refuse(own[-1][0], f"more than {_MAX_RULES:,} rules hold there")
        return self._rules_of[folder]


def unknown_steps(top: Path, folder: Path, known: Container[Path]) -> list[Path]:
    """The unknown folders from `top` down: a loop, as a clone may nest more than Python calls."""
    steps = []
    while folder not in known:
        steps.append(folder)
        if folder in (top, folder.parent):
            break
        folder = folder.parent
    return steps[::-1]


def _read_rules(file: Path) -> Sequence[Rule]:
    """The rules of an ignore file. An unreadable one is an error: it may exclude files."""
    try:
        mode = file.lstat().st_mode
    except OSError:  # missing, or in a folder whose files cannot be read either
        return ()
    if stat.S_ISLNK(mode):
        _refuse(file, "it is a link, which Aurora does not follow", "put the file in its place")
    if not stat.S_ISREG(mode):
        return ()
    try:
        with open_no_follow(file) as opened:
            content = opened.read(_MAX_BYTES + 1)
    except OSError as exc:
        _refuse(file, str(exc.strerror), "check who owns it, or delete it")
    if len(content) > _MAX_BYTES:
        _refuse(file, f"it is larger than {_MAX_BYTES:,} bytes")
    rules = []
    for raw in content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"):
        line = raw.removesuffix("\r")
        if len(line) > LONGEST_GLOB and not line.startswith("#"):
            _refuse(file, f"a rule is longer than {LONGEST_GLOB:,} characters: {line[:40]}…")
        if rule := parse_rule(line):
            rules.append(rule)
    return rules


def _refuse(path: Path, reason: str, hint: str = "shorten it, or delete it") -> NoReturn:
    raise SourceError(f"Cannot read {path}: {reason}", hint=hint)
