"""A project with its memory, in a file or on a server, that can be put back as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from aurora import Memory, Places
from aurora.engine.location import StoreLocation
from tests.backends import keep_on_server
from tests.builders import NOW
from tests.crash.providers import PROVIDERS, SHALLOW

if TYPE_CHECKING:
    from tests.postgres.databases import Databases


@dataclass(frozen=True)
class World:
    """Where an operation happens. It can be told to another process, and be opened there."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    source: str = ""  # the address of a memory on a server to be copied from

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def memory_folder(self) -> Path:
        return self.project / ".aurora"

    @property
    def scratch(self) -> Path:
        """For what is there for a moment."""
        return self.folder / "tmp"

    @property
    def places(self) -> Places:
        return Places(self.home, self.project)

    @cached_property
    def memory(self) -> Memory:
        return self.make_memory(SHALLOW.name)

    @cached_property
    def other_model(self) -> Memory:
        """The memory, where settings choose another model than made its vectors."""
        return self.make_memory("mirror/shallow")

    @cached_property
    def usual(self) -> Memory:
        """The memory, where settings leave the model to Aurora: a quick one comes first."""
        return Memory(self.places, now=lambda: NOW)

    @property
    def whereabouts(self) -> StoreLocation:
        return self.make_memory(SHALLOW.name).admin.location

    def make_memory(self, model: str) -> Memory:
        """With one of the models that are loaded already."""
        return Memory(self.places, now=lambda: NOW, embedder=PROVIDERS[model])

    def close(self) -> None:
        for name in ("memory", "other_model", "usual"):
            memory: Memory | None = self.__dict__.pop(name, None)
            if memory is not None:
                memory.close()

    @contextmanager
    def opened(self) -> Iterator[World]:
        """A world of its own: nothing is open before, and nothing after."""
        own = replace(self)
        try:
            yield own
        finally:
            own.close()


@dataclass
class Stage:
    """A world whose memory is put back before every try."""

    world: World
    kept: Path
    databases: Databases | None = None  # on a server, if given
    template: str = ""
    _open: ExitStack = field(default_factory=ExitStack)

    def keep(self) -> None:
        """Remember the memory as it is now; a server's as the template it was made in."""
        shutil.copytree(self.world.folder, self.kept, symlinks=True)

    def put_back(self) -> None:
        for name in ("project/.aurora", "home", "tmp"):  # an operation changes nothing else
            shutil.rmtree(self.world.folder / name, ignore_errors=True)
            if (self.kept / name).exists():
                shutil.copytree(self.kept / name, self.world.folder / name)
        if self.databases is not None:
            self._open.close()
            url = self._open.enter_context(self.databases.fresh(self.template))
            keep_on_server(self.world.project, self.world.home, url)

    def close(self) -> None:
        self._open.close()


def own_environment(folder: Path) -> dict[str, str]:
    """What git and temporary files must not have of whoever runs the tests."""
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return nothing | {"GIT_CEILING_DIRECTORIES": str(folder), "TMPDIR": str(folder / "tmp")}
