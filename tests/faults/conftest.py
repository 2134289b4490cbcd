"""Processes to ruin, and how much of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.faults.children import Children
from tests.sources.repository import own_git

__all__ = ["own_git"]

THOROUGH = os.environ.get("AURORA_FAULTS") == "thorough"


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    with Children() as children:
        yield children


def some(few: int, many: int) -> int:
    """How many cases: few by default, many with AURORA_FAULTS=thorough."""
    return many if THOROUGH else few
