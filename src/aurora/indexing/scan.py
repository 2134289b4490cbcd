"""What a run has to look at: every file of the paths asked for, and the conversation logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.errors import GitStartError, SourceError
from aurora.sources.conversations import find_logs
from aurora.sources.git import find_unasked_root
from aurora.sources.walk import Skipped, SourceFile, walk_files


@dataclass(frozen=True, slots=True)
class Scan:
    """Files by path. What was remembered below `places` and is not among them is gone."""

    places: tuple[Path, ...]
    files: Mapping[Path, SourceFile | Skipped]
    logs: int = 0
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def shut(self) -> list[Path]:
        """Files and folders that could not even be looked at."""
        return [
            file.path
            for file in self.files.values()
            if isinstance(file, Skipped) and file.is_unreadable
        ]


def scan(*targets: Path, logs: Path | None = None) -> Scan:
    """Look at everything without opening it.

    A path that cannot be walked is an error of its own beside others; alone, it is raised.
    """
    places: list[Path] = []
    files: dict[Path, SourceFile | Skipped] = {}
    failed: list[SourceError] = []
    for target in dict.fromkeys(target.resolve() for target in targets):
        try:
            files |= {file.path: file for file in walk_files(target)}
            places.append(target)
        except GitStartError:
            raise  # the system is short of something, whatever the path
        except SourceError as exc:
            failed.append(exc)
    if failed and not places:
        raise failed[0]
    found = find_logs(logs) if logs is not None else []
    files |= {log.path: log for log in found}
    return Scan(
        (*places, logs) if logs is not None else tuple(places),
        files,
        len(found),
        _without_git(places),
        tuple(exc.message for exc in failed),
    )


def _without_git(places: Sequence[Path]) -> tuple[str, ...]:
    return tuple(
        f"There is no git program: the files of {place} are chosen by its ignore files alone, "
        "and their history is not known. Install git"
        for place in places
        if find_unasked_root(place) is not None
    )
