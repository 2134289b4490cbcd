"""Where an endpoint is: its address taken apart, and whether a key may travel there."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from aurora.endpoints.purpose import Purpose

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
