"""How things stand: what an examination finds, and what has become of an index file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. Only a failure means that something does not work."""

    OK = "ok"
    NOTE = "note"  # worth knowing: less is there than could be, or something will be made anew
    WARN = "warn"  # works, but should not stay so
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an examination. The hint is the next step, where there is one."""

    level: Level
    area: str
    text: str
    hint: str = ""


class IndexState(StrEnum):
    """How a derived index file stands to the memory it was made of."""

    CURRENT = "current"
    BEHIND = "behind"  # made of this memory as it was: the next search merges what changed
    OUTDATED = "outdated"  # of another memory, version or setting: the next search makes it anew
    MISSING = "missing"
    DAMAGED = "damaged"

    @property
    def told(self) -> str:
        """The state and what comes of it, as a person would say it."""
        return _TOLD[self]


_TOLD = {
    IndexState.CURRENT: "up to date",
    IndexState.BEHIND: "behind the memory: what changed will be merged at the next search",
    IndexState.OUTDATED: "made otherwise than now: will be made anew at the next search",
    IndexState.MISSING: "missing: will be built at the next search",
    IndexState.DAMAGED: "damaged: will be built anew at the next search",
}


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """What was found of an index file, and why it is not current."""

    state: IndexState
    reason: str = ""
