"""Aurora's entry in the text of a client's file, added or replaced; nothing else in it changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from aurora.errors import ConfigError
from aurora.mcp.clients.json_edit import append_element, parse_json, put_member
from aurora.mcp.clients.known import NAME, Client, Local, Server, toml_table
from aurora.mcp.clients.toml_edit import parse_toml, put_table
from aurora.types import Json

_BOM = "\ufeff"


class Edited(NamedTuple):
    """A text, and the names of what others had put into the entry, which it has no more."""

    text: str
    lost: tuple[str, ...] = ()


def with_entry(source: str, client: Client, server: Server) -> Edited:
    """The text of a file with an entry in it; the same text where it is there already.

    Raises `ConfigError` where that cannot be had without other changes, which parsing proves.
    """
    bom, text = (_BOM, source[1:]) if source.startswith(_BOM) else ("", source)
    tree: Mapping[str, object] = (parse_toml if client.is_toml else parse_json)(text)
    servers = tree.get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key!r} in it holds no servers")
    entry, old = client.entry(server), servers.get(NAME)
    inputs = _missing_inputs(tree, client, server)
    wanted = {**tree, client.key: {**servers, NAME: entry}}
    if inputs:
        wanted["inputs"] = [*_inputs(tree), *inputs]
    if tree == wanted:
        return Edited(source)
    if client.is_toml:
        path = (client.key, NAME)
        text = put_table(text, path, toml_table(path, entry))
    else:
        text = _with_members(text, client, entry if old != entry else None, inputs)
    if not _holds(text, wanted, toml=client.is_toml):
        raise ConfigError(f"{client.key!r} in it is written in a way that a table cannot be put in")
    lost = set(old) - client.keys if isinstance(old, dict) else set()
    return Edited(bom + text, tuple(sorted(lost)))


def tells_otherwise(source: str, client: Client, server: Server) -> bool:
    """Does a text name a command where an address is to be, or the other way round?"""
    try:
        tree: Mapping[str, object] = (parse_toml if client.is_toml else parse_json)(source)
    except ConfigError:
        return False
    servers = tree.get(client.key)
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return isinstance(entry, dict) and ("url" if isinstance(server, Local) else "command") in entry


def _with_members(text: str, client: Client, entry: Json, inputs: list[dict[str, Json]]) -> str:
    for one in inputs:
        text = append_element(text, "inputs", one)
    return text if entry is None else put_member(text, (client.key, NAME), entry)


def _missing_inputs(
    tree: Mapping[str, object], client: Client, server: Server
) -> list[dict[str, Json]]:
    """What the client has to ask for and does not yet; one of the same id may say it otherwise."""
    needed = client.inputs_for(server)
    ids = [one.get("id") for one in _inputs(tree) if isinstance(one, dict)] if needed else []
    return [dict(one) for one in needed if one["id"] not in ids]


def _inputs(tree: Mapping[str, object]) -> list[object]:
    there = tree.get("inputs", [])
    if not isinstance(there, list):
        raise ConfigError("'inputs' in it is no list")
    return there


def _holds(text: str, wanted: Mapping[str, object], *, toml: bool) -> bool:
    try:
        return (parse_toml(text) if toml else parse_json(text)) == wanted
    except ConfigError:
        return False
