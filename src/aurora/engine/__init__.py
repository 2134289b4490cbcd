"""The engine: `Memory` is everything the doors above use."""

from aurora.engine.memory import Memory, Stats

__all__ = ["Memory", "Stats"]
