"""The language model: whether what the settings want of it could be asked for. Nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator

from aurora.engine.memory import Memory
from aurora.errors import LlmError
from aurora.types import Finding, Level

AREA = "memory"


def examine_llm(memory: Memory) -> Iterator[Finding]:
    """Nothing to say where no setting wants one."""
    search = memory.settings.search
    if not search.expand and search.rerank.by != "llm":
        return
    try:
        name = memory.check_llm()
    except LlmError as exc:
        yield Finding(Level.WARN, AREA, f"Language model: {exc.message}", exc.hint)
    else:
        yield Finding(Level.OK, AREA, f"Language model: {name} (not asked: it is elsewhere)")
