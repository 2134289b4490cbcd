"""What each client must be told to start Aurora's server, or to find one that runs: as its makers
document it, tried with Claude Code 2.1 and Codex 0.166.

A token never stands in a file: an entry names the variable that has it, or has the client ask.

The address of a server that runs: whether it is one, and whether a token must go with it.

Aurora's entry in the text of a client's file, added or replaced; nothing else in it changes.

A client's file on disk: read, kept as a backup, and replaced in one step.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.endpoints import split_address
from aurora.errors import ConfigError
from aurora.mcp.client_files import append_element, parse_json, parse_toml, put_member, put_table
from aurora.types import Json

NAME = "aurora"  # of the server, in every client
TOKEN = "AURORA_MCP_TOKEN"  # noqa: S105 - the variable's name
_INPUT = "aurora-token"


class Scope(StrEnum):
    """For whom a client is told: all who work on a project, or one user in all projects."""

    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class UserFile:
    """A file in a folder of the user's home, or of wherever a variable says that folder is."""

    folder: str
    name: str
    variable: str = ""

    def path(self, home: Path, environ: Mapping[str, str]) -> Path:
        chosen = environ.get(self.variable) if self.variable else None
        return (Path(chosen).absolute() if chosen else home / self.folder) / self.name


@dataclass(frozen=True, slots=True)
class Local:
    """A server that the client starts by a command."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that runs somewhere, and may want a token."""

    url: str
    token: bool
    near: bool = False  # on this machine

    @property
    def is_exposed(self) -> bool:
        """Does the token go where others may read it?"""
        return self.token and not self.near and self.url.startswith("http:")


Server = Local | Remote


@dataclass(frozen=True, slots=True)
class Client:
    """Where a client keeps its servers, and what an entry has beside command or address."""

    title: str
    key: str  # of the servers, in the file
    project_file: str
    user_file: UserFile | None
    user_way: str = ""  # to the user's file where its place cannot be known
    default: Scope = Scope.PROJECT
    local: Mapping[str, Json] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()  # of `aur mcp`
    remote: Mapping[str, Json] = field(default_factory=dict)
    secret: Mapping[str, Json] = field(default_factory=dict)
    inputs: tuple[Mapping[str, Json], ...] = ()  # what the client asks its user for
    merges: bool = False  # the user's entry and the project's, key by key
    next_step: str = ""

    @property
    def is_toml(self) -> bool:
        return self.project_file.endswith(".toml")

    @property
    def keys(self) -> set[str]:
        """All that an entry of ours may have."""
        return {"command", "args", "url", *self.local, *self.remote, *self.secret}

    def entry(self, server: Server) -> dict[str, Json]:
        if isinstance(server, Local):
            command, *rest = server.command
            return {**self.local, "command": command, "args": [*rest, *self.arguments]}
        return {**self.remote, "url": server.url, **(self.secret if server.token else {})}

    def inputs_for(self, server: Server) -> tuple[Mapping[str, Json], ...]:
        return self.inputs if isinstance(server, Remote) and server.token else ()

    def snippet(self, server: Server) -> str:
        """All that a file must hold, as text of its syntax."""
        if self.is_toml:
            return toml_table((self.key, NAME), self.entry(server))
        servers: dict[str, Json] = {self.key: {NAME: self.entry(server)}}
        inputs = [dict(one) for one in self.inputs_for(server)]
        return json.dumps({"inputs": inputs, **servers} if inputs else servers, indent=2,
                          ensure_ascii=False)  # fmt: skip


