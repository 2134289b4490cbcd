"""The key of an endpoint: where it comes from, where it may go, and that nobody sees it."""

from __future__ import annotations

import logging
import re
from importlib import import_module

from aurora.embeddings.address import Address
from aurora.errors import EmbeddingError

logger = logging.getLogger(__name__)

SERVICE = "aurora"  # `keyring set aurora HOST`
_VISIBLE = re.compile(r"[!-~]+")  # a line break would begin another header


class ApiKey:
    """A key that shows itself only to who calls `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not _VISIBLE.fullmatch(value):
            raise EmbeddingError(
                "The key of the endpoint has a space, a line break or a letter that no key has",
                hint="set AURORA_EMBEDDING_API_KEY again, without what is around it",
            )
        self._value = value

    def __repr__(self) -> str:
        return "ApiKey(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def reveal(self) -> str:
        return self._value


def find_key(given: str, address: Address) -> ApiKey | None:
    """The key from the environment, else from the system's keyring; a local server needs none.

    Raises `EmbeddingError` where it would be sent over a network that others can read.
    """
    value = given or _ask_keyring(address.host)
    if not value:
        return None
    if not address.is_encrypted and not address.is_near:
        raise EmbeddingError(
            f"The key is not sent to {address.url}: everybody on the way could read it",
            hint="set `embedding.endpoint` to its https:// address",
        )
    return ApiKey(value)


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
