"""A process that does an operation, and dies where or when it is told to."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import pkgutil
import signal
import tempfile
import time
from dataclasses import replace
from functools import cache
from multiprocessing.context import ForkServerContext
from typing import NamedTuple

import aurora
from tests.crash.operations import OPERATIONS, SMALL
from tests.crash.points import Point, Points
from tests.crash.world import World

_TOLD, _PASSED = "told", "passed"  # files: a byte for each call that returned; names of points


class Outcome(NamedTuple):
    """How far a process came."""

    acknowledged: int  # calls that had returned
    killed: bool
    seconds: float
    points: tuple[str, ...] = ()  # that it passed, where it came to its end


def do(
    operation: str,
    world: World,
    *,
    begin: int = 0,
    at: Point | None = None,
    after: float | None = None,
) -> Outcome:
    """Run an operation from a step on in a process of its own; killed at a point, or after so many
    seconds, if either is given."""
    told, passed = world.folder / _TOLD, world.folder / _PASSED
    told.write_bytes(b"")
    process = forks().Process(target=_operate, args=(operation, replace(world), begin, at))
    started = time.monotonic()
    process.start()
    process.join(after)
    if process.is_alive() and after is not None:
        process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{operation} ended with {process.exitcode}"
    killed = process.exitcode != 0
    points = () if killed else tuple(json.loads(passed.read_bytes()))
    process.close()
    return Outcome(told.stat().st_size, killed, time.monotonic() - started, points)


@cache
def forks() -> ForkServerContext:
    """Processes that are forked from one that has imported everything, and has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "tests.crash.warm"])  # the first is `__main__`
    waiting = context.Process(target=int)
    waiting.start()  # it gets the environment of now, and answers when all is imported
    waiting.join()
    return context


def _operate(name: str, world: World, begin: int, at: Point | None) -> None:
    os.environ.update(world.environment)
    tempfile.tempdir = str(world.scratch)  # or Python would first try out what it finds
    operation = OPERATIONS[name]
    for module, attribute, value in (*SMALL, *operation.patches):
        setattr(module, attribute, value)
    told = os.open(world.folder / _TOLD, os.O_WRONLY | os.O_APPEND)
    passed = os.open(world.folder / _PASSED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    points = Points(world.folder, at)
    points.install()
    for step in operation.steps[begin:]:
        step(world)
        os.write(told, b".")
    world.close()
    os.write(passed, json.dumps(points.passed).encode())


def import_all() -> None:
    """What takes longer to import than an operation takes."""
    for module in pkgutil.walk_packages(aurora.__path__, "aurora."):
        if not module.name.startswith(("aurora.__main__", "aurora.mcp")):
            importlib.import_module(module.name)
    for name in ("numpy", "psycopg_pool", "ruamel.yaml"):
        importlib.import_module(name)
