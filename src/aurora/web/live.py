"""Tells open pages what changes: server-sent events.

Other processes write to the memory, too. So one task looks at its generation and at the progress of
an index run, twice a second, and only while a page listens.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from aurora.errors import AuroraError
from aurora.types import Json
from aurora.web.door import Door

_BETWEEN_LOOKS = 0.5  # seconds
_HEARTBEAT = 30  # looks: a browser notices a dead connection only by silence


class Watcher:
    """The latest state of the memory, read at most once per look however many pages listen."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._read_at, self._state = -1.0, dict[str, Json]()
        self._lock = asyncio.Lock()

    async def state(self) -> dict[str, Json]:
        now = asyncio.get_running_loop().time()
        async with self._lock:
            if now - self._read_at >= _BETWEEN_LOOKS:
                self._state = await run_in_threadpool(self._look)
                self._read_at = now
        return self._state

    def _look(self) -> dict[str, Json]:
        """The generation, and the index run at work."""
        with suppress(AuroraError):  # a memory that is being replaced
            memory = self._door.memory
            generation = self._door.generation
            run = memory.admin.run_progress if memory.exists else None
            return {"change": {"generation": generation}, "run": {**run._asdict()} if run else None}
        return {"change": {"generation": 0}, "run": None}


def stream_events(watcher: Watcher, is_ending: Callable[[], bool]) -> StreamingResponse:
    """An endless answer. The first events are the present state."""

    async def events() -> AsyncIterator[str]:
        sent, looks = dict[str, Json](), 0
        while not is_ending():
            for name, value in (await watcher.state()).items():
                if name not in sent or sent[name] != value:
                    sent[name] = value
                    yield f"event: {name}\ndata: {json.dumps(value)}\n\n"
            if looks % _HEARTBEAT == 0:
                yield ": still here\n\n"
            looks += 1
            await asyncio.sleep(_BETWEEN_LOOKS)

    return StreamingResponse(events(), media_type="text/event-stream")
