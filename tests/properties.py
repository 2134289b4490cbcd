"""How many examples a property is tried on: a quarter, but with HYPOTHESIS_PROFILE=thorough all."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
USUAL = 100  # where a test says nothing


def examples(count: int) -> int:
    return count if THOROUGH else max(count // 4, 10)
