"""How many examples a property is tried on: a quarter. With HYPOTHESIS_PROFILE=thorough all, and
with `quick`, for mutants, ten, of which nobody needs the smallest."""

from __future__ import annotations

import os

from hypothesis import Phase

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE")
USUAL = 100  # where a test says nothing
PHASES = [Phase.explicit, Phase.generate] if _PROFILE == "quick" else list(Phase)


def examples(count: int) -> int:
    if _PROFILE == "quick":
        return 10
    return count if _PROFILE == "thorough" else max(count // 4, 10)
