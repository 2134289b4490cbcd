"""The configuration of MCP clients: Aurora's entry for each client, and writing it to a file.

Tested with Claude Code 2.1.327 and Codex 0.169 (`tests/mcp/test_agents.py`). Both send their first
request without the tools of a server that is still starting, unless the entry tells them to wait.

A token is never written to a file: an entry names the variable that holds it, or makes the client
ask for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.endpoints import is_loopback, split_address
from aurora.errors import ConfigError
from aurora.install.client_files import (
    append_element,
    parse_json,
    parse_toml,
    put_member,
    put_table,
)
from aurora.install.disk import read_state, replace_file
from aurora.types import Json

NAME = "aurora"  # of the server
TOKEN = "AURORA_MCP_TOKEN"  # noqa: S105 - the variable's name
_INPUT = "aurora-token"
_BOM = "\ufeff"


class Scope(StrEnum):
    """Whether an entry is for all users of a project, or for one user in all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Local:
    """A server that the client starts by a command."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remote:
    """A running server, and whether it needs a token."""

    url: str
    token: bool
    near: bool = False  # on this machine

    @property
    def is_exposed(self) -> bool:
        """Whether the token is sent unencrypted to another machine."""
        return self.token and not self.near and self.url.startswith("http:")


Server = Local | Remote


@dataclass(frozen=True, slots=True)
class Client:
    """The files of a client, and the fields of an entry beside its command or address."""

    title: str
    key: str  # of the servers, in the file
    project_file: str
    user_file: str  # in the home folder; empty if its place is unknown
    user_variable: str = ""  # names the folder of the user's file instead
    user_way: str = ""  # how to find a user's file whose place is unknown
    default: Scope = Scope.PROJECT
    local: Mapping[str, Json] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()  # of `aur mcp`
    remote: Mapping[str, Json] = field(default_factory=dict)
    secret: Mapping[str, Json] = field(default_factory=dict)
    inputs: tuple[Mapping[str, Json], ...] = ()  # values that the client asks its user for
    merges: bool = False  # the client merges the user's entry and the project's by key
    next_step: str = ""

    @property
    def is_toml(self) -> bool:
        return self.project_file.endswith(".toml")

    def user_path(self, home: Path, environ: Mapping[str, str]) -> Path:
        if chosen := environ.get(self.user_variable):
            return Path(chosen).absolute() / Path(self.user_file).name
        return home / self.user_file

    @property
    def keys(self) -> set[str]:
        """All keys that our entries may have."""
        return {"command", "args", "url", *self.local, *self.remote, *self.secret}

    def entry(self, server: Server) -> dict[str, Json]:
        if isinstance(server, Local):
            command, *rest = server.command
            return {**self.local, "command": command, "args": [*rest, *self.arguments]}
        return {**self.remote, "url": server.url, **(self.secret if server.token else {})}

    def inputs_for(self, server: Server) -> tuple[Mapping[str, Json], ...]:
        return self.inputs if isinstance(server, Remote) and server.token else ()

    def snippet(self, server: Server) -> str:
        """The text of a file that holds only our entry."""
        if self.is_toml:
            return toml_table((self.key, NAME), self.entry(server))
        servers: dict[str, Json] = {self.key: {NAME: self.entry(server)}}
        inputs = [dict(item) for item in self.inputs_for(server)]
        return json.dumps({"inputs": inputs, **servers} if inputs else servers, indent=2,
                          ensure_ascii=False)  # fmt: skip


def toml_table(path: Sequence[str], values: Mapping[str, Json]) -> str:
    """A table of strings, lists of strings and booleans, whose TOML is the same as their JSON."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join([f"[{'.'.join(path)}]", *lines])


def _bearer(reference: str) -> dict[str, Json]:
    return {"headers": {"Authorization": f"Bearer ${{{reference}}}"}}


CLIENTS = {
    "claude-code": Client(
        "Claude Code", "mcpServers", ".mcp.json", ".claude.json", "CLAUDE_CONFIG_DIR",
        # Wait for the server, up to 5 s, and show its tools without a search for tools.
        local={"type": "stdio", "alwaysLoad": True}, remote={"type": "http", "alwaysLoad": True},
        secret=_bearer(TOKEN),
        next_step="restart `claude`, in a project approve the server when it asks; "
        "`claude mcp list` shows it",
    ),
    "codex": Client(
        "Codex", "mcp_servers", ".codex/config.toml", ".codex/config.toml", "CODEX_HOME",
        default=Scope.USER,
        # Wait for the server, up to 30 s. Codex does not start without it: so not for a server of
        # another machine, which may be away.
        local={"required": True}, secret={"bearer_token_env_var": TOKEN}, merges=True,
        next_step="restart `codex`; `codex mcp list` shows it, "
        "from a project's file once Codex trusts the project",
    ),
    "cursor": Client(
        "Cursor", "mcpServers", ".cursor/mcp.json", ".cursor/mcp.json",
        # Cursor starts servers in another folder, and replaces this variable with the project's.
        local={"type": "stdio"}, arguments=("--memory", "${workspaceFolder}"),
        secret=_bearer(f"env:{TOKEN}"),
        next_step="restart Cursor and switch the server on in its settings, under MCP",
    ),
    "vscode": Client(
        "VS Code", "servers", ".vscode/mcp.json", "",
        user_way="run the command `MCP: Open User Configuration`, which knows the profile in use",
        local={"type": "stdio"}, remote={"type": "http"}, secret=_bearer(f"input:{_INPUT}"),
        inputs=({"type": "promptString", "id": _INPUT, "description": "Aurora's token",
                 "password": True},),
        next_step="run the command `MCP: List Servers`, and start and trust the server there",
    ),
}  # fmt: skip


