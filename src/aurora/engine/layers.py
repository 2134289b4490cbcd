"""Which memories a search asks: its own, the person's, and the repositories of a workspace.

The person's memory is always a file on this machine. The workspace is a list in the user's home, so
that no file of a clone can add to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from aurora.config.places import FOLDER, shown
from aurora.engine.opening import OpenedMemory
from aurora.errors import ConfigError, QueryError, StoreFormatError
from aurora.files import make_folder, read_file, replacing
from aurora.types import Note

T = TypeVar("T")

PERSONAL = "personal"
PROJECT = "project"  # another name of the memory where the user is
SHARED = "shared"  # a server that no project has chosen
_FILE, _LARGEST = "workspace.json", 1 << 20


class Workspace:
    """The repositories of one user that a search may ask together, by name."""

    def __init__(self, home: Path) -> None:
        self._file = home / _FILE

    def list(self) -> dict[str, Path]:
        try:
            listed = json.loads(read_file(self._file, most=_LARGEST, follow=True))
            if not isinstance(listed, dict):
                raise ValueError("it does not hold names with their folders")  # noqa: TRY004, TRY301
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as exc:
            raise ConfigError(
                f"Cannot read the workspace {shown(self._file)}: {exc}",
                hint="delete the file and add your repositories again with `aur workspace add`",
            ) from exc
        return {name: Path(str(folder)) for name, folder in listed.items()}

    def add(self, folder: Path, name: str = "") -> str:
        """Add a repository by its folder's name, or by another one; the name it has."""
        folder, listed = folder.resolve(), self.list()
        name = name or folder.name
        if not (folder / FOLDER).is_dir():
            raise ConfigError(
                f"{shown(folder)} has no memory", hint=f"index it first: cd {folder} && aur index"
            )
        if name in (PERSONAL, PROJECT) or listed.get(name, folder) != folder:
            raise ConfigError(
                f"The workspace cannot call {shown(folder)} {name!r}: that name is taken",
                hint="choose another one: aur workspace add FOLDER --name NAME",
            )
        self._write({**{n: f for n, f in listed.items() if f != folder}, name: folder})
        return name

    def remove(self, word: str) -> str:
        """Remove a repository by its name or its folder; its memory stays."""
        listed = self.list()
        at = Path(word).expanduser().resolve()
        name = word if word in listed else next((n for n, f in listed.items() if f == at), "")
        if not name:
            raise ConfigError(f"The workspace has no {word!r}", hint="`aur workspace list`")
        del listed[name]
        self._write(listed)
        return name

    def _write(self, listed: Mapping[str, Path]) -> None:
        make_folder(self._file.parent)
        with replacing(self._file, durable=True) as out:
            names = {name: str(folder) for name, folder in sorted(listed.items())}
            out.write((json.dumps(names, indent=2) + "\n").encode())


def require_names(wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise QueryError(
                f"There is no memory {name!r}",
                hint=f"there are {', '.join(known)}; `aur workspace add FOLDER` adds a repository",
            )


def read_together(memories: Sequence[OpenedMemory], read: Callable[[], T]) -> tuple[T, list[Note]]:
    """The result of reading several memories, and notes on damage in them."""
    with ExitStack() as reading:
        for opened in memories:
            reading.enter_context(opened.store.reading())
        try:
            result = read()
        except StoreFormatError:
            damages = [opened.store.maintenance.damage(look=True) for opened in memories]
            if not any(damages):
                raise
            result = read()
        return result, list(_damage(memories))


def _damage(memories: Sequence[OpenedMemory]) -> Iterator[Note]:
    for opened in memories:
        yield from opened.tell_damage()
