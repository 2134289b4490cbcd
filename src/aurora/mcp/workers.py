"""Processes that answer the searches of a server for many clients, each at its own pace.

Threads of one process share the interpreter's lock: of several searches one computes, and the loop
that reads requests waits with the others. A worker is a process with the same memories and tools.
It maps the same index files, and sees what the server writes as any other process does.

The server starts workers when calls come at the same time, and answers by itself what no worker
answers. A worker ends when it has had nothing to do for a minute, and when its input ends, which a
killed server closes as well. A call is a line of JSON, and so is its answer.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from aurora.mcp.checked_tool import make_tools
from aurora.mcp.tools import Tools
from aurora.serving.pool import MemoryPool
from aurora.types import Json

_MODULE = "aurora.mcp.workers"
_PATIENCE = 1.0  # seconds that a call waits for a worker before the server answers it
_IDLE = 60.0  # seconds after which a worker without work ends
_LONGEST = 600.0  # seconds of a call: the first search of a large memory builds its indexes
_READY = b"{}\n"


class Worker:
    """The server's side of one process. `on_change` hears that it is ready, and that it ended."""

    def __init__(self, pool: MemoryPool, on_change: Callable[[Worker], None]) -> None:
        self.is_ready = self.has_ended = False
        self._on_change, self._answers = on_change, SimpleQueue[bytes]()
        self.process = subprocess.Popen(  # noqa: S603 - no shell, and this interpreter
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(pool.environ),
        )
        folders = {name: str(folder) for name, folder in pool.folders.items()}
        self._send({"folders": folders, "flags": pool.flags, "read_only": pool.read_only})
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Json:
        """The answer to one call; None if the worker ended before it."""
        self._send({"tool": tool, "arguments": arguments})
        line = self._answers.get()
        return json.loads(line) if line else None

    def end(self) -> None:
        """End the process, whatever it is at. A memory survives that at any moment."""
        self.process.kill()
        self.process.wait()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:  # it has ended, as its output tells
            pass

    def _listen(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            if answers.readline() == _READY:
                self.is_ready = True
                self._on_change(self)
            for line in answers:
                self._answers.put(line)
        self.process.wait()
        self.has_ended = True
        self._on_change(self)
        self._answers.put(b"")


class Workers:
    """Up to `most` workers over the memories of a pool, started when there is work for them."""

    def __init__(self, pool: MemoryPool, *, most: int) -> None:
        self._pool, self._most = pool, most
        self._all: set[Worker] = set()
        self._free: list[Worker] = []
        self._calls = 0
        self._change = threading.Condition()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Around each call: from two at a time on, there are workers."""
        with self._change:
            self._calls += 1
            if self._calls > max(len(self._all), 1) and len(self._all) < self._most:
                self._start()
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
        if not isinstance(answer, dict):
            return None
        if "error" in answer:
            raise ToolError(str(answer["error"]))
        return CallToolResult.model_validate(answer["result"])

    def close(self) -> None:
        with self._change:
            self._most = 0
            ending = list(self._all)
        for worker in ending:
            worker.end()

    def _start(self) -> None:
        with suppress(OSError):  # no process or file is free: the server answers
            self._all.add(Worker(self._pool, self._note_change))

    def _take(self) -> Worker | None:
        """A worker without work, perhaps after a moment."""
        with self._change:
            if any(worker.is_ready for worker in self._all):
                self._change.wait_for(lambda: self._free, _PATIENCE)
            return self._free.pop() if self._free else None

    def _note_change(self, worker: Worker) -> None:
        """A worker is ready for the next call, or has ended."""
        with self._change:
            if not worker.has_ended:
                self._free.append(worker)
            elif worker in self._all:
                self._all.remove(worker)
                self._free = [free for free in self._free if free is not worker]
            self._change.notify_all()


# The worker's side


def work(calls: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until there are none for a while. The process ends with its input."""
    setup = json.loads(calls.readline())
    folders = {name: Path(folder) for name, folder in setup["folders"].items()}
    pool = MemoryPool(folders, os.environ, setup["flags"], read_only=setup["read_only"])
    note_call = None if pool.read_only else pool.note_call
    tools = make_tools(Tools(pool), read_only=pool.read_only, note_call=note_call)
    by_name = {tool.name: tool for tool in tools}
    lines = SimpleQueue[bytes]()
    threading.Thread(target=_read, args=(calls, lines.put), daemon=True).start()
    _write(answers, _READY)
    with asyncio.Runner() as runner:
        while True:
            try:
                call = json.loads(lines.get(timeout=_IDLE))
            except Empty:
                break
            faulthandler.dump_traceback_later(_LONGEST, exit=True)
            answer: dict[str, object] = {}
            try:
                run = by_name[call["tool"]].run(call["arguments"], Context(), convert_result=True)
                result = runner.run(run)
                answer["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            except ToolError as exc:
                answer["error"] = str(exc)
            faulthandler.cancel_dump_traceback_later()
            _write(answers, json.dumps(answer).encode() + b"\n")
    pool.close()


def _read(calls: Iterable[bytes], take: Callable[[bytes], None]) -> None:
    """Pass on each line. After the last one the server is gone: there is nobody to answer."""
    for line in calls:
        take(line)
    os._exit(0)


def _write(answers: BinaryIO, line: bytes) -> None:
    answers.write(line)
    answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    work(sys.stdin.buffer, sys.stdout.buffer)
