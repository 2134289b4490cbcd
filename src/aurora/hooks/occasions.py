"""What each event of each agent is for.

An event that is not listed is not answered: the agent ignores what a hook says there. Every hook
imports this module, and most of them nothing else of ours.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping


class Occasion(StrEnum):
    """What an event of an agent is for."""

    START = "start"
    PROMPT = "prompt"
    BEFORE = "before"  # a tool works
    AFTER = "after"  # a tool has worked, or failed
    # The same for agents that take no context before a tool: they read a file before they edit it.
    AFTER_READ = "after-read"
    AFTER_UNTOLD = "after-untold"  # a tool: whether it failed is not told, only what it printed
    FAILED = "failed"  # a tool
    FOLLOW = "follow"  # a turn or the session ends, or is shortened: there are new records


_COPILOT = {
    "sessionStart": Occasion.START,
    "userPromptSubmitted": Occasion.PROMPT,
    "postToolUse": Occasion.AFTER_READ,
    "postToolUseFailure": Occasion.FAILED,
    "agentStop": Occasion.FOLLOW,
    "preCompact": Occasion.FOLLOW,
    "sessionEnd": Occasion.FOLLOW,
}
_CLAUDE = {
    "SessionStart": Occasion.START,
    "UserPromptSubmit": Occasion.PROMPT,
    "PreToolUse": Occasion.BEFORE,
    "PostToolUse": Occasion.AFTER,
    "Stop": Occasion.FOLLOW,
    "PreCompact": Occasion.FOLLOW,
    "SessionEnd": Occasion.FOLLOW,
}

EVENTS: Mapping[str, Mapping[str, Occasion]] = {
    "claude-code": {
        **_CLAUDE,
        "PostToolUseFailure": Occasion.FAILED,
        "SubagentStop": Occasion.FOLLOW,
    },
    "codex": {**_CLAUDE, "PostToolUse": Occasion.AFTER_UNTOLD, "SubagentStop": Occasion.FOLLOW},
    "gemini-cli": {
        "SessionStart": Occasion.START,
        "BeforeAgent": Occasion.PROMPT,
        "AfterTool": Occasion.AFTER_READ,
        "AfterAgent": Occasion.FOLLOW,
        "PreCompress": Occasion.FOLLOW,
        "SessionEnd": Occasion.FOLLOW,
    },
    "cursor": {
        "sessionStart": Occasion.START,
        "postToolUse": Occasion.AFTER_READ,
        "stop": Occasion.FOLLOW,
        "preCompact": Occasion.FOLLOW,
        "sessionEnd": Occasion.FOLLOW,
    },
    "copilot-cli": {
        **_COPILOT,
        **{f"{event[0].upper()}{event[1:]}": what for event, what in _COPILOT.items()},
        "UserPromptSubmit": Occasion.PROMPT,
        "Stop": Occasion.FOLLOW,
    },
    # It has no commands as hooks: a plugin calls `aur hook` with what its own hooks are given.
    "opencode": {
        "session.created": Occasion.START,
        "chat.message": Occasion.PROMPT,
        "tool.execute.after": Occasion.AFTER_READ,
        "session.idle": Occasion.FOLLOW,
        "session.compacted": Occasion.FOLLOW,
        "experimental.session.compacting": Occasion.FOLLOW,
    },
}


def occasion_of(agent: str, event: str) -> Occasion | None:
    """What an event is for; None if no answer is known for it."""
    return EVENTS.get(agent, {}).get(event)
