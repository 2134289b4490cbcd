"""The agents that `aur install` knows: how each is found, and which files of it say what.

A path in the table is of the project, or of the person's home. A new agent is one entry. The
places and forms are those of the agents' documentation; `tests/install/test_real_agents.py` runs
Claude Code, Codex and Gemini CLI with them, and decision 12 says which others were tried.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from aurora.install.additions import Addition, Block, JsonMember, OwnFile, TomlTable
from aurora.install.clients import CLIENTS, NAME, Client, Local, Scope
from aurora.install.guidance import BLOCK, SKILL, SKILL_NAME
from aurora.install.hook_entries import (
    CLAUDE_EVENTS,
    CODEX_EVENTS,
    COPILOT_EVENTS,
    CURSOR_EVENTS,
    GEMINI_EVENTS,
    Event,
    copilot_hooks,
    cursor_hooks,
    grouped_hooks,
    opencode_plugin,
)
from aurora.install.plan import Wanted
from aurora.platforms import shell_line
from aurora.types import Json


@dataclass(frozen=True, slots=True)
class Place:
    """A file of an agent. An empty path: the agent has none there."""

    project: str = ""
    user: str = ""

    def of(self, scope: Scope) -> str:
        return self.project if scope is Scope.PROJECT else self.user


MakeHooks = Callable[[str, str, tuple[Event, ...]], list[Addition]]  # agent, command, events


@dataclass(frozen=True, slots=True)
class Agent:
    """How an agent is found, and what it reads."""

    client: Client  # its MCP entry
    folders: tuple[str, ...]  # one of them is in the home of a person who uses it
    commands: tuple[str, ...] = ()
    variable: str = ""  # names the folder instead of `folder`
    folder: str = ""
    hooks: Place = Place()
    make_hooks: MakeHooks | None = None
    events: tuple[Event, ...] = ()
    skills: Place = Place()  # the folder of all skills
    block: Place = Place()
    next_step: str = "restart it"
    make_entry: Callable[[Local], dict[str, Json]] | None = None  # if not as `client` does it

    @property
    def title(self) -> str:
        return self.client.title


PARTS = ("mcp", "hooks", "skill", "block")
_SHARED_SKILLS = ".agents/skills"  # read by most agents
_VSCODE_USER = ("Library/Application Support/Code/User", "AppData/Roaming/Code/User",
                ".config/Code/User")  # fmt: skip
_CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


def _client(title: str, key: str, place: Place, **fields: object) -> Client:
    return replace(
        CLIENTS["claude-code"], title=title, key=key, project_file=place.project,
        user_file=place.user, user_variable="", local={}, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def _opencode_entry(server: Local) -> dict[str, Json]:
    return {"type": "local", "command": list(server.command), "enabled": True}


AGENTS = {
    "claude-code": Agent(
        CLIENTS["claude-code"], (".claude", ".claude.json"), ("claude",),
        variable="CLAUDE_CONFIG_DIR", folder=".claude",
        hooks=Place(".claude/settings.json", ".claude/settings.json"),
        make_hooks=grouped_hooks, events=CLAUDE_EVENTS,
        skills=Place(".claude/skills", ".claude/skills"),
        block=Place("CLAUDE.md", ".claude/CLAUDE.md"),
        next_step="restart `claude`; with `--project` it asks once about the server of `.mcp.json`",
    ),
    "codex": Agent(
        CLIENTS["codex"], (".codex",), ("codex",),
        variable="CODEX_HOME", folder=".codex",
        hooks=Place(".codex/hooks.json", ".codex/hooks.json"),
        make_hooks=grouped_hooks, events=CODEX_EVENTS,
        skills=Place(_SHARED_SKILLS, _SHARED_SKILLS),
        block=Place("AGENTS.md", ".codex/AGENTS.md"),
        next_step="restart `codex`, and trust the hooks once with `/hooks`",
    ),
    "gemini-cli": Agent(
        _client("Gemini CLI", "mcpServers",
                Place(".gemini/settings.json", ".gemini/settings.json")),
        (".gemini",), ("gemini",),
        variable="GEMINI_CLI_HOME", folder="",
        hooks=Place(".gemini/settings.json", ".gemini/settings.json"),
        make_hooks=grouped_hooks, events=GEMINI_EVENTS,
        skills=Place(_SHARED_SKILLS, _SHARED_SKILLS),
        block=Place("GEMINI.md", ".gemini/GEMINI.md"),
        next_step="restart `gemini`; a project's file counts once the folder is trusted",
    ),
    "cursor": Agent(
        CLIENTS["cursor"], (".cursor",), ("cursor", "cursor-agent"),
        hooks=Place(".cursor/hooks.json", ".cursor/hooks.json"),
        make_hooks=cursor_hooks, events=CURSOR_EVENTS,
        skills=Place(_SHARED_SKILLS, ".cursor/skills"),
        block=Place("AGENTS.md"),
        next_step="restart Cursor and switch the server on in its settings, under MCP",
    ),
    "vscode": Agent(
        replace(CLIENTS["vscode"], arguments=("--memory", "${workspaceFolder}"),
                user_file="mcp.json"),
        (".vscode", *_VSCODE_USER), ("code",),
        skills=Place(_SHARED_SKILLS), block=Place("AGENTS.md"),
        next_step="run the command `MCP: List Servers`, and start and trust the server there",
    ),
    "copilot-cli": Agent(
        _client("Copilot CLI", "mcpServers",
                Place(".github/mcp.json", ".copilot/mcp-config.json")),
        (".copilot",), ("copilot",),
        variable="COPILOT_HOME", folder=".copilot",
        hooks=Place(".github/hooks/aurora.json", ".copilot/hooks/aurora.json"),
        make_hooks=copilot_hooks, events=COPILOT_EVENTS,
        skills=Place(_SHARED_SKILLS, _SHARED_SKILLS),
        block=Place("AGENTS.md", ".copilot/copilot-instructions.md"),
        next_step="restart `copilot`; a project's files count once it trusts the folder",
        make_entry=lambda server: {"type": "local", "command": server.command[0],
                                   "args": list(server.command[1:]), "tools": ["*"]},
    ),
    "opencode": Agent(
        _client("OpenCode", "mcp",
                Place("opencode.json", ".config/opencode/opencode.json")),
        (".config/opencode", ".local/share/opencode", ".opencode"), ("opencode",),
        variable="XDG_CONFIG_HOME", folder=".config",
        hooks=Place(".opencode/plugins/aurora.js", ".config/opencode/plugins/aurora.js"),
        make_hooks=opencode_plugin,
        skills=Place(_SHARED_SKILLS, _SHARED_SKILLS),
        block=Place("AGENTS.md", ".config/opencode/AGENTS.md"),
        next_step="restart `opencode`", make_entry=_opencode_entry,
    ),
    "windsurf": Agent(
        _client("Windsurf", "mcpServers", Place(user=".codeium/windsurf/mcp_config.json")),
        (".codeium/windsurf",), ("windsurf",),
        skills=Place(_SHARED_SKILLS),
        block=Place("AGENTS.md", ".codeium/windsurf/memories/global_rules.md"),
        next_step="refresh the servers in the settings of Cascade",
    ),
    "zed": Agent(
        _client("Zed", "context_servers", Place(".zed/settings.json", ".config/zed/settings.json")),
        (".config/zed", "Library/Application Support/Zed"), ("zed", "zeditor"),
        skills=Place(_SHARED_SKILLS), block=Place("AGENTS.md"),
        next_step="the panel of the agent lists the server at once",
    ),
    "cline": Agent(
        _client("Cline", "mcpServers", Place(user=_CLINE)),
        (*(f"{folder}/{Path(_CLINE).parent}" for folder in _VSCODE_USER), ".cline"), ("cline",),
        skills=Place(_SHARED_SKILLS), block=Place("AGENTS.md"),
        next_step="the list of MCP servers in Cline shows it",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Person:
    """Where the files of a person and of a project are."""

    home: Path
    environ: Mapping[str, str]
    project: Path

    def user_file(self, agent: Agent, path: str) -> Path:
        chosen = self.environ.get(agent.variable)
        inside = _below(path, agent.folder)
        return Path(chosen).absolute() / inside if chosen and inside else self.home / path

    def file(self, agent: Agent, place: Place, scope: Scope) -> Path | None:
        path = place.of(scope)
        if not path:
            return None
        return self.project / path if scope is Scope.PROJECT else self.user_file(agent, path)

    def entry_file(self, agent: Agent, scope: Scope) -> Path | None:
        """The file of the MCP entry; a variant that is there comes before the usual one."""
        client = agent.client
        if scope is Scope.USER and client.user_variable:
            return client.user_path(self.home, self.environ)
        if scope is Scope.USER and agent in (AGENTS["vscode"], AGENTS["cline"]):
            folders = [self.home / folder for folder in _VSCODE_USER]
            found = next((folder for folder in folders if folder.is_dir()), None)
            return found / client.user_file if found else None
        file = self.file(agent, Place(client.project_file, client.user_file), scope)
        twin = file.with_suffix(".jsonc") if file and agent is AGENTS["opencode"] else None
        return twin if twin and twin.exists() else file

    def has(self, agent: Agent) -> bool:
        """Whether the agent is on this machine: one of its folders or commands is there."""
        chosen = self.environ.get(agent.variable) if agent.folder != ".config" else None
        folders = [self.home / folder for folder in agent.folders]
        if chosen and Path(chosen).is_dir():
            return True
        return any(map(Path.exists, folders)) or any(
            _which(command, self.environ) for command in agent.commands
        )


def additions_for(
    agent_name: str, person: Person, scope: Scope, command: tuple[str, ...], parts: Set[str]
) -> list[Wanted]:
    """What an agent gets, with the file of each, in the order in which it is put in."""
    agent = AGENTS[agent_name]
    wanted: list[tuple[Path | None, list[Addition], str]] = []
    if "mcp" in parts:
        wanted.append(
            (person.entry_file(agent, scope), [_entry(agent, scope, command)], command[0])
        )
    if "hooks" in parts and agent.make_hooks:
        hooks = agent.make_hooks(agent_name, shell_line(command), agent.events)
        wanted.append((person.file(agent, agent.hooks, scope), hooks, command[0]))
    if "skill" in parts and (folder := person.file(agent, agent.skills, scope)):
        wanted.append((folder / SKILL_NAME / "SKILL.md", [OwnFile(SKILL)], ""))
    if "block" in parts:
        wanted.append((person.file(agent, agent.block, scope), [Block(BLOCK)], ""))
    return [
        Wanted(file, agent_name, addition, named)
        for file, additions, named in wanted
        if file
        for addition in additions
    ]


def make_entry(agent: Agent, scope: Scope, command: tuple[str, ...]) -> dict[str, Json]:
    """The MCP entry of an agent, whose server a command starts."""
    server = Local((*command, "mcp"))
    entry = agent.make_entry(server) if agent.make_entry else agent.client.entry(server)
    if scope is Scope.PROJECT:  # Codex would not start for a colleague who has no Aurora
        entry.pop("required", None)
    return entry


def _entry(agent: Agent, scope: Scope, command: tuple[str, ...]) -> Addition:
    path, entry = (agent.client.key, NAME), make_entry(agent, scope, command)
    return TomlTable(path, entry) if agent.client.is_toml else JsonMember(path, entry)


def _below(path: str, folder: str) -> str:
    """The path below a folder; empty if it is elsewhere."""
    return path.removeprefix(f"{folder}/") if path.startswith(f"{folder}/") else path * (not folder)


def _which(command: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(command, path=environ.get("PATH", ""))
