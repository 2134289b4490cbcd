"""Every test here runs git without the user's own settings."""

from __future__ import annotations

import pytest

from tests.sources.repository import own_git

__all__ = ["own_git"]


@pytest.fixture(params=[0, 100], ids=["replay", "blame"])
def way(request: pytest.FixtureRequest) -> int:
    """How many files `git blame` is asked for: none, or all."""
    return int(request.param)
