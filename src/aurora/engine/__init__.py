"""The engine: `Memory` is everything the command line and the servers use."""

from aurora.engine.memory import Memory, Stats

__all__ = ["Memory", "Stats"]