def remote_at(url: str, *, with_token: bool) -> Remote:
    """A server at an address. Another machine's server always needs a token."""
    parts = split_address(url)
    if parts is None:
        raise ConfigError(
            f"{url.rpartition('@')[2]!r} is not the address of a server",
            hint="name one, such as --http http://127.0.0.1:8765/mcp",
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"The address at {parts.hostname} may contain a secret: it has more than its path",
            hint="a token is never written to a file; write the address as https://HOST/mcp",
        )
    near = is_loopback(parts.hostname or "")
    return Remote(url, token=with_token or not near, near=near)


# --- The entry in the text of a file ---


class Edited(NamedTuple):
    """The new text, and the keys of the old entry that it has lost."""

    text: str
    lost: tuple[str, ...] = ()


def with_entry(source: str, client: Client, server: Server) -> Edited:
    """Put our entry into the text of a file.

    The result is parsed again: raises `ConfigError` if anything else would change.
    """
    bom, text = (_BOM, source[1:]) if source.startswith(_BOM) else ("", source)
    tree = _parse(text, client)
    servers = tree.get(client.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{client.key!r} in it is not a table of servers")
    entry, old = client.entry(server), servers.get(NAME)
    wanted, inputs = _with_inputs(
        {**tree, client.key: {**servers, NAME: entry}}, client.inputs_for(server)
    )
    if tree == wanted:
        return Edited(source)
    if client.is_toml:
        path = (client.key, NAME)
        text = put_table(text, path, toml_table(path, entry))
    else:
        for item in inputs:
            text = append_element(text, "inputs", item)
        if old != entry:
            text = put_member(text, (client.key, NAME), entry)
    with suppress(ConfigError):
        if _parse(text, client) == wanted:
            lost = set(old) - client.keys if isinstance(old, dict) else set()
            return Edited(bom + text, tuple(sorted(lost)))
    raise ConfigError(f"{client.key!r} in it is written in a way that cannot be extended")


def tells_otherwise(source: str, client: Client, server: Server) -> bool:
    """Whether a text has a command where we write an address, or the other way round."""
    try:
        servers = _parse(source, client).get(client.key)
    except ConfigError:
        return False
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return isinstance(entry, dict) and ("url" if isinstance(server, Local) else "command") in entry


def _parse(text: str, client: Client) -> Mapping[str, object]:
    return parse_toml(text) if client.is_toml else parse_json(text)


def _with_inputs(
    tree: Mapping[str, object], needed: Sequence[Mapping[str, Json]]
) -> tuple[Mapping[str, object], list[dict[str, Json]]]:
    """The tree with the inputs that it lacks, and these; one of the same id is kept."""
    if not needed:
        return tree, []
    inputs = tree.get("inputs", [])
    if not isinstance(inputs, list):
        raise ConfigError("'inputs' in it is not a list")
    ids = [item.get("id") for item in inputs if isinstance(item, dict)]
    missing = [dict(item) for item in needed if item["id"] not in ids]
    return ({**tree, "inputs": [*inputs, *missing]} if missing else tree), missing


# --- The file on disk ---


@dataclass(frozen=True, slots=True)
class Written:
    """Whether the file was changed, the backup of an existing one, and the keys that it lost."""

    changed: bool
    backup: Path | None = None
    lost: tuple[str, ...] = ()


def write_entry(file: Path, client: Client, server: Server, *, private: bool) -> Written:
    """Put our entry into a client's file, which is created if need be.

    Raises `ConfigError`, and changes nothing, if anything else in the file would change.
    """
    before = read_state(file)
    try:
        source = before.content.decode()
        edited, lost = with_entry(source, client, server)
    except (ConfigError, UnicodeDecodeError) as exc:
        reason = exc.message if isinstance(exc, ConfigError) else f"it is not UTF-8: {exc.reason}"
        raise ConfigError(
            f"{shown(file)} was left as it is: {reason}",
            hint=f"add this to it by hand:\n\n{client.snippet(server)}",
        ) from exc
    if edited == source:
        return Written(changed=False)
    try:
        backup = replace_file(file, edited.encode(), before, private=private, keep=True)
    except (OSError, UnicodeEncodeError) as exc:
        raise ConfigError(
            f"Cannot write {shown(file)}: {exc}", hint="check the file's owner and mode"
        ) from exc
    return Written(changed=True, backup=backup, lost=lost)
