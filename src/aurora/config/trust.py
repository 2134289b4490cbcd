"""Who may set what: a settings file that came with a clone is not the user's word.

Until the user approves the file as it is now, it may not choose models, endpoints or links, have
text sent away, lead a path out of the project, or take much time or memory. Approval is remembered
by content: an edited file must be approved anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from aurora.config.schema import Guard, Setting
from aurora.errors import ConfigError
from aurora.private import make_folder, replacing

_APPROVED = "approved.json"


def is_approved(home: Path, file: Path, content: bytes) -> bool:
    """True when the user approved exactly this content of this file."""
    return _read(home).get(str(file.resolve())) == _digest(content)


def approve(home: Path, file: Path, content: bytes | None = None) -> None:
    """Remember that the user trusts the file with this content, or as it is now."""
    approved = _read(home)
    try:
        approved[str(file.resolve())] = _digest(file.read_bytes() if content is None else content)
        make_folder(home)
        with replacing(home / _APPROVED, durable=True) as out:
            out.write((json.dumps(approved, indent=2) + "\n").encode())
    except OSError as exc:
        raise ConfigError(f"Cannot approve {file}: {exc}") from exc


def refused(setting: Setting, value: object, *, project: Path, file: Path) -> str:
    """Why an unapproved project file may not set this, or nothing when it may."""
    if setting.guard is Guard.CHOICE:
        return "a project file may not choose models, servers, endpoints or links"
    # By value, so that a project may go on choosing the reranker that stays on this machine.
    if setting.guard is Guard.AWAY and value in (True, "llm"):
        return "a project file may not have text sent away"
    if setting.guard is Guard.SAFETY and value is False:
        return "a project file may not switch a protection off"
    if setting.guard is Guard.OUTSIDE:
        try:
            target = (file.parent / Path(str(value)).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):  # a circle of links, nobody's home, no path
            target = None
        if target is None or not target.is_relative_to(project.resolve()):
            return "a project file may not lead out of the project"
    most = setting.unapproved_most
    if most is not None and isinstance(value, int | float) and value > most:
        return f"a project file may not set more than {most:g}"
    return ""


def _read(home: Path) -> dict[str, str]:
    file = home / _APPROVED
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(known, dict):
            raise ValueError("it does not hold files with their digests")  # noqa: TRY004, TRY301
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"Cannot read the list of approved projects {file}: {exc}",
            hint="delete the file and approve your projects again with `aur config approve`",
        ) from exc
    return known


def _digest(content: bytes) -> str:
    import hashlib  # noqa: PLC0415 - few projects have a settings file

    return hashlib.sha256(content).hexdigest()
