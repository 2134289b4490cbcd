"""A project with every kind of thing in its memory, that can be damaged and made whole again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aurora import Memory, Places
from aurora.types import Note
from tests.embedders import WordsProvider
from tests.sources.repository import git

DIMENSION = 256  # of vectors, as the default model's
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
_SHOP = Path(__file__).parents[1] / "shell"
LESSONS = ("Retry a timeout twice, then tell the caller", "Cache only what is read twice")
OPENED = ("src/atlas/auth/session.py:Session", "src/atlas/cli.py:main")
DOCUMENT = "The contract says that invoices are due within thirty days. " * 12


@dataclass(frozen=True, slots=True)
class World:
    """A project, a home, and beside them a copy of the memory as it was when whole."""

    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def memory_folder(self) -> Path:
        return self.project / ".aurora"

    @property
    def database(self) -> Path:
        return self.memory_folder / "memory.db"

    @property
    def places(self) -> Places:
        return Places(self.folder / "home", self.project)

    @contextmanager
    def memory(
        self,
        tell: Callable[[Note], None] = lambda _: None,
        *,
        now: datetime = NOW,
        dimension: int = DIMENSION,
    ) -> Iterator[Memory]:
        """As a door opens it, with a model that is there at once; warnings are told."""

        def listen(event: object) -> None:
            if isinstance(event, Note) and event.warning:
                tell(event)

        words = WordsProvider(dimension=dimension)
        with Memory(self.places, listen=listen, now=lambda: now, embedder=words) as memory:
            yield memory

    @property
    def cache(self) -> Path:
        return self.places.home / "cache"

    def keep(self) -> None:
        """The memory as it is now is the whole one, with what all memories share."""
        shutil.copytree(self.memory_folder, self.folder / "whole")
        shutil.copytree(self.cache, self.folder / "whole-cache", dirs_exist_ok=True)

    def restore(self) -> None:
        for folder, kept in ((self.memory_folder, "whole"), (self.cache, "whole-cache")):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.folder / kept, folder)


def make_world(folder: Path) -> World:
    """Code with a past, notes, Chinese text, conversation logs, lessons, documents and uses."""
    world = World(folder)
    shutil.copytree(_SHOP / "project", world.project)
    (world.project / "用户.py").write_text("def 认证流程():\n    '用户认证'\n", encoding="utf-8")
    git(world.project, "init", "--quiet")
    git(world.project, "add", ".")
    git(world.project, "commit", "--quiet", "--message", "start")
    shutil.copytree(_SHOP / "conversations", world.places.home / "logs" / "conversations")
    with world.memory() as memory:
        memory.index(world.project)
        memory.add(DOCUMENT, namespace="law", metadata={"page": 3})
        for lesson in LESSONS:
            memory.learn(lesson, context="network")
    for day, chunk_id in enumerate(OPENED, start=1):
        with world.memory(now=NOW - timedelta(days=day)) as memory:
            memory.get(chunk_id)
    with world.memory() as memory:
        memory.search("session")  # so that the indexes are of the last state
    world.keep()
    return world
