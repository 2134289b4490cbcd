"""Errors and notes in the words of an agent: tools in place of commands of the command line.

Below the doors, a hint names the command that a person would run. `for_agents` puts the tool in its
place. What no tool does is named as a command of the user, who can be asked to run it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from aurora.errors import AuroraError

_TOOLS = {
    "mem index": "aurora_index",
    "index": "aurora_index",
    "mem search": "aurora_search",
    "search": "aurora_search",
    "mem get": "aurora_retrieve",
    "mem why": "aurora_why",
    "mem how": "aurora_why",
    "mem fix": "aurora_why",
    "mem add": "aurora_ingest",
    "mem learn": "aurora_learn",
    "mem forget": "aurora_forget",
    "mem stats": "aurora_status",
}
_OPTION = re.compile(r" --?[a-z]")  # tools do not have the options of commands
_QUOTED = re.compile(r"`(?:cd [^`]* && )?aur ([^`]+)`")
_BARE = re.compile(
    r"(?:\bcd \S+ && )?\baur ((?:(?:mem|db|models|workspace|config) )?[a-z][a-z-]*)( \.)?"
)


def for_agents(text: str, tools: Collection[str]) -> str:
    """The text with one of these tools in place of each command."""
    for pattern in (_QUOTED, _BARE):
        text = pattern.sub(lambda found: _replace(found, tools), text)
    return text


def _replace(found: re.Match[str], tools: Collection[str]) -> str:
    command, before = found[1], found.string[: found.start()].rstrip()
    words = command.split()
    name = next((n for n in (" ".join(words[:2]), words[0]) if n in _TOOLS), "")
    if _TOOLS.get(name) in tools and not _OPTION.search(command):
        return _TOOLS[name]
    article = "The" if not before or before.endswith(".") else "the"
    return f"{article} user's command `{command}`"


def error_text(exc: AuroraError, tools: Collection[str]) -> str:
    return for_agents(str(exc), tools)
