"""The HTTP client of an endpoint: retries, time-outs, a limit on answers (needs httpx2)."""

from __future__ import annotations

import contextlib
import re
import ssl
import weakref
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import httpx2

from aurora.endpoints import Address, ApiKey, Patience, Timing, read_code
from aurora.errors import AuroraError

_CONNECT = 5.0  # seconds
_LONGEST_ERROR = 65_536  # bytes of an error that are read
_TOO_MUCH = {400, 413, 422}  # answers to a text longer than the model's window
_LATER = {408, 425, 429}  # answers that ask for another attempt
_FIRST_WAIT = 0.5  # seconds; doubles with each attempt
_LONGEST_WAIT = 30.0
_LONGEST_RETRY_AFTER = 60.0
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class _RetryError(Exception):
    """A failure that may pass. Its text continues "The endpoint …"."""

    def __init__(self, problem: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem)
        self.headers = headers or {}


class _Request(NamedTuple):
    body: bytes
    limit: int  # bytes of the answer
    patience: Patience
    until: float  # on the clock


class Endpoint:
    """An address and a model. Threads may share it."""

    def __init__(self, address: Address, key: ApiKey | None, model: str, timing: Timing) -> None:
        self._address, self._model, self._timing = address, model, timing
        self._purpose = address.purpose
        self._has_key = key is not None
        self._is_away = False  # the last request failed with all its attempts
        try:
            self._client = httpx2.Client(
                auth=None if key is None else partial(_authorize, key),
                headers={"User-Agent": _user_agent(), "Accept-Encoding": "identity"},
                follow_redirects=False,  # the key is for this address alone
                trust_env=address.is_encrypted,  # a proxy would read what is not encrypted
                # Without TLS, no certificates: loading them takes 70 ms.
                verify=address.is_encrypted or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            )
        except (ValueError, OSError, httpx2.InvalidURL) as exc:
            # Only the kind of the error: the address of a proxy may hold a password.
            raise self._error(
                f"cannot be asked from here ({type(exc).__name__})",
                "check HTTPS_PROXY and SSL_CERT_FILE in the environment",
            ) from exc
        self.close = weakref.finalize(self, _close_quietly, self._client)

    def post(self, body: bytes, *, limit: int, patience: Patience, until: float) -> bytes:
        """The body of the answer. Raises the purpose's errors: `refused` for a refused input.

        After a request that failed, the next ones get one attempt each until one is answered: an
        index of ten thousand chunks does not wait ten thousand times.
        """
        clock, sleep, chance = self._timing
        request = _Request(body, limit, patience, until)
        attempts = 1 if self._is_away else patience.attempts
        for attempt in range(1, attempts + 1):
            try:
                return self._try(request)
            except _RetryError as exc:
                failure = exc
            wait = wait_before_next(attempt, failure.headers, chance())
            if attempt == attempts or clock() + wait >= until:
                break
            sleep(wait)
        self._is_away = True
        tried = f", tried {attempt} times" if attempt > 1 else ""
        raise self._error(
            f"{failure}{tried}",
            f"check that it runs and can be reached, or set another {self._purpose.setting}",
        ) from failure

    def _try(self, request: _Request) -> bytes:
        left = request.until - self._timing.clock()
        if left <= 0:
            raise _RetryError(f"gave no answer in {request.patience.seconds:g} s")
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
            raise _RetryError(f"cannot be reached: {exc}") from exc
        except httpx2.TimeoutException as exc:
            raise _RetryError("gave no answer in time") from exc
        except httpx2.TransportError as exc:
            raise _RetryError(f"broke off ({type(exc).__name__})") from exc
        except httpx2.RequestError as exc:
            raise self._error("answered with something that cannot be unpacked") from exc

    def _read(self, response: httpx2.Response, request: _Request) -> bytes:
        body = bytearray()
        for block in response.iter_bytes():
            body += block
            if len(body) > request.limit:
                raise self._error(f"answered with more than {request.limit:,} bytes")
            if self._timing.clock() >= request.until:
                raise _RetryError(f"gave no whole answer in {request.patience.seconds:g} s")
        self._is_away = False
        return bytes(body)

    def _check(self, response: httpx2.Response, request: _Request) -> None:
        """Raises the error that a status means."""
        status = response.status_code
        if 200 <= status < 300:
            return
        code = self._read_code(response, request)
        named = f"{status}, {code}" if code else str(status)
        if (status in _LATER and code != "insufficient_quota") or status >= 500:
            raise _RetryError(f"is busy or failed ({named})", response.headers)
        self._is_away = False
        if status in _TOO_MUCH:
            raise self._purpose.refused(
                f"The endpoint {self._address.url} refuses what {self._model} should "
                f"{self._purpose.task} ({named})",
                hint=f"check `{self._purpose.section}.model` and what its server logs",
            )
        raise self._error(*self._explain(status, named))

    def _read_code(self, response: httpx2.Response, request: _Request) -> str:
        body = bytearray()
        with contextlib.suppress(httpx2.RequestError):  # the status says enough
            for block in response.iter_bytes():
                body += block
                if len(body) > _LONGEST_ERROR or self._timing.clock() >= request.until:
                    break
        return read_code(bytes(body))

    def _explain(self, status: int, named: str) -> tuple[str, str]:
        """The problem and the next step."""
        setting = self._purpose.setting
        if status in (401, 403):
            problem = "refuses the key" if self._has_key else "wants a key"
            keep = f"`keyring set aurora {self._address.host}`"
            return f"{problem} ({named})", f"set {self._purpose.variable}, or keep one with {keep}"
        if status == 404:
            return (
                f"has no such model, or is no OpenAI-compatible address ({named})",
                f"check {setting} (most end in /v1) and `{self._purpose.section}.model`",
            )
        if 300 <= status < 400:
            return f"points elsewhere ({named})", f"set {setting} to where it leads"
        return f"refuses to answer ({named})", f"check {setting} and your account there"

    def _error(self, problem: str, hint: str = "") -> AuroraError:
        return self._purpose.error(
            f"The endpoint {self._address.url} ({self._model}) {problem}",
            hint=hint or f"check that {self._purpose.setting} is an OpenAI-compatible address",
        )


def wait_before_next(attempt: int, headers: Mapping[str, str], chance: float) -> float:
    """Seconds to wait after an attempt: the server's `Retry-After`, else longer each time.

    Half of it is random (`chance` is 0 to 1), so that clients that failed together spread out.
    """
    retry_after = _retry_after(headers)
    if retry_after is not None:
        return min(retry_after, _LONGEST_RETRY_AFTER)
    return min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_WAIT) * (0.5 + 0.5 * chance)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date, which is compared with the server's own `Date`."""
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        until, now = (parsedate_to_datetime(date) for date in (value, headers.get("date", "")))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of the two has a time zone
        return None


def _authorize(key: ApiKey, request: httpx2.Request) -> httpx2.Request:
    """Sets the key on each request, so that no attribute of the client shows it."""
    request.headers["Authorization"] = f"Bearer {key.reveal()}"
    return request


def _user_agent() -> str:
    try:
        return f"aurora/{version('aurora-memory')}"
    except PackageNotFoundError:  # run from a folder
        return "aurora"


def _close_quietly(client: httpx2.Client) -> None:
    with contextlib.suppress(Exception):  # at exit nothing can be done about it
        client.close()