def toml_table(path: Sequence[str], values: Mapping[str, Json]) -> str:
    """A table of strings and lists of strings; both are written as JSON writes them."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join([f"[{'.'.join(path)}]", *lines])


def _bearer(reference: str) -> dict[str, Json]:
    return {"headers": {"Authorization": f"Bearer ${{{reference}}}"}}


CLIENTS = {
    "claude-code": Client(
        "Claude Code", "mcpServers", ".mcp.json",
        UserFile("", ".claude.json", "CLAUDE_CONFIG_DIR"),
        local={"type": "stdio"}, remote={"type": "http"}, secret=_bearer(TOKEN),
        next_step="start `claude` anew, in a project approve the server when it asks; "
        "`claude mcp list` shows it",
    ),
    "codex": Client(
        "Codex", "mcp_servers", ".codex/config.toml",
        UserFile(".codex", "config.toml", "CODEX_HOME"), default=Scope.USER,
        secret={"bearer_token_env_var": TOKEN}, merges=True,
        next_step="start `codex` anew; `codex mcp list` shows it, "
        "from a project's file once Codex trusts the project",
    ),
    "cursor": Client(
        "Cursor", "mcpServers", ".cursor/mcp.json", UserFile(".cursor", "mcp.json"),
        # Cursor starts servers in a folder of its own choice, and puts the project's for this.
        local={"type": "stdio"}, arguments=("--memory", "${workspaceFolder}"),
        secret=_bearer(f"env:{TOKEN}"),
        next_step="start Cursor anew and switch the server on in its settings, under MCP",
    ),
    "vscode": Client(
        "VS Code", "servers", ".vscode/mcp.json", None,
        user_way="run the command `MCP: Open User Configuration`, which knows the profile in use",
        local={"type": "stdio"}, remote={"type": "http"}, secret=_bearer(f"input:{_INPUT}"),
        inputs=({"type": "promptString", "id": _INPUT, "description": "Aurora's token",
                 "password": True},),
        next_step="run the command `MCP: List Servers`, and start and trust the server there",
    ),
}  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a file: a backup only if it was there and another, and what was lost."""

    changed: bool
    backup: Path | None = None
    lost: tuple[str, ...] = ()


class _Before(NamedTuple):
    """A file as it was found; one that is not there has no mode."""

    content: bytes
    mode: int | None


def write_entry(file: Path, client: Client, server: Server, *, private: bool) -> Written:
    """Put a server into a client's file, which is made if need be.

    Raises `ConfigError`, and changes nothing, where that cannot be done without other changes.
    """
    before = _read(file)
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
        backup = _replace(file, edited.encode(), before, private=private)
    except (OSError, UnicodeEncodeError) as exc:
        raise ConfigError(
            f"Cannot write {shown(file)}: {exc}", hint="check who owns it and its folder"
        ) from exc
    return Written(changed=True, backup=backup, lost=lost)


def _read(file: Path) -> _Before:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"{shown(file)} is no file", hint="move it out of the way")
        return _Before(file.read_bytes(), stat.S_IMODE(mode))
    except FileNotFoundError:
        return _Before(b"", None)
    except OSError as exc:
        raise ConfigError(
            f"Cannot read {shown(file)}: {exc.strerror}", hint="check who owns it and its folder"
        ) from exc


def _keep(file: Path, content: bytes, mode: int) -> Path:
    """A copy beside the file. One that is there may be the only copy of what it holds: it stays."""
    number = 0
    while True:
        backup = file.with_name(f"{file.name}.bak{number or ''}")
        try:
            _create(backup, content, mode)
        except FileExistsError:
            if not _has(backup, content):
                number += 1
                continue
        return backup


def _replace(file: Path, content: bytes, before: _Before, *, private: bool) -> Path | None:
    """Whoever reads the file sees the old or the new one. A link to the real file stays a link.

    Returns the backup, which is made last: where nothing can be written, none is needed.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
    scratch = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    backup = None
    try:
        _create(scratch, content, 0o600 if private or before.mode is not None else 0o644)
        if before.mode is not None:
            _require_writable(target)
            scratch.chmod(before.mode)
            backup = _keep(file, before.content, before.mode)
        if _read(file) != before:  # a client that runs may write to it at any time
            raise ConfigError(f"{shown(file)} has just been changed", hint="try again")
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
    return backup


def _require_writable(target: Path) -> None:
    """Replacing a file asks only its folder, but who made it read-only meant the file."""
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only")


def _create(path: Path, content: bytes, mode: int) -> None:
    """A file that is not there yet, with a mode from its first byte on: it may hold secrets."""
    with open(path, "xb", opener=partial(os.open, mode=mode)) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _has(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() == content
    except OSError:
        return False
