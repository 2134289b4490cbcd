"""The command that other programs start this `aur` by."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

from aurora.cli.session import tell
from aurora.install.clients import Scope
from aurora.platforms import program_file
from aurora.types import Note


def own_command(scope: Scope, for_user: str) -> tuple[str, ...]:
    """`aur` for a project's file, as each user has it elsewhere; else the whole path.

    `for_user` is the option that chooses the latter, for the warning.
    """
    own = Path(sysconfig.get_path("scripts"), program_file("aur"))
    on_path = shutil.which("aur")
    is_own = on_path is not None and own.exists() and own.samefile(on_path)
    if scope is Scope.PROJECT:
        if not is_own:
            what = f"on your PATH is another one, {on_path}" if on_path else "is not on your PATH"
            hint = f"put {own.parent} there, or use {for_user}"
            tell(Note(f"The `aur` that the file names {what}: {hint}", warning=True))
        return ("aur",)
    if on_path is not None and is_own:  # a link in a folder of programs outlives its target
        return (str(Path(on_path).absolute()),)
    return (str(own),) if own.exists() else (sys.executable, "-P", "-m", "aurora")
