"""When a server ends by itself: nobody has asked it for a while, or its starter is gone.

A client that ends closes the server's stdin, which ends it at once. But a client that is killed may
leave the pipe open in another program, and a client that forgets its server runs on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext


def _never() -> bool:
    return False


class Lifetime:
    """Middleware of a server: it notes each request. Every message but a ping is one."""

    def __init__(
        self,
        *,
        idle_minutes: float = 0.0,
        has_parent: bool = False,
        clock: Callable[[], float] = time.monotonic,
        parent: Callable[[], int] = os.getppid,
    ) -> None:
        """`idle_minutes` of 0 are no limit. With `has_parent` the server ends with the process
        that started it; on Windows, which does not tell, only with its stdin."""
        self.is_busy: Callable[[], bool] = _never  # beside requests, such as with an index run
        self._minutes, self._clock, self._parent = idle_minutes, clock, parent
        self._started_by = parent() if has_parent else None
        self._running, self._latest = 0, clock()

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if ctx.method == "ping":
            return await call_next(ctx)
        self._running += 1
        try:
            return await call_next(ctx)
        finally:
            self._running -= 1
            self._latest = self._clock()

    def note_request(self) -> None:
        """A request came by another way than the protocol."""
        self._latest = self._clock()

    def reason_to_end(self) -> str:
        """A sentence for people; empty while the server should run on."""
        if self._started_by is not None and self._parent() != self._started_by:
            return "Ended with the program that started it"
        if self._running or self.is_busy():
            self._latest = self._clock()
        if self._minutes and self._clock() - self._latest >= self._minutes * 60:
            return f"Ended: nobody has asked for {self._minutes:g} minutes (mcp.idle_minutes)"
        return ""
