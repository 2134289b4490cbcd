"""The key of an endpoint: where it comes from, where it may go, and that nobody sees it."""

from __future__ import annotations

import logging
import re
from importlib import import_module

from aurora.endpoints.address import Address

logger = logging.getLogger(__name__)

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
