"""One operation that is killed again and again, and what must hold each time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.backends import keep_on_server
from tests.crash.checking import (
    NOTHING,
    State,
    files_of,
    look,
    require_between,
    require_same,
    require_true_answers,
)
from tests.crash.choosing import IN_FILE, ON_SERVER
from tests.crash.killing import Outcome, do, forks
from tests.crash.operations import OPERATIONS, SMALL, together
from tests.crash.points import Point
from tests.crash.providers import SHALLOW
from tests.crash.world import Stage, World, own_environment

if TYPE_CHECKING:
    from tests.postgres.databases import Databases


class Trial:
    """Knows what the memory is after each step when nobody dies."""

    def __init__(self, name: str, stage: Stage) -> None:
        self._name, self._stage, self.world = name, stage, stage.world
        self._operation = OPERATIONS[name]
        self.times = IN_FILE if stage.databases is None else ON_SERVER
        self._states = list(self._undisturbed())
        self._stage.put_back()
        undisturbed = do(name, self.world)
        assert (undisturbed.killed, undisturbed.acknowledged) == (False, len(self._states) - 1)
        self.points, self.seconds = undisturbed.points, undisturbed.seconds
        require_same(look(self.world), self._states[-1])
        require_true_answers(self.world, model=_model(self._states[-1]))
        self._files = files_of(self.world)

    def _undisturbed(self) -> Iterator[State | None]:
        self._stage.put_back()
        yield look(self.world)
        for step in self._operation.steps:
            with self.world.opened() as own:
                step(own)
            yield look(self.world)

    def put_back(self) -> None:
        self._stage.put_back()

    def kill(
        self, *, begin: int = 0, at: Point | None = None, after: float | None = None
    ) -> Outcome:
        return do(self._name, self.world, begin=begin, at=at, after=after)

    def require_whole(self, done: int, *, by_searching: bool) -> int:
        """Of a memory whose changer died after so many steps. How many are done: one that was under
        way may be, too."""
        found = look(self.world)
        before, after = self._states[done], self._states[min(done + 1, len(self._states) - 1)]
        if found is None or before is None or after is None:  # to be migrated
            return done
        require_between(found, before, after, self._operation)
        if by_searching and found != NOTHING:
            require_true_answers(self.world, model=_model(found))
        if not self._operation.counts or found.units(together) == before.units(together):
            return done
        with self.world.opened() as own:
            own.memory.admin.reembed()  # what was learned last may lack its vector
        return done + 1

    def require_end(self, done: int, *, by_searching: bool) -> None:
        """Who comes next goes on, and it is as if nobody had died."""
        with self.world.opened() as own:
            for step in self._operation.steps[done:]:
                step(own)
        require_same(look(self.world), self._states[-1])
        if by_searching:
            require_true_answers(self.world, model=_model(self._states[-1]))
        left = files_of(self.world) - self._files
        assert not left, f"left behind: {sorted(left)}"


def _model(state: State | None) -> str:
    return state.embedder.name if state and state.embedder else SHALLOW.name


@contextmanager
def staged(name: str, store: str, folder: Path, databases: Databases | None) -> Iterator[Trial]:
    """An operation with the memory that it begins with, in a file or on a server."""
    operation = OPERATIONS[name]
    forks()  # before temporary files have another place
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        world = World(folder / "world", own_environment(folder / "world"))
        if databases is not None and store == "sqlite":
            source = stack.enter_context(databases.fresh())
            world = replace(world, source=source)
        for path in (world.scratch, world.memory_folder, world.home):
            path.mkdir(parents=True)
        for key, value in world.environment.items():
            patch.setenv(key, value)
        patch.setattr(tempfile, "tempdir", str(world.scratch))
        for module, attribute, value in SMALL:
            patch.setattr(module, attribute, value)

        def prepare(url: str = "") -> None:
            if url:
                keep_on_server(world.project, world.home, url)
            with world.opened() as own:
                operation.prepare(own)

        stage = Stage(world, folder / "kept")
        stack.callback(stage.close)
        if store == "postgres" and databases is not None:
            stage.template = databases.prepare(f"crash_{_word(name)}", prepare)
            stage.databases = databases
        else:
            prepare()
        stage.keep()
        for module, attribute, value in operation.patches:
            patch.setattr(module, attribute, value)
        yield Trial(name, stage)


def _word(name: str) -> str:
    return name.replace(" ", "_")
