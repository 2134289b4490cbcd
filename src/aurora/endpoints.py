"""OpenAI-compatible endpoints: address, API key, how long to wait, and the content of requests.

The HTTP client is in `endpoint_client`, which needs httpx2; this module does not. Texts, answers
and keys go into no message or log.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import random
import re
import socket
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from aurora.errors import AuroraError, EmbeddingError, LlmError, RefusedError

logger = logging.getLogger(__name__)

_VENDOR = "api.openai.com"
OPENAI = f"https://{_VENDOR}/v1"  # where the settings name no other


class Purpose(NamedTuple):
    """What an endpoint is used for."""

    section: str  # of the settings
    path: str  # below the address
    task: str  # of the model, for messages
    error: type[AuroraError]
    refused: type[AuroraError]  # for an input that the server refuses

    @property
    def setting(self) -> str:
        """The setting with the address, for messages."""
        return f"`{self.section}.endpoint`"

    @property
    def variable(self) -> str:
        """The environment variable with the key."""
        return f"AURORA_{self.section.upper()}_API_KEY"


EMBEDDING = Purpose("embedding", "/embeddings", "embed", EmbeddingError, RefusedError)
LLM = Purpose("llm", "/chat/completions", "answer", LlmError, LlmError)

# Names that resolve only in a local network: a single word (a container), or these endings.
_ONE_WORD = re.compile(r"[a-z][a-z0-9_-]*")  # with a letter first: 134744072 is 8.8.8.8
_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")


class Address(NamedTuple):
    """`url` has no slash at its end, `host` is in lower case."""

    url: str
    host: str
    is_encrypted: bool
    purpose: Purpose

    @property
    def is_near(self) -> bool:
        """Whether it is this machine or one of a private network, by its name alone."""
        try:
            number = ipaddress.ip_address(self.host)
        except ValueError:
            return bool(_ONE_WORD.fullmatch(self.host)) or self.host.endswith(_LOCAL_ENDINGS)
        return number.is_loopback or number.is_private


def parse_address(endpoint: str, purpose: Purpose) -> Address:
    """Raises the purpose's error for an invalid address, and for one that may hold a secret.

    The message does not repeat a secret: it ends in logs and terminals.
    """
    parts = split_address(endpoint)
    if parts is None:
        raise purpose.error(
            f"{endpoint.rpartition('@')[2]!r} is not the address of an endpoint",
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


def find_fault(address: Address, *, seconds: float = 2.0) -> str:
    """Why no connection to the address can be made; empty if one can, or if a proxy makes it.

    The connection is closed at once: nothing is sent.
    """
    from urllib.request import getproxies  # noqa: PLC0415 - loads an HTTP client

    parts = urlsplit(address.url)
    port = parts.port or (443 if address.is_encrypted else 80)
    if address.is_encrypted and getproxies().get("https"):
        return ""
    try:
        socket.create_connection((address.host, port), timeout=seconds).close()
    except TimeoutError:
        return f"no answer in {seconds:g} s"
    except OSError as exc:
        return exc.strerror or str(exc)
    return ""


def split_address(url: str) -> SplitResult | None:
    """The parts of an HTTP address; None for an invalid one."""
    if not re.fullmatch(r"[!-~]+", url):  # urlsplit drops some other characters and keeps some
        return None
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # an invalid port, half an IPv6 address
        return None
    return parts if is_valid else None


SERVICE = "aurora"  # `keyring set aurora HOST`
_VISIBLE = re.compile(r"[!-~]+")  # a line break would begin another header


class ApiKey:
    """A key that only `reveal` shows. Raises `ValueError` for a text that is not a key."""

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


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def find_key(given: str, address: Address) -> ApiKey | None:
    """The given key, else that of the system's keyring; None without one, as for local servers.

    Raises the purpose's error for an invalid key, and for an address where others could read it.
    """
    purpose = address.purpose
    value = given or _ask_keyring(address.host)
    if not value:
        return None
    if not address.is_encrypted and not address.is_near:
        raise purpose.error(
            f"The key is not sent to {address.url}: others could read it on the way",
            hint=f"set {purpose.setting} to its https:// address",
        )
    try:
        return ApiKey(value)
    except ValueError as exc:
        raise purpose.error(
            "The key of the endpoint has a space, a line break or a letter that no key has",
            hint=f"set {purpose.variable} again, without other characters around it",
        ) from exc


def require_key(given: ApiKey | None, address: Address) -> ApiKey | None:
    """The key, given or of the keyring. Raises before OpenAI is called without one.

    Other servers may need none.
    """
    key = given or find_key("", address)
    if key is None and address.host == _VENDOR:
        purpose = address.purpose
        raise purpose.error(
            f"There is no key for {address.host}, so nothing was sent",
            hint=f"set {purpose.variable}, keep one with `keyring set {SERVICE} {address.host}`, "
            f"or set {purpose.setting} to a server of your own",
        )
    return key


def _ask_keyring(host: str) -> str:
    try:
        keyring = import_module("keyring")
    except ImportError:
        return ""
    try:
        return keyring.get_password(SERVICE, host) or ""
    except Exception as exc:  # backends raise errors of their own; the endpoint will answer 401
        logger.info("the keyring gave no key for %s: %s", host, type(exc).__name__)
        return ""


class Timing(NamedTuple):
    """Clock, sleep and randomness, which tests replace."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Patience(NamedTuple):
    """Limits of one request with all its attempts."""

    attempts: int
    seconds: float
    silence: float  # seconds without a byte


