"""What every view is given: the memories, and what only the command that starts the page knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aurora.engine import Memory
from aurora.errors import QueryError
from aurora.report_types import Finding
from aurora.serving.pool import MemoryPool
from aurora.types import Chunk
from aurora.web.guard import Access
from aurora.web.self_check_run import SelfCheckRun


@dataclass(frozen=True, slots=True)
class Door:
    """The memories of one `aur ui`, and the checks of `aur doctor` there."""

    pool: MemoryPool
    access: Access
    examine: Callable[[], Iterable[Finding]]
    self_check: SelfCheckRun = field(default_factory=SelfCheckRun)

    @property
    def memory(self) -> Memory:
        """The memory of the folder, as it is now: `aur index` may have just made it."""
        return self.pool.memory()

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    @property
    def generation(self) -> int:
        """A number that grows with a change of any memory that a search here asks."""
        return sum(layer.admin.generation for layer in self.memory.layers().values())

    def holder(self, name: str) -> Memory:
        """The memory with this name in results; without a name, that of the folder."""
        memory = self.memory
        if name in ("", memory.label):
            return memory
        known = memory.layers(workspace=True)
        if name not in known:
            raise QueryError(f"There is no memory {name!r}", hint=f"there are {', '.join(known)}")
        return known[name]

    def chunk(self, id_: str, memory: str, *, is_use: bool = False) -> tuple[Memory, Chunk]:
        """A chunk, and the memory that holds it."""
        return self.holder(memory).locate(id_, is_use=is_use)
