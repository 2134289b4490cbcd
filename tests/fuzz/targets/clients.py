"""Settings files of MCP clients: the first line names a client, the rest is its file. Our entry is
in it afterwards and every other byte where it was, or it is told why that cannot be."""

from __future__ import annotations

from aurora.errors import ConfigError
from aurora.install.client_files import parse_json, parse_toml
from aurora.install.clients import (
    CLIENTS,
    NAME,
    Client,
    Local,
    Remote,
    Server,
    tells_otherwise,
    with_entry,
)
from tests.fuzz.inputs import head_and_rest, require_told

_SERVERS: tuple[Server, ...] = (
    Local(("aur", "mcp")),
    Remote("https://memory.example.org/mcp", token=True),
)
_NAMES = sorted(CLIENTS)


def check(data: bytes) -> None:
    head, rest = head_and_rest(data)
    client = CLIENTS[head if head in CLIENTS else _NAMES[len(head) % len(_NAMES)]]
    try:
        source = rest.decode()
    except UnicodeDecodeError:
        return  # told before the text is looked at
    for server in _SERVERS:
        tells_otherwise(source, client, server)
        try:
            edited = with_entry(source, client, server).text
        except ConfigError as exc:
            require_told(exc)
            continue
        _check_edited(source, edited, client, server)


def _check_edited(source: str, edited: str, client: Client, server: Server) -> None:
    tree, before = _read(edited, client), _read(source, client)
    servers = tree[client.key]
    assert isinstance(servers, dict)
    assert servers[NAME] == client.entry(server)
    assert with_entry(edited, client, server).text == edited  # once is enough
    had = before.get(client.key)
    if isinstance(server, Local) and not (isinstance(had, dict) and NAME in had):
        _check_kept(source, edited)


def _read(text: str, client: Client) -> dict[str, object]:
    plain = text.removeprefix("\ufeff")
    return dict(parse_toml(plain) if client.is_toml else parse_json(plain))


def _check_kept(source: str, edited: str) -> None:
    """What was added stands in one place: before and behind it is all that was there."""
    old, new = "".join(source.split()), "".join(edited.split())
    assert _alike(old, new) + _alike(old[::-1], new[::-1]) >= len(old)


def _alike(a: str, b: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(a), len(b)))
