"""How many calls a client may make: a bucket for each that fills steadily and holds a burst."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

WRONG_TOKENS = 20.0  # requests without the token, per second and address
_BURST = 2.0  # seconds' worth that may come at once
_MOST = 10_000  # clients remembered; the one that came longest ago goes first


class Rate:
    """Calls per second and client."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls left, since

    def take(self, client: str) -> float:
        """Count a call. Returns 0 if it may be made, otherwise the seconds to wait for it."""
        left, wanted = self._left(client), min(1.0, self._full)
        if left < wanted:
            return (wanted - left) / self._per_second
        self._buckets[client] = (left - 1.0, self._clock())
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return 0.0

    @property
    def _full(self) -> float:
        return _BURST * self._per_second

    def _left(self, client: str) -> float:
        now = self._clock()
        left, since = self._buckets.get(client, (self._full, now))
        return min(self._full, left + (now - since) * self._per_second)


class Limit:
    """Answers 429 to a client that calls too often, before anything is read of the call."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self._app, self._rate = app, rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and (seconds := self._rate.take(client_of(scope))):
            app = too_many("calls: wait a moment. The server's --rate is the limit", seconds)
        await app(scope, receive, send)


def too_many(what: str, seconds: float, **headers: str) -> JSONResponse:
    return JSONResponse(
        {"error": f"Too many {what}"},
        status_code=429,
        headers={"Retry-After": str(math.ceil(seconds)), **headers},
    )


def client_of(scope: Scope) -> str:
    """The peer's address; behind a proxy that --trusted-proxy names, the one that it tells."""
    client = scope.get("client")
    return str(client[0]) if client else ""
