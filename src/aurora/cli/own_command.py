"""The command that other programs start this `aur` by."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from aurora.cli.session import tell
from aurora.install.clients import Scope
from aurora.package_manager import lasting_command
from aurora.platforms import program_file
from aurora.types import Note


def own_command(scope: Scope, for_user: str) -> tuple[str, ...]:
    """`aur` for a project's file, as each user has it elsewhere; else the whole path.

    `for_user` is the option that chooses the latter, for the warning.
    """
    if by_uvx := lasting_command():
        uvx = shutil.which(by_uvx[0]) if scope is Scope.USER else None
        return (uvx or by_uvx[0], *by_uvx[1:])
    own = Path(sysconfig.get_path("scripts"), program_file("aur"))
    ours = [name for name in ("aur", "aurora") if _is_on_path(name, own.parent)]
    if scope is Scope.PROJECT:
        if not ours:
            other = shutil.which("aur")
            what = f"on your PATH is another one, {other}" if other else "is not on your PATH"
            hint = f"put {own.parent} there, or use {for_user}"
            tell(Note(f"The `aur` that the file names {what}: {hint}", warning=True))
        return (ours[0] if ours else "aur",)
    if ours:  # a link in a folder of programs outlives its target
        return (str(Path(shutil.which(ours[0]) or own).absolute()),)
    return (str(own),) if own.exists() else (sys.executable, "-P", "-m", "aurora")


def _is_on_path(name: str, folder: Path) -> bool:
    """Whether a shell that is asked for a command starts the one of this folder."""
    found, own = shutil.which(name), folder / program_file(name)
    return found is not None and own.exists() and own.samefile(found)
