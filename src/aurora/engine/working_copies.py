"""Which checkout a command works in, and which ones of this machine are gone.

A server knows a checkout by its user, host and branch. The folders stay on this machine, in a list
in the user's home.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from aurora.config.worktrees import branch_of
from aurora.files import digest_of, make_folder, read_file, replacing
from aurora.stores.base import Checkout

_FILE, _LARGEST = "checkouts.json", 1 << 20


def worktree_checkout(folder: Path) -> Checkout:
    """A linked worktree that shares the file of its repository."""
    where = str(folder.resolve())
    return Checkout(where, f"{folder.name} {branch_of(folder)}".strip(), where)


def server_checkout(home: Path, root: Path | None) -> Checkout:
    """What a person has in a folder of this machine. The key stays when the host gets another
    name."""
    import platform  # noqa: PLC0415 - only a server needs it

    who = f"{login_name()}@{platform.node()}"
    where = str(root.resolve()) if root else ""
    made = digest_of(f"{who}\0{where}".encode())[:16]
    keys = (key for key, folder in _read(home / _FILE).items() if folder == where)
    return Checkout(next(keys, made), f"{who} {branch_of(root) if root else ''}".strip())


def login_name() -> str:
    """The name of the user on this machine."""
    import getpass  # noqa: PLC0415 - as above

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may have no name for it
        return "user"


def find_gone(home: Path, checkout: Checkout | None, root: Path | None) -> list[str]:
    """Note where a server's checkout is; the keys of those whose folder is gone."""
    if checkout is None or checkout.root or root is None:
        return []
    listed = _read(home / _FILE)
    gone = [key for key, folder in listed.items() if key != checkout.key and not _exists(folder)]
    if listed.get(checkout.key) != str(root.resolve()):
        listed[checkout.key] = str(root.resolve())
        with suppress(OSError):  # a home that may only be read
            make_folder(home)
            with replacing(home / _FILE) as out:
                out.write((json.dumps(listed, indent=2) + "\n").encode())
    return gone


def _read(file: Path) -> dict[str, str]:
    try:
        listed = json.loads(read_file(file, most=_LARGEST, follow=True))
    except (OSError, ValueError):
        return {}
    return {key: str(at) for key, at in listed.items()} if isinstance(listed, dict) else {}


def _exists(folder: str) -> bool:
    with suppress(OSError):
        return Path(folder).is_dir()
    return True  # in a folder that may not be read
