"""Answers the hooks of a project from a server that runs for it anyway, over a Unix socket.

The socket lies in the memory's folder and belongs to its owner alone. A call is one JSON object and
the end of the stream; so is the answer. What the server does not answer, a hook answers by itself:
calls of another memory or with other variables, and all calls where there are no Unix sockets.

Of several servers of a project the first has the socket: it holds a lock until it ends. A server
that was killed leaves a file, which the next one replaces.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from aurora.concurrency import BackgroundTask
from aurora.config import Places
from aurora.errors import AuroraError
from aurora.files import OWNER_ONLY, OWNERS_FOLDER, open_file, require_own
from aurora.hooks.answering import HookRequest, OpenMemory, answer_hook
from aurora.hooks.client import (
    MOST_BYTES,
    PROTOCOL,
    RUN_FOLDER,
    SOCKET,
    own_user,
    own_variables,
    peer_of,
    unix_socket,
)
from aurora.hooks.occasions import Occasion, occasion_of
from aurora.platforms import lock
from aurora.types import Json

logger = logging.getLogger(__name__)

_LONGEST_PATH = 100  # bytes: the systems' limit is 104 or 108
_SECONDS = 1.0  # for a call to arrive: a hook sends all at once
_FIRST = "what was decided"  # any words
_CLOSING = 2.0  # seconds that a server waits for a call at its end
_MOST_CALLS = 8  # at a time; further ones are answered by the hooks themselves


@contextmanager
def answering_hooks(
    folders: Mapping[Path, OpenMemory], environ: Mapping[str, str]
) -> Iterator[None]:
    """Answer the hooks of these memories' folders while the block runs, where that is possible."""
    servers = []
    for folder, open_memory in folders.items():
        with suppress(OSError, AuroraError):  # the hooks answer by themselves
            if server := _listen(folder, open_memory, environ):
                servers.append(server)
    try:
        yield
    finally:
        for server in servers:
            server.close()


def _listen(folder: Path, open_memory: OpenMemory, environ: Mapping[str, str]) -> HookServer | None:
    path = folder / RUN_FOLDER / SOCKET
    if len(os.fsencode(path)) > _LONGEST_PATH or not folder.is_dir():
        return None
    unix_socket().close()  # an error where there are none
    require_own(folder)
    path.parent.mkdir(mode=OWNERS_FOLDER, exist_ok=True)
    if not stat.S_ISDIR(path.parent.lstat().st_mode):
        return None
    turn = open_file(path.with_suffix(".lock"), "ab")
    try:
        lock(turn)
    except OSError:  # another server answers
        turn.close()
        return None
    return HookServer(path, turn, open_memory, environ)


class HookServer:
    """Answers calls at one socket, each in a thread of its own."""

    def __init__(
        self, path: Path, turn: BinaryIO, open_memory: OpenMemory, environ: Mapping[str, str]
    ) -> None:
        self._path, self._turn, self._open_memory, self._environ = path, turn, open_memory, environ
        self._calls = threading.Semaphore(_MOST_CALLS)
        path.unlink(missing_ok=True)  # of a server that was killed
        self._socket = _bind(path)
        atexit.register(self.close)  # a server that a signal ends runs nothing else
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more calls, and wait a little for those at work: their memory is closed next."""
        if self._turn.closed:
            return
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends the wait for a call
        self._socket.close()
        self._turn.close()
        atexit.unregister(self.close)
        until = time.monotonic() + _CLOSING
        for _ in range(_MOST_CALLS):
            self._calls.acquire(timeout=max(until - time.monotonic(), 0))

    def _accept(self) -> None:
        while True:
            try:
                call, _ = self._socket.accept()
            except OSError:  # the socket is closed
                return
            if self._calls.acquire(blocking=False):
                BackgroundTask(partial(self._answer, call))
            else:
                call.close()

    def _answer(self, call: socket.socket) -> None:
        try:
            with call:
                call.settimeout(_SECONDS)
                later = self._reply(call)
            if later is not None:
                self._work(later)
        except Exception as exc:
            logger.debug("a hook was not answered: %r", exc)
        finally:
            self._calls.release()

    def _reply(self, call: socket.socket) -> HookRequest | None:
        """Answer one call. Returns it, if there is work to do after the answer."""
        request = self._read(call) if _is_own(call) else None
        if request is None:
            return None
        occasion = occasion_of(request.agent, request.event)
        output = ""
        if occasion is not Occasion.FOLLOW:
            output = answer_hook(request, self._open_memory)
        call.sendall(json.dumps({"protocol": PROTOCOL, "output": output}).encode())
        return request if occasion in (Occasion.FOLLOW, Occasion.START) else None

    def _work(self, request: HookRequest) -> None:
        """Read the session's new records; after a start, be ready for the first prompt."""
        if occasion_of(request.agent, request.event) is Occasion.FOLLOW:
            answer_hook(request, self._open_memory)
        else:
            places = Places.find(Path(request.folder), self._environ)
            self._open_memory(places).search(_FIRST, limit=1)  # loads the model and the indexes

    def _read(self, call: socket.socket) -> HookRequest | None:
        """The call, if it is one that this server may answer."""
        content = bytearray()
        while piece := call.recv(1 << 16):
            content += piece
            if len(content) > 2 * MOST_BYTES:  # escapes make it longer
                return None
        message: Json = json.loads(content)
        if not isinstance(message, dict) or message.get("protocol") != PROTOCOL:
            return None
        if message.get("variables") != own_variables(self._environ):
            return None
        agent, event, folder = (str(message.get(key)) for key in ("agent", "event", "folder"))
        self._open_memory(Places.find(Path(folder), self._environ))  # an error for another one
        return HookRequest(agent, event, message.get("payload"), folder, self._environ)


def _bind(path: Path) -> socket.socket:
    listener = unix_socket()
    try:
        listener.bind(str(path))
        path.chmod(OWNER_ONLY)
        listener.listen(_MOST_CALLS)
    except OSError:
        listener.close()
        raise
    return listener


def _is_own(call: socket.socket) -> bool:
    """Whether the caller is the same user, where the system tells; the folder is private."""
    return peer_of(call) in (None, own_user())
