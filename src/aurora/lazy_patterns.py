"""Patterns that are compiled on first use: a start would compile a hundred that it never needs."""

from __future__ import annotations

import re
from typing import cast


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> object:
        value = getattr(re.compile(*self._arguments), name)
        setattr(self, name, value)  # found without this method from now on
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` returns, but for errors, which come with the first use."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
