"""What goes over the wire for every purpose alike: how a request is written, what an error says.

What endpoints are asked for: which settings name one, which key it gets, what goes wrong.

Where an endpoint is: its address taken apart, and whether a key may travel there.

The key of an endpoint: where it comes from, where it may go, and that nobody sees it.

How long a request may take, how often it is tried, and how long to wait between two tries.

Talk with an endpoint over HTTP: one open client, tries again, time-outs, a limit on answers.

This module needs httpx2 (extras `openai` and `llm`). What was said, and the key, go into no message
or log.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import random
import re
import ssl
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from email.utils import parsedate_to_datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import httpx2

from aurora.errors import AuroraError, EmbeddingError, LlmError, RefusedError

logger = logging.getLogger(__name__)


_ALONE = re.compile("[\ud800-\udfff]")  # halves of a pair: no UTF-8 can hold them

# What errors are called, of OpenAI, Ollama, vLLM and llama.cpp. No other word of an error is shown:
# it may repeat the text, or the key.
_CODES = {
    "access_terminated", "account_deactivated", "api_error", "authentication_error",
    "BadRequestError", "billing_hard_limit_reached", "billing_not_active",
    "context_length_exceeded", "exceed_context_size_error", "InternalServerError",
    "insufficient_quota", "invalid_api_key", "invalid_request_error", "model_not_found",
    "not_found", "not_found_error", "not_supported_error", "NotFoundError", "overloaded_error",
    "permission_error", "rate_limit_exceeded", "server_error", "string_above_max_length",
    "unavailable_error", "unsupported_country_region_territory",
}  # fmt: skip


class BadAnswerError(Exception):
    """An answer that is none. Its words go on after "the endpoint …"."""


def write_body(sent: Mapping[str, object]) -> bytes:
    """As JSON, without the characters that no UTF-8 can hold: many servers trip over them."""
    return _ALONE.sub("\ufffd", json.dumps(sent, ensure_ascii=False)).encode()


def read_code(answer: bytes) -> str:
    """The one word that an error is called by, if it is a known one."""
    try:
        error = json.loads(answer)["error"]
        words = [error] if isinstance(error, str) else [error.get("code"), error.get("type")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return next((w for w in words if isinstance(w, str) and w in _CODES), "")


OPENAI = "https://api.openai.com/v1"  # where the settings name no other
OPENAI_KEY = "OPENAI_API_KEY"


class Purpose(NamedTuple):
    """`variable` holds its key; `refused` is the error for what a server does not want to read."""

    section: str  # of the settings
    path: str  # below the address
    task: str  # what a model should do there
    variable: str
    error: type[AuroraError]
    refused: type[AuroraError]

    @property
    def setting(self) -> str:
        """The one that says where the endpoint is, as messages name it."""
        return f"`{self.section}.endpoint`"

    def key_in(self, environ: Mapping[str, str], endpoint: str) -> str:
        """A key for OpenAI is sent to OpenAI; one for Aurora to wherever the settings say."""
        own = environ.get(self.variable, "")
        to_openai = urlsplit(endpoint or OPENAI).hostname == urlsplit(OPENAI).hostname
        return own or (environ.get(OPENAI_KEY, "") if to_openai else "")


EMBEDDING = Purpose(
    "embedding", "/embeddings", "embed", "AURORA_EMBEDDING_API_KEY", EmbeddingError, RefusedError
)
LLM = Purpose("llm", "/chat/completions", "answer", "AURORA_LLM_API_KEY", LlmError, LlmError)


# What resolves nowhere but at home: one word (a container, a box in the same room), or these ends.
_ONE_WORD = re.compile(r"[a-z][a-z0-9_-]*")  # with a letter first: 134744072 is 8.8.8.8
_HOME_ENDS = (".localhost", ".local", ".internal", ".home.arpa")


class Address(NamedTuple):
    """`url` is the endpoint's without a slash at its end, `host` its name in small letters."""

    url: str
    host: str
    is_encrypted: bool
    purpose: Purpose

    @property
    def is_near(self) -> bool:
        """Is it this machine, or one of a private network? Told by its name: nothing is asked."""
        try:
            number = ipaddress.ip_address(self.host)
        except ValueError:
            return bool(_ONE_WORD.fullmatch(self.host)) or self.host.endswith(_HOME_ENDS)
        return number.is_loopback or number.is_private