INDEXING = Patience(attempts=5, seconds=300.0, silence=120.0)  # 64 chunks are slow without a GPU
ASKING = Patience(attempts=2, seconds=10.0, silence=6.0)  # a user waits, and keywords still work


class BadAnswerError(Exception):
    """An answer that cannot be used. Its text continues "The endpoint …"."""


_LONE_SURROGATES = re.compile("[\ud800-\udfff]")

# Error codes of OpenAI, Ollama, vLLM and llama.cpp. Messages show no other word of an error: it may
# repeat the text, or the key.
_CODES = {
    "access_terminated", "account_deactivated", "api_error", "authentication_error",
    "BadRequestError", "billing_hard_limit_reached", "billing_not_active",
    "context_length_exceeded", "exceed_context_size_error", "InternalServerError",
    "insufficient_quota", "invalid_api_key", "invalid_request_error", "model_not_found",
    "not_found", "not_found_error", "not_supported_error", "NotFoundError", "overloaded_error",
    "permission_error", "rate_limit_exceeded", "server_error", "string_above_max_length",
    "unavailable_error", "unsupported_country_region_territory",
}  # fmt: skip


def write_body(content: Mapping[str, object]) -> bytes:
    """As JSON in UTF-8, which cannot hold half surrogate pairs."""
    return _LONE_SURROGATES.sub("\ufffd", json.dumps(content, ensure_ascii=False)).encode()


def read_answer(answer: bytes, parse_constant: Callable[[str], object] | None = None) -> object:
    """Parse the JSON of an answer. Raises `BadAnswerError`, also for an error in its place."""
    try:
        content = json.loads(answer, parse_constant=parse_constant)
    except (ValueError, RecursionError) as exc:
        raise BadAnswerError("answered with something that is not JSON") from exc
    if isinstance(content, dict) and content.get("error"):
        code = read_code(answer)
        raise BadAnswerError(f"answered with an error{f' ({code})' if code else ''}")
    return content


def read_code(answer: bytes) -> str:
    """The code of an error, if it is a known one; else nothing."""
    try:
        error = json.loads(answer)["error"]
        words = [error] if isinstance(error, str) else [error.get("code"), error.get("type")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return next((word for word in words if isinstance(word, str) and word in _CODES), "")
