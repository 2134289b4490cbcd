"""Values of settings as people read and type them."""

from __future__ import annotations

import re

from aurora.config.schema import Settings

_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_PARAMETER = re.compile(r"([?&#;][^=&#;\s]*=)[^&#;\s]+")
_PASSWORD = re.compile(r"(://[^/@:\s]*):.*@")  # up to the last @: one may be in the password
_KEY = re.compile(r"([?&](?:ssl)?password=)[^&]+", re.IGNORECASE)
_MASK = "***"
NOT_SHOWN = "a value that is not shown, because it may hold a password"


def value_of(settings: Settings, key: str) -> object:
    """The value of a dotted key."""
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def as_typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def without_password(text: str) -> str:
    """An address without the password that a person may have written into it."""
    return _KEY.sub(rf"\g<1>{_MASK}", _PASSWORD.sub(rf"\g<1>:{_MASK}@", text))


def without_secrets(text: str) -> str:
    """A value for others to see: the login and the parameters of an address may be keys."""
    return _PARAMETER.sub(rf"\g<1>{_MASK}", _LOGIN.sub(_MASK, text))
