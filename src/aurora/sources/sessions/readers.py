"""The agents whose sessions can be read, by name: the built-in ones, and those of other packages.

A package adds an agent with an entry point of the group `aurora.sessions`. Its name is the agent's
id; its object takes nothing and returns a `SessionReader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from aurora.errors import SourceError
from aurora.sources.sessions.base import SessionReader

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "aurora.sessions"

Factory = Callable[[], SessionReader]

OURS = {
    "claude-code": "claude_code:ClaudeCode",
    "codex": "codex:Codex",
    "gemini-cli": "gemini_cli:GeminiCli",
    "cursor": "cursor:Cursor",
    "aider": "aider:Aider",
    "opencode": "opencode:OpenCode",
    "copilot-cli": "copilot_cli:CopilotCli",
    "copilot-chat": "copilot_chat:CopilotChat",
    "exports": "exports:Exports",
}


def agent_names() -> list[str]:
    """The ids of all agents whose sessions can be read."""
    return [*OURS, *sorted({entry.name for entry in _entry_points()})]


def make_reader(agent: str) -> SessionReader:
    """The reader of an agent. Raises `SourceError` where it cannot be made."""
    try:
        return _factory(agent)()
    except SourceError:
        raise
    except Exception as exc:  # another package's code may raise anything
        raise SourceError(f"The sessions of {agent!r} cannot be read: {exc}") from exc


def _factory(agent: str) -> Factory:
    if agent in OURS:
        module, _, attribute = OURS[agent].partition(":")
        return cast("Factory", getattr(import_module(f"{__package__}.{module}"), attribute))
    for entry in _entry_points():
        if entry.name == agent:
            return cast("Factory", entry.load())
    raise SourceError(
        f"There is no agent {agent!r} whose sessions can be read",
        hint=f"name one of {', '.join(agent_names())}",
    )


def _entry_points() -> Iterator[EntryPoint]:
    """Those of other packages; none replaces a built-in reader."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and ours need none

    yield from (entry for entry in entry_points(group=GROUP) if entry.name not in OURS)
