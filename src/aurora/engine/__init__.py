"""The engine: `Memory` is everything the doors above use."""

from aurora.engine.inspection import Stats
from aurora.engine.memory import Memory

__all__ = ["Memory", "Stats"]
