"""Processes that answer the searches of a server for many clients, each at its own pace.

Threads of one process share the interpreter's lock: of several searches one computes, and the loop
that reads requests waits with the others. A worker is a process with the same memories and tools.
It maps the same index files, and sees what the server writes as any other process does.

The server starts workers when calls come at the same time, and answers by itself what no worker
answers. A worker ends when it has had nothing to do for a minute, and when its input ends, which a
killed server closes as well. A call is a line of JSON, and so is its answer: a result of the
protocol, or the text of an error.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult

from aurora.mcp.checked_tool import make_tools
from aurora.mcp.tools import Tools
from aurora.serving.pool import MemoryPool

logger = logging.getLogger(__name__)

_MODULE = "aurora.mcp.workers"
_PATIENCE = 5.0  # seconds that a call waits for a worker before the server answers it
_IDLE = 60.0  # seconds after which a worker without work ends
_LONGEST = 600.0  # seconds of a call: the first search of a large memory builds its indexes
_READY = b"{}\n"  # an answer to nothing


class Worker:
    """The server's side of one process. `on_change` hears that it is ready, and that it ended."""

    def __init__(self, pool: MemoryPool, idle: float, on_change: Callable[[Worker], None]) -> None:
        self.ready, self.has_ended = threading.Event(), False
        self._on_change, self._answers = on_change, SimpleQueue[bytes]()
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter, no shell
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(pool.environ),
        )
        # because of PIPE
        assert self.process.stdin is not None  # noqa: S101
        assert self.process.stdout is not None  # noqa: S101
        self._to_worker, self._from_worker = self.process.stdin, self.process.stdout
        folders = {name: str(folder) for name, folder in pool.folders.items()}
        setup = {"flags": pool.flags, "read_only": pool.read_only, "idle": idle}
        self._send({"folders": folders, **setup})
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        """The answer to one call; empty if the worker ended before it."""
        self._send({"tool": tool, "arguments": arguments})
        return self._answers.get()

    def end(self) -> None:
        """End the process, whatever it is at. A memory survives that at any moment."""
        self.process.kill()
        self.process.wait()

    def _send(self, message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # it has ended, as its output tells
            _write(self._to_worker, json.dumps(message))

    def _listen(self) -> None:
        with self._from_worker as answers:
            if answers.readline() == _READY:
                self._on_change(self)
                self.ready.set()
            for line in answers:
                self._answers.put(line)
        with suppress(OSError):  # of what was never read
            self._to_worker.close()
        self.process.wait()
        self.has_ended = True
        self._on_change(self)
        self._answers.put(b"")


class Workers:
    """Up to `most` workers over the memories of a pool, started when there is work for them."""

    def __init__(
        self, pool: MemoryPool, *, most: int, patience: float = _PATIENCE, idle: float = _IDLE
    ) -> None:
        self._pool, self._most, self._patience, self._idle = pool, most, patience, idle
        self._all: set[Worker] = set()
        self._free: list[Worker] = []
        self._waiting: list[object] = []  # calls
        self._calls = 0
        self._change = threading.Condition()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Around each call, also one that the server answers: two at a time need a worker."""
        with self._change:
            self._calls += 1
            if self._calls > max(len(self._all), 1) and len(self._all) < self._most:
                with suppress(OSError):  # no process or file is free: the server answers
                    self.start()
        try:
            yield
        finally:
            with self._change:
                self._calls -= 1

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult | None:
        """The answer of a worker; None if there is none."""
        worker = self._take()
        if worker is None:
            return None
        answer = worker.ask(tool, arguments)
        self._note_change(worker)
        if answer.startswith(b'"'):
            raise ToolError(json.loads(answer))
        return CallToolResult.model_validate_json(answer) if answer else None

    def start(self) -> Worker:
        with self._change:
            worker = Worker(self._pool, self._idle, self._note_change)
            self._all.add(worker)
        return worker

    def close(self) -> None:
        """End all workers. Calls that they are at are answered by the server."""
        with self._change:
            self._most = 0
            ending = list(self._all)
        for worker in ending:
            worker.end()

    def _take(self) -> Worker | None:
        """A worker without work, perhaps after a moment. The first call to wait gets the first."""
        call = object()

        def has_turn() -> bool:
            return self._waiting.index(call) < len(self._free)

        with self._change:
            if not any(worker.ready.is_set() for worker in self._all):
                return None
            self._waiting.append(call)
            is_turn = self._change.wait_for(has_turn, self._patience)
            self._waiting.remove(call)
            return self._free.pop() if is_turn else None

    def _note_change(self, worker: Worker) -> None:
        """A worker is free, or has ended."""
        with self._change:
            if not worker.has_ended:
                self._free.append(worker)
                self._change.notify()
            elif worker in self._all:
                self._all.remove(worker)
                self._free = [free for free in self._free if free is not worker]
                if not worker.ready.is_set():  # the next one could not start, either
                    self._most = 0


# The worker's side


def work(calls: IO[bytes], answers: IO[bytes]) -> None:
    """Answer calls until there are none for a while. The process ends with its input."""
    lines = SimpleQueue[bytes]()
    threading.Thread(target=_read, args=(calls, lines.put), daemon=True).start()
    setup = json.loads(lines.get())
    folders = {name: Path(folder) for name, folder in setup["folders"].items()}
    pool = MemoryPool(folders, os.environ, setup["flags"], read_only=setup["read_only"])
    note_call = None if pool.read_only else pool.note_call
    tools = make_tools(Tools(pool), read_only=pool.read_only, note_call=note_call)
    _write(answers, "{}")
    with suppress(Empty):
        asyncio.run(_answer_all(tools, partial(lines.get, timeout=setup["idle"]), answers))
    pool.close()


async def _answer_all(
    tools: Iterable[Tool], next_line: Callable[[], bytes], answers: IO[bytes]
) -> None:
    """Nothing else runs in this loop, so that it may wait for a line. All calls run in one thread,
    which keeps its connections."""
    by_name = {tool.name: tool for tool in tools}
    while line := next_line():
        faulthandler.dump_traceback_later(_LONGEST, exit=True)
        call = json.loads(line)
        answer = await _answer(by_name[call["tool"]], call["arguments"])
        faulthandler.cancel_dump_traceback_later()
        _write(answers, answer)


async def _answer(tool: Tool, arguments: dict[str, Any]) -> str:
    try:
        result = await tool.run(arguments, Context(), convert_result=True)
    except ToolError as exc:
        if isinstance(exc, UnexpectedToolError):
            logger.exception("Tool %r raised an unexpected exception", tool.name)
        return json.dumps(str(exc))
    answer: CallToolResult = result
    return answer.model_dump_json(by_alias=True, exclude_none=True)


def _read(calls: IO[bytes], take: Callable[[bytes], None]) -> None:
    """Pass on each line. After the last one the server is gone, whatever is being computed."""
    for line in calls:
        take(line)
    os._exit(0)


def _write(pipe: IO[bytes], line: str) -> None:
    pipe.write(line.encode() + b"\n")
    pipe.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with suppress(BrokenPipeError):  # the server is gone
        work(sys.stdin.buffer, sys.stdout.buffer)
    os._exit(0)  # a thread reads the input, which an exit would wait for
