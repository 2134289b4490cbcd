"""Processes to ruin, and how much of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.faults.children import Children
from tests.faults.world import World, make_world
from tests.sources.repository import own_git

__all__ = ["own_git"]

THOROUGH = os.environ.get("AURORA_FAULTS") == "thorough"


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    with Children() as children:
        yield children


@pytest.fixture(scope="session")
def world(children: Children, tmp_path_factory: pytest.TempPathFactory) -> World:
    """For those who restore the memory, and leave the project as it is."""
    return children.run(make_world, tmp_path_factory.mktemp("torn"))


def some(few: int, many: int) -> int:
    """How many cases: few by default, many with AURORA_FAULTS=thorough."""
    return many if THOROUGH else few
