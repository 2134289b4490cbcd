"""The hooks of each agent: its events, and the entry that runs `aur hook AGENT EVENT` for one.

A hook never fails for the agent: if `aur` is missing or ends with an error, the line ends with 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from aurora.install.additions import Addition, JsonElement, JsonMember, OwnFile
from aurora.types import Json

_SECONDS = 5  # an agent waits no longer; the hook itself ends long before


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an agent, and the tools that it is asked for."""

    name: str
    matcher: str = ""


CLAUDE_EVENTS = (
    Event("SessionStart"),
    Event("UserPromptSubmit"),
    Event("PreToolUse", "Bash|Edit|MultiEdit|Write|NotebookEdit"),
    Event("PostToolUseFailure", "Bash"),
    Event("PreCompact"),
    Event("Stop"),
    Event("SessionEnd"),
)
CODEX_EVENTS = (
    Event("SessionStart"),
    Event("UserPromptSubmit"),
    Event("PreToolUse", "Bash|apply_patch"),
    Event("PostToolUse", "Bash"),  # also of a command that failed
    Event("PreCompact"),
    Event("Stop"),
)
GEMINI_EVENTS = (
    Event("SessionStart"),
    Event("BeforeAgent"),
    Event("AfterTool", "run_shell_command|read_file"),  # it takes no context before a tool
    Event("AfterAgent"),
    Event("PreCompress"),
    Event("SessionEnd"),
)
CURSOR_EVENTS = (
    Event("sessionStart"),
    Event("postToolUse", "Shell|Read"),
    Event("preCompact"),
    Event("stop"),
    Event("sessionEnd"),
)
COPILOT_EVENTS = (
    Event("sessionStart"),
    Event("userPromptSubmitted"),
    Event("postToolUse"),
    Event("postToolUseFailure"),
    Event("agentStop"),
    Event("preCompact"),
    Event("sessionEnd"),
)


def hook_line(agent: str, command: str, event: str) -> str:
    return f"{command} hook {agent} {event} || exit 0"


def hook_group(agent: str, command: str, event: Event) -> dict[str, Json]:
    """A group of hooks as Claude Code, Codex and Gemini CLI read it."""
    seconds = _SECONDS * 1000 if agent == "gemini-cli" else _SECONDS  # milliseconds there
    line = hook_line(agent, command, event.name)
    hook: dict[str, Json] = {"type": "command", "command": line, "timeout": seconds}
    if agent == "gemini-cli":
        hook = {"name": "aurora", **hook}
    matcher: dict[str, Json] = {"matcher": event.matcher} if event.matcher else {}
    return {**matcher, "hooks": [hook]}


def grouped_hooks(agent: str, command: str, events: tuple[Event, ...]) -> list[Addition]:
    return [
        JsonElement(("hooks", event.name), hook_group(agent, command, event)) for event in events
    ]


def cursor_hooks(agent: str, command: str, events: tuple[Event, ...]) -> list[Addition]:
    hooks: list[Addition] = []
    for event in events:
        entry: dict[str, Json] = {"command": hook_line(agent, command, event.name),
                                  "timeout": _SECONDS}  # fmt: skip
        if event.matcher:
            entry["matcher"] = event.matcher
        hooks.append(JsonElement(("hooks", event.name), entry))
    return [JsonMember(("version",), 1, gentle=True), *hooks]


def copilot_hooks(agent: str, command: str, events: tuple[Event, ...]) -> list[Addition]:
    groups = {}
    for event in events:
        line = f"{command} hook {agent} {event.name}"
        # PowerShell takes a quoted program for a text without the `&`.
        shells = {"bash": f"{line} || exit 0", "powershell": f"& {line}; exit 0"}
        groups[event.name] = [{"type": "command", **shells, "timeoutSec": _SECONDS}]
    return [OwnFile(json.dumps({"version": 1, "hooks": groups}, indent=2) + "\n")]


def opencode_plugin(agent: str, command: str, events: tuple[Event, ...]) -> list[Addition]:  # noqa: ARG001
    return [OwnFile(_OPENCODE.replace("COMMAND", json.dumps(command)))]


# `aur hook opencode EVENT` is given what OpenCode gives a plugin, and answers {"context": text}.
_OPENCODE = """\
// Written by `aur install`; `aur uninstall` removes it.
import { spawn } from "node:child_process"

const command = COMMAND
const patience = 5000

// Asks Aurora; any trouble is silence.
const ask = (event, payload) =>
  new Promise((resolve) => {
    try {
      const options = { cwd: payload.directory, shell: true, timeout: patience }
      const child = spawn(`${command} hook opencode ${event}`, options)
      let text = ""
      child.stdout.on("data", (data) => (text += data))
      child.on("error", () => resolve(""))
      child.on("close", () => {
        try {
          resolve(JSON.parse(text).context ?? "")
        } catch {
          resolve("")
        }
      })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve("")
    }
  })

export const Aurora = async ({ directory }) => {
  const told = new Map() // session -> what its requests carry
  const tell = (session, text) => {
    if (text) told.set(session, [...(told.get(session) ?? []), text])
  }
  const begun = new Set()
  return {
    event: async ({ event }) => {
      if (event.type === "session.idle") await ask(event.type, { directory, event })
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID
      if (!begun.has(session)) {
        begun.add(session)
        tell(session, await ask("session.created", { directory, session_id: session }))
      }
      const asked = { directory, input, output: { parts: output.parts } }
      tell(session, await ask("chat.message", asked))
    },
    "tool.execute.after": async (input, output) => {
      if (!["bash", "read"].includes(input.tool)) return
      const text = await ask("tool.execute.after", { directory, input, output })
      if (text) output.output += `\\n\\n${text}`
    },
    "experimental.chat.system.transform": async (input, output) => {
      output.system.push(...(told.get(input.sessionID) ?? []))
    },
    "experimental.session.compacting": async (input) => {
      await ask("experimental.session.compacting", { directory, input })
    },
  }
}
"""
