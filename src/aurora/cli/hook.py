"""`aur hook`: what agents call at their events. `aurora.hooks` answers; `__main__` goes there."""

from __future__ import annotations

import click

from aurora.hooks.client import main


@click.command(
    epilog="""\b
Examples:
  aur hook claude-code SessionStart < event.json
  aur hook codex UserPromptSubmit < event.json
\b
For the settings of an agent, not for people. The agents are claude-code, codex, gemini-cli,
cursor, copilot-cli and opencode, the events those of the agent. Status 0, whatever happens:
what is wrong is a line of ~/.aurora/logs/calls.jsonl.""",
)
@click.argument("words", metavar="AGENT EVENT", nargs=-1)
def hook(words: tuple[str, ...]) -> None:
    """Answer an event of an agent: JSON on stdin, what it should know now on stdout."""
    main(words)
