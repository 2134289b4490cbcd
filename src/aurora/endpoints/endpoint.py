"""Talk with an endpoint over HTTP: one open client, tries again, time-outs, a limit on answers.

This module needs httpx2 (extras `openai` and `llm`). What was said, and the key, go into no message
or log.
"""

from __future__ import annotations

import contextlib
import ssl
import weakref
from collections.abc import Generator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import httpx2

from aurora.endpoints.address import Address
from aurora.endpoints.patience import Patience, Timing, wait_before_next
from aurora.endpoints.secrets import ApiKey
from aurora.endpoints.wire import read_code
from aurora.errors import AuroraError

_CONNECT = 5.0  # seconds
_LONGEST_ERROR = 65_536  # bytes of an error that are read
_TOO_MUCH = {400, 413, 422}  # what servers say to a text longer than the model's window
_LATER = {408, 425, 429}


class _NotNowError(Exception):
    """Something that may be better in a moment. Its words go on after "the endpoint …"."""

    def __init__(self, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.headers = headers or {}


class _Request(NamedTuple):
    """What is sent, the most that may come back, and when (on the clock) nobody waits any more."""

    body: bytes
    limit: int
    patience: Patience
    until: float


class Endpoint:
    """One address and the model that is asked for there. Threads may share it."""

    def __init__(self, address: Address, key: ApiKey | None, model: str, timing: Timing) -> None:
        self._address, self._model, self._timing = address, model, timing
        self._purpose = address.purpose
        self._has_key = key is not None
        self._is_away = False  # the last request was given up
        try:
            self._client = httpx2.Client(
                auth=None if key is None else _Bearer(key),
                headers={"User-Agent": _user_agent(), "Accept-Encoding": "identity"},
                follow_redirects=False,  # the key is for this address alone
                trust_env=address.is_encrypted,  # a proxy would read what is not
                verify=True if address.is_encrypted else _trust_nobody(),
            )
        except (ValueError, OSError, httpx2.InvalidURL) as exc:
            # Only its kind is told: the address of a proxy may hold a password.
            raise self._error(
                f"cannot be asked from here ({type(exc).__name__})",
                "check HTTPS_PROXY and SSL_CERT_FILE in the environment",
            ) from exc
        self.close = weakref.finalize(self, _close_quietly, self._client)

    def post(self, body: bytes, *, limit: int, patience: Patience, until: float) -> bytes:
        """The answer's body. Raises the purpose's errors: `refused` for what is not wanted.

        After a request was given up the next ones are tried once each, until one is answered: who
        indexes ten thousand chunks should not wait ten thousand times.
        """
        clock, sleep, chance = self._timing
        request = _Request(body, limit, patience, until)
        attempts = 1 if self._is_away else request.patience.attempts
        for attempt in range(1, attempts + 1):
            try:
                return self._try(request)
            except _NotNowError as exc:
                trouble = exc
            wait = wait_before_next(attempt, trouble.headers, chance())
            if attempt == attempts or clock() + wait >= request.until:
                break
            sleep(wait)
        self._is_away = True
        tried = f", tried {attempt} times" if attempt > 1 else ""
        raise self._error(
            f"{trouble}{tried}",
            f"check that it runs and can be reached, or set another {self._purpose.setting}",
        ) from trouble

    def _try(self, request: _Request) -> bytes:
        left = request.until - self._timing.clock()
        if left <= 0:
            raise _NotNowError(f"gave no answer in {request.patience.seconds:g} s")
        timeout = httpx2.Timeout(min(request.patience.silence, left), connect=min(_CONNECT, left))
        try:
            with self._client.stream(
                "POST",
                self._address.url + self._purpose.path,
                content=request.body,
                headers={"Content-Type": "application/json"},
                timeout=timeout,
            ) as response:
                self._check(response, request)
                return self._read(response, request)
        except httpx2.ConnectError as exc:
            raise _NotNowError(f"cannot be reached: {exc}") from exc
        except httpx2.TimeoutException as exc:
            raise _NotNowError("gave no answer in time") from exc
        except httpx2.TransportError as exc:
            raise _NotNowError(f"broke off ({type(exc).__name__})") from exc
        except httpx2.RequestError as exc:
            raise self._error("answered with something that cannot be unpacked") from exc

    def _read(self, response: httpx2.Response, request: _Request) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > request.limit:
                raise self._error(f"answered with more than {request.limit:,} bytes")
            if self._timing.clock() >= request.until:
                raise _NotNowError(f"gave no whole answer in {request.patience.seconds:g} s")
        self._is_away = False
        return bytes(body)

    def _check(self, response: httpx2.Response, request: _Request) -> None:
        """Raises what a status means."""
        status = response.status_code
        if 200 <= status < 300:
            return
        code = self._code(response, request)
        if (status in _LATER and code != "insufficient_quota") or status >= 500:
            raise _NotNowError(f"is busy or failed ({_named(status, code)})", response.headers)
        self._is_away = False
        if status in _TOO_MUCH:
            raise self._purpose.refused(
                f"The endpoint {self._address.url} refuses what {self._model} should "
                f"{self._purpose.task} ({_named(status, code)})",
                hint=f"check `{self._purpose.section}.model` and what its server logs",
            )
        raise self._error(*self._explain(status, code))

    def _code(self, response: httpx2.Response, request: _Request) -> str:
        body = bytearray()
        with contextlib.suppress(httpx2.RequestError):  # the status says enough
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _LONGEST_ERROR or self._timing.clock() >= request.until:
                    break
        return read_code(bytes(body))

    def _explain(self, status: int, code: str) -> tuple[str, str]:
        named, setting = _named(status, code), self._purpose.setting
        if status in (401, 403):
            words = "refuses the key" if self._has_key else "wants a key"
            keep = f"`keyring set aurora {self._address.host}`"
            return f"{words} ({named})", f"set {self._purpose.variable}, or keep one with {keep}"
        if status == 404:
            return (
                f"has no such model, or is no OpenAI-compatible address ({named})",
                f"check {setting} (most end in /v1) and `{self._purpose.section}.model`",
            )
        if 300 <= status < 400:
            return f"points elsewhere ({named})", f"set {setting} to where it leads"
        return f"refuses to answer ({named})", f"check {setting} and your account there"

    def _error(self, words: str, hint: str = "") -> AuroraError:
        return self._purpose.error(
            f"The endpoint {self._address.url} ({self._model}) {words}",
            hint=hint or f"check that {self._purpose.setting} is an OpenAI-compatible address",
        )


class _Bearer(httpx2.Auth):
    """Puts the key where only the request has it: no variable, no client shows it."""

    def __init__(self, key: ApiKey) -> None:
        self._key = key

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key.reveal()}"
        yield request


def _named(status: int, code: str) -> str:
    return f"{status}, {code}" if code else str(status)


def _trust_nobody() -> ssl.SSLContext:
    """For an address without TLS: to read whom one could trust takes 70 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _user_agent() -> str:
    try:
        return f"aurora/{version('aurora-memory')}"
    except PackageNotFoundError:  # run from a folder
        return "aurora"


def _close_quietly(client: httpx2.Client) -> None:
    with contextlib.suppress(Exception):  # at exit nobody can do anything about it
        client.close()
