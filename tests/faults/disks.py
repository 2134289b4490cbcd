"""Disks of a few MiB, to be filled or mounted read-only, with a project and a home on them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.builders import note_as_own
from tests.cli.conftest import Shell
from tests.small_disk import mounted, remount

EDITED = "def added():\n    return 'a new thing'\n\n\n"
_FILLER = "filler"


@dataclass(frozen=True, slots=True)
class Disk:
    folder: Path

    @property
    def shell(self) -> Shell:
        return Shell(self.folder / "project", self.folder / "user" / "home")

    @property
    def database(self) -> Path:
        return self.shell.cwd / ".aurora" / "memory.db"

    def put(self, folder: Path) -> None:
        """A project and a home, as they are there, and nothing else."""
        for path in self.folder.iterdir():
            shutil.rmtree(path)
        shutil.copytree(folder, self.folder, dirs_exist_ok=True, symlinks=True)
        note_as_own(self.shell.home, self.database)

    def edit(self) -> None:
        """Let the project have something to index."""
        for path in sorted(self.shell.cwd.glob("*.py")):
            path.write_text(EDITED + path.read_text(encoding="utf-8"), encoding="utf-8")

    def fill(self, leaving: int) -> None:
        """Take all space but for so many bytes."""
        status = os.statvfs(self.folder)
        with (self.folder / _FILLER).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - leaving)

    def free(self) -> None:
        (self.folder / _FILLER).unlink(missing_ok=True)

    def make_read_only(self) -> None:
        remount(self.folder, "ro")


@contextmanager
def small_disk(mebibytes: int = 8) -> Iterator[Disk]:
    with mounted(mebibytes) as folder:
        yield Disk(folder)
