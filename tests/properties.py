"""How many examples a property is tried on, by the environment's HYPOTHESIS_PROFILE.

`core` (make test) tries a tenth of them, `thorough` (make stress) all, and `quick`, for mutants,
ten without looking for the smallest. Otherwise it is a quarter.
"""

from __future__ import annotations

import os

from hypothesis import Phase

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "")
USUAL = 100  # where a test says nothing
PHASES = [Phase.explicit, Phase.generate] if _PROFILE == "quick" else list(Phase)
_SHARES = {"core": 10, "thorough": 1}


def examples(count: int) -> int:
    return 10 if _PROFILE == "quick" else max(count // _SHARES.get(_PROFILE, 4), 10)
