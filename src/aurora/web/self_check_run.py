"""`aur eval --self` in the background of a page."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from aurora.display.measurements import self_check_record
from aurora.engine import Memory
from aurora.engine.location import shown_name
from aurora.errors import AuroraError
from aurora.evaluation.self_check import check_self
from aurora.types import Event, Json, Progress


@dataclass(slots=True)
class SelfCheckRun:
    """The latest `aur eval --self` of this page: `idle`, `running`, `done` or `failed`."""

    state: str = "idle"
    done: int = 0
    total: int = 0
    result: dict[str, Json] | None = None
    error: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, memory: Memory) -> None:
        """Start a run in a thread, unless one is at work."""
        with self.lock:
            if self.state == "running":
                return
            self.state, self.done, self.total, self.error = "running", 0, 0, ""
        threading.Thread(target=self._run, args=(memory,), daemon=True).start()

    def _run(self, memory: Memory) -> None:
        try:
            where = shown_name(memory.name)
            check = check_self(memory, where, memory.root, listen=self._listen)
            self.result, self.state = self_check_record(check), "done"
        except AuroraError as exc:
            self.error, self.state = exc.in_one_line, "failed"
        except Exception as exc:
            self.error, self.state = repr(exc), "failed"
            raise

    def _listen(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.done, self.total = event.done, event.total
