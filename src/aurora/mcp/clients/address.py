"""The address of a server that runs: whether it is one, and whether a token must go with it."""

from __future__ import annotations

import ipaddress

from aurora.endpoints.address import split_address
from aurora.errors import ConfigError
from aurora.mcp.clients.known import Remote


def remote_at(url: str, *, with_token: bool) -> Remote:
    """A server at an address; without a token it is served on its own machine alone."""
    parts = split_address(url)
    if parts is None:
        raise ConfigError(
            f"{url.rpartition('@')[2]!r} is no address of a server",
            hint="such as --http http://127.0.0.1:8765/mcp",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"The address at {parts.hostname} has more than its path: a secret may stand in it",
            hint="a token is never written to a file; write the address as https://HOST/mcp",
        )
    near = is_loopback(parts.hostname or "")
    return Remote(url, token=with_token or not near, near=near)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