def parse_address(endpoint: str, purpose: Purpose) -> Address:
    """Raises the purpose's error for what is no address, and for one that a secret may stand in.

    Such a one is not named in the message: it ends in logs and terminals.
    """
    parts = split_address(endpoint)
    if parts is None:
        raise purpose.error(
            f"{endpoint.rpartition('@')[2]!r} is no address of an endpoint",
            hint=f"set {purpose.setting} to one such as http://localhost:11434/v1",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise purpose.error(
            f"The address of an endpoint ends with its path, and has no user or password; "
            f"the one at {parts.hostname} has more",
            hint=f"take it out of {purpose.setting}; "
            f"a key is read from {purpose.variable} or the keyring",
        )
    url = endpoint.rstrip("/").removesuffix(purpose.path).rstrip("/")
    return Address(url, parts.hostname or "", parts.scheme == "https", purpose)


def split_address(url: str) -> SplitResult | None:
    """The parts of an address over HTTP; none where it is no such address."""
    if not re.fullmatch(r"[!-~]+", url):  # anything else, urlsplit drops or keeps as it likes
        return None
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, half an IPv6 address
        return None
    return parts if is_one else None


SERVICE = "aurora"  # `keyring set aurora HOST`
_VISIBLE = re.compile(r"[!-~]+")  # a line break would begin another header


class ApiKey:
    """A key that shows itself only to who calls `reveal`. What cannot be one is a `ValueError`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not _VISIBLE.fullmatch(value):
            raise ValueError("no key has a space, a line break or such a letter")
        self._value = value

    def __repr__(self) -> str:
        return "ApiKey(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def reveal(self) -> str:
        return self._value


def find_key(given: str, address: Address) -> ApiKey | None:
    """The key from the environment, else from the system's keyring; a local server needs none.

    Raises the purpose's error for what is none, and where others could read it on the way.
    """
    purpose = address.purpose
    value = given or _ask_keyring(address.host)
    if not value:
        return None
    if not address.is_encrypted and not address.is_near:
        raise purpose.error(
            f"The key is not sent to {address.url}: everybody on the way could read it",
            hint=f"set {purpose.setting} to its https:// address",
        )
    try:
        return ApiKey(value)
    except ValueError as exc:
        raise purpose.error(
            "The key of the endpoint has a space, a line break or a letter that no key has",
            hint=f"set {purpose.variable} again, without what is around it",
        ) from exc


def _ask_keyring(host: str) -> str:
    try:
        keyring = import_module("keyring")
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, host) or ""
    except Exception as exc:  # its backends fail in ways of their own; the endpoint will say 401
        logger.info("the keyring gave no key for %s: %s", host, type(exc).__name__)
        return ""


_FIRST_WAIT = 0.5  # seconds; twice as long each time
_LONGEST_WAIT = 30.0
_LONGEST_ASKED = 60.0  # what a server may ask us to wait, at most
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Timing(NamedTuple):
    """Where time and chance come from."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Patience(NamedTuple):
    """What one request gets, with all its tries."""

    attempts: int
    seconds: float
    silence: float  # seconds in which a server must say something


INDEXING = Patience(attempts=5, seconds=300.0, silence=120.0)  # 64 chunks are slow without a GPU
ASKING = Patience(attempts=2, seconds=10.0, silence=6.0)  # somebody waits, and keywords still find


def wait_before_next(attempt: int, headers: Mapping[str, str], chance: float) -> float:
    """Seconds to wait after the attempt of that number: as the server says, else longer each time.

    Half of it is left to chance (0 to 1), so that many who failed together do not return together.
    """
    asked = _retry_after(headers)
    if asked is not None:
        return min(asked, _LONGEST_ASKED)
    return min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_WAIT) * (0.5 + 0.5 * chance)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or until a date. The server's own `Date` is now: its clock is not ours."""
    said = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(said):
        return float(said)
    try:
        wanted, now = (parsedate_to_datetime(date) for date in (said, headers.get("date", "")))
        return max(0.0, (wanted - now).total_seconds())
    except (ValueError, TypeError):  # no date, or only one of the two knows its zone
        return None


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
