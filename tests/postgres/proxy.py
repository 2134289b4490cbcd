"""A wire between a client and a server that a test can cut, stall and mend."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress

from tests.postgres.places import find_free_port

HOST = "127.0.0.1"


class Proxy:
    """Forwards what comes to its port to `target_port` and back: `with Proxy(5432) as proxy: …`."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = find_free_port()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._is_cut = False
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._listen())

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """Resets all connections, and new ones until `mend`. The port stays taken."""
        self._do(self._cut())

    def stall(self) -> None:
        """Takes everything and forwards nothing until `mend`."""
        self._do(self._stall())

    def mend(self) -> None:
        self._do(self._mend())

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    async def _stall(self) -> None:
        self._flowing.clear()

    async def _mend(self) -> None:
        self._is_cut = False
        self._flowing.set()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)

    async def _end(self) -> None:
        await self._cut()
        if self._server is not None:
            self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self.target_port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        if self._is_cut:
            for each in both:
                each.transport.abort()
            return
        self._writers |= both
        try:
            await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        finally:
            self._writers -= both
            for each in both:
                each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
