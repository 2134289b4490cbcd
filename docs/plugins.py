"""The packages of agents in `plugins/`, made of the table that `aur install` uses.

They name the command `aur`, which must be on the PATH. `docs/generate.py` writes them.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from aurora.install.clients import NAME, Scope
from aurora.install.guidance import BLOCK, SKILL
from aurora.install.hook_entries import hook_group
from aurora.install.known_agents import AGENTS, make_entry
from aurora.types import Json

_ROOT = Path(__file__).parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_COMMAND = ("aur",)
_OWNER = {"name": "Aurora"}


def plugin_files() -> dict[str, str]:
    """The path and text of every file, from the root of the repository."""
    return {
        ".claude-plugin/marketplace.json": _text(_claude_marketplace()),
        ".agents/plugins/marketplace.json": _text(_codex_marketplace()),
        "plugins/claude-code/.claude-plugin/plugin.json": _text({**_about(), "author": _OWNER}),
        "plugins/claude-code/.mcp.json": _text(_servers("claude-code")),
        "plugins/claude-code/hooks/hooks.json": _text(_hooks("claude-code")),
        "plugins/claude-code/skills/aurora/SKILL.md": SKILL,
        "plugins/codex/.codex-plugin/plugin.json": _text(_codex_manifest()),
        "plugins/codex/.mcp.json": _text(_servers("codex")),
        "plugins/codex/hooks/hooks.json": _text(_hooks("codex")),
        "plugins/codex/skills/aurora/SKILL.md": SKILL,
        "plugins/gemini-cli/gemini-extension.json": _text(_gemini_manifest()),
        "plugins/gemini-cli/GEMINI.md": BLOCK,
        "plugins/gemini-cli/hooks/hooks.json": _text(_hooks("gemini-cli")),
        "plugins/gemini-cli/skills/aurora/SKILL.md": SKILL,
        "plugins/skills/aurora/SKILL.md": SKILL,
    }


def _text(tree: Json) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _about() -> dict[str, Json]:
    return {"name": NAME, "version": _PROJECT["version"], "description": _PROJECT["description"],
            "license": _PROJECT["license"], "keywords": _PROJECT["keywords"]}  # fmt: skip


def _servers(agent: str) -> dict[str, Json]:
    return {"mcpServers": {NAME: make_entry(AGENTS[agent], Scope.PROJECT, _COMMAND)}}


def _hooks(agent: str) -> dict[str, Json]:
    groups: dict[str, Json] = {
        event.name: [hook_group(agent, *_COMMAND, event)] for event in AGENTS[agent].events
    }
    return {"hooks": groups}


def _claude_marketplace() -> Json:
    """https://code.claude.com/docs/en/plugin-marketplaces"""
    plugin: Json = {"name": NAME, "source": "./plugins/claude-code",
                    "description": _PROJECT["description"]}  # fmt: skip
    return {"name": NAME, "owner": _OWNER, "description": "Aurora's plugin for Claude Code.",
            "plugins": [plugin]}  # fmt: skip


def _codex_marketplace() -> Json:
    """https://developers.openai.com/codex/plugins/build"""
    plugin: Json = {
        "name": NAME,
        "source": {"source": "local", "path": "./plugins/codex"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": "Productivity",
    }
    return {"name": NAME, "interface": {"displayName": "Aurora"}, "plugins": [plugin]}


def _codex_manifest() -> Json:
    interface: Json = {"displayName": "Aurora", "shortDescription": "The project's memory",
                       "developerName": "Aurora", "category": "Productivity"}  # fmt: skip
    return {**_about(), "author": _OWNER, "skills": "./skills/", "mcpServers": "./.mcp.json",
            "hooks": "./hooks/hooks.json", "interface": interface}  # fmt: skip


def _gemini_manifest() -> Json:
    """docs/extensions/reference.md of Gemini CLI"""
    kept = ("name", "version", "description")
    about = {key: value for key, value in _about().items() if key in kept}
    return {**about, **_servers("gemini-cli"), "contextFileName": "GEMINI.md"}
