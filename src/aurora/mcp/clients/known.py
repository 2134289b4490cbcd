"""What each client must be told to start Aurora's server, or to find one that runs: as its makers
document it, tried with Claude Code 2.1 and Codex 0.166.

A token never stands in a file: an entry names the variable that has it, or has the client ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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
