"""Where things live: the user's Aurora home, and the project around a working directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aurora.config.worktrees import main_checkout
from aurora.errors import ConfigError, SourceError
from aurora.files import OWNERS_FOLDER, is_foreign, replacing, require_own
from aurora.quick_classes import dataclass

FOLDER = ".aurora"
CACHE = "cache"  # in the user's home: what all memories share and can be made again
_MEMORY = "memory.db"  # of a worktree that an older version indexed


@dataclass(frozen=True, slots=True)
class Places:
    """`home` is the user's own folder; `project` is the root that holds a `.aurora`, if any.

    `foreign` are the folders `.aurora` on the way that another user owns. `worktree` is the folder
    of a linked worktree, which uses the memory of its repository.
    """

    home: Path
    project: Path | None = None
    foreign: tuple[Path, ...] = ()
    worktree: Path | None = None

    @classmethod
    def find(cls, cwd: Path, environ: Mapping[str, str]) -> Places:
        """The nearest `.aurora` at or above `cwd` is the project's. The user's home is skipped,
        and so is another user's folder: its settings would apply to every folder below it. A linked
        worktree without a memory of its own has that of its repository."""
        chosen, default = environ.get("AURORA_HOME") or f"~/{FOLDER}", Path("~", FOLDER)
        try:
            home = Path(chosen).expanduser().absolute()
        except RuntimeError as exc:
            raise ConfigError(
                f"There is no home directory for {chosen}",
                hint="set AURORA_HOME to a folder, or HOME to yours",
            ) from exc
        foreign: list[Path] = []
        for folder in (cwd, *cwd.parents):
            main = None if _exists(folder / FOLDER / _MEMORY) else main_checkout(folder)
            for project in filter(None, (main, folder)):
                memory = project / FOLDER
                if not _is_folder(memory) or _same(memory, home) or _same(memory, default):
                    continue
                if not is_foreign(memory):
                    return cls(home, project, tuple(foreign), folder if project == main else None)
                foreign.append(memory)
        return cls(home, None, tuple(foreign))

    @property
    def root(self) -> Path | None:
        """The folder of the project's files: of the worktree, if this is one."""
        return self.worktree or self.project

    @property
    def memory_folder(self) -> Path:
        """The folder of the memory in use."""
        return self.project / FOLDER if self.project else self.home

    @property
    def user_config(self) -> Path:
        return self.home / "config.yml"

    @property
    def project_config(self) -> Path | None:
        return self.project / FOLDER / "config.yml" if self.project else None


def make_project(root: Path) -> None:
    """Create a project's memory folder, which ignores itself in git."""
    folder = root / FOLDER
    require_own(folder)
    try:
        folder.mkdir(mode=OWNERS_FOLDER, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            with replacing(ignore) as out:
                out.write(b"*\n")
    except OSError as exc:
        raise SourceError(f"Cannot make {folder}: {exc}", hint="check who owns the folder") from exc


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # in a folder that may not be read
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # as above
        return False


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b.expanduser())
    except (OSError, RuntimeError):  # missing, unreadable, or `~` of an unknown user
        return False


def shown(path: Path) -> str:
    """A path as a person types it: below the home directory it starts with `~`."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):  # elsewhere, or no home directory
        return str(path)
