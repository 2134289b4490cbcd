"""Ignore files in the syntax of git, nested and negated: `.auroraignore`, and `.gitignore` where
there is no git to ask."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from aurora.errors import SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

logger = logging.getLogger(__name__)

AURORA_IGNORE = ".auroraignore"
GIT_IGNORE = ".gitignore"


class IgnoreFiles:
    """The rules at and below a folder. A rule of a deeper file beats one further up."""

    def __init__(self, top: Path, names: Iterable[str]) -> None:
        self._top, self._names = top, tuple(names)
        self._known: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
        self._folders: dict[Path, bool] = {top: False}

    def ignores_folder(self, folder: Path) -> bool:
        """True for a folder that is ignored, or lies in one: nothing in it can come back."""
        if folder not in self._folders:
            above = self.ignores_folder(folder.parent)
            self._folders[folder] = above or self._verdict(folder, "/")
        return self._folders[folder]

    def speaks_of(self, folder: Path) -> bool:
        """False when no rule can touch the files of a folder."""
        return self.ignores_folder(folder) or bool(self._rules(folder))

    def ignores_file(self, file: Path) -> bool:
        return self.ignores_folder(file.parent) or self._verdict(file, "")

    def _verdict(self, path: Path, suffix: str) -> bool:
        verdict = False
        for folder, spec in self._rules(path.parent):
            found = spec.check_file(path.relative_to(folder).as_posix() + suffix).include
            verdict = verdict if found is None else found
        return verdict

    def _rules(self, folder: Path) -> list[tuple[Path, GitIgnoreSpec]]:
        """All rules that speak of a folder's contents, the furthest up first."""
        if folder not in self._known:
            above = [] if folder == self._top else self._rules(folder.parent)
            files = [folder / name for name in self._names]
            own = [(folder, _read(file)) for file in files if _is_file(file)]
            self._known[folder] = above + own
        return self._known[folder]


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # in a folder that is shut; its files cannot be read, either
        return False


def _read(file: Path) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - most trees have no such file

    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as exc:  # without it, what the user wants left out would be read
        raise SourceError(
            f"Cannot read {file}: {exc.strerror}", hint="check who owns it, or delete it"
        ) from exc
    rules: list[GitIgnoreSpecPattern] = []
    for line in text.splitlines():
        try:
            rules += GitIgnoreSpec.from_lines([line]).patterns
        except ValueError as exc:  # git, too, takes a line it cannot read for none
            logger.warning("%s: %s", file, exc)
    return GitIgnoreSpec(rules)
