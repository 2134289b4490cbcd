"""Claude Code, Codex and Gemini CLI after `aur install`: connected, told by hooks, and free again.

`make test-full` installs the agents from npm. Each runs in a home of its own, against a stand-in of
its model's API, which records what the model is sent.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import AUR
from tests.install.machine import Machine as Files
from tests.mcp.model_servers import CLAUDE, CODEX, CODEX_SETTINGS, FOLDER, serving
from tests.sources.sessions.clients import (
    GEMINI,
    GEMINI_SETTINGS,
    ClaudeModel,
    CodexModel,
    GeminiModel,
    Machine,
    ScriptedModel,
)

pytestmark = [
    pytest.mark.one_store("about clients that are not ours"),
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason=f"{FOLDER} is missing: `make test-full` installs the clients"
    ),
]

QUESTION, ANSWER = "What is a total?", "A sum."
TOOLS = {"aurora_search", "aurora_why", "aurora_learn", "search_code"}
LESSON = "The total in prices.py is without VAT, because the shop adds it"
PROGRAM = """#!/bin/sh
echo "$*" >> {log}
exec {aur} "$@"
"""


class _Recorded(ScriptedModel):
    """Keeps each request to the model."""

    requests: list[dict[str, Any]]

    def _turn(self, body: dict[str, Any]) -> Any:
        self.requests.append(body)
        return super()._turn(body)


def run_claude(machine: Machine, url: str) -> None:
    environ = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
               "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
    machine.run([CLAUDE, "-p", QUESTION], environ)


def run_codex(machine: Machine, url: str) -> None:
    settings = machine.home / ".codex" / "config.toml"
    text = settings.read_text() if settings.exists() else CODEX_SETTINGS.format(url="http://URL")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(text)
    options = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
    here = ["-c", f'model_providers.here.base_url="{url}/v1"', "--model", "a-model"]
    machine.run([CODEX, "exec", *options, *here, QUESTION], {"A_KEY": "none"})


def run_gemini(machine: Machine, url: str) -> None:
    settings = machine.home / ".gemini" / "settings.json"
    if not settings.exists():
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps(GEMINI_SETTINGS, indent=2))
    environ = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url,
               "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}  # fmt: skip
    machine.run([GEMINI, "-p", QUESTION, "--yolo", "--model", "gemini-2.5-flash"], environ)


@dataclass(frozen=True)
class Client:
    """How to run an agent, and what happens in a session of one answer."""

    run: Callable[[Machine, str], None]
    model: type[ScriptedModel]
    events: tuple[str, ...]  # at which hooks are called
    own: str = ""  # files that the agent changes itself


CLIENTS = {
    "claude-code": Client(
        run_claude, ClaudeModel, ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
        own="home/.claude[./][!s]*",  # but not settings.json and skills/
    ),
    "codex": Client(run_codex, CodexModel, ("SessionStart", "UserPromptSubmit", "Stop")),
    "gemini-cli": Client(
        run_gemini, GeminiModel, ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
    ),
}  # fmt: skip


def ask(client: Client, machine: Machine) -> list[dict[str, Any]]:
    """Run a client with one question; returns the requests that its model got."""
    requests: list[dict[str, Any]] = []
    kept = {"turns": {QUESTION: (ANSWER,)}, "numbers": count(1), "requests": requests}
    handler = type("Handler", (_Recorded, client.model), kept)
    with serving(handler) as url:
        client.run(machine, url)
    return requests


def settings_of(machine: Machine) -> dict[str, bytes]:
    """What the person and the project have, without what clients write as they run."""
    passing = {"projects", "sessions", "tmp", "log", "logs", "cache", "history", "shell_snapshots",
               ".aurora", ".git", ".cache"}  # fmt: skip
    return {
        path.relative_to(machine.home.parent).as_posix(): path.read_bytes()
        for root in (machine.home, machine.project)
        for path in sorted(root.rglob("*"))
        if path.is_file() and not passing & set(path.parts) and ".sqlite" not in path.name
    }


def make_program(folder: Path) -> tuple[Path, Path]:
    """Our command in a folder with a space in its name, and a file of its calls."""
    log, program = folder / "calls", folder / "bin dir" / "aur"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(log=log, aur=AUR), encoding="utf-8")
    program.chmod(0o755)
    return program, log


@pytest.mark.long
@pytest.mark.parametrize("name", CLIENTS)
def test_an_agent_is_connected_told_and_free_again(name: str, tmp_path: Path) -> None:
    client, machine, files = CLIENTS[name], Machine.make(tmp_path), Files(tmp_path)
    environ = {"HOME": str(machine.home), "PATH": os.environ["PATH"]}
    for words in (("index", "."), ("mem", "learn", LESSON)):
        subprocess.run([AUR, *words], cwd=machine.project, env=environ, check=True)
    ask(client, machine)  # it makes its own files
    before = settings_of(machine)
    program, log = make_program(tmp_path)

    assert files.install(name, command=(str(program),)).problems == []
    assert files.uninstall().problems == []
    assert settings_of(machine) == before

    plan = files.install(name, command=(str(program),))
    first = json.dumps(ask(client, machine)[0])
    assert [tool for tool in TOOLS if tool not in first] == []
    assert LESSON in first  # from the hook at the start
    assert "Search first: `search_code` before grep" in first  # the block
    assert "Use it before exploring unfamiliar code" in first  # the skill
    called = log.read_text(encoding="utf-8").splitlines()
    assert {f"hook {name} {event}" for event in client.events} | {"mcp"} <= set(called)

    assert files.uninstall().problems == []
    after = settings_of(machine)
    changed = {path for path, content in before.items() if after.get(path) != content}
    assert [path for path in changed if not fnmatch(path, client.own)] == []
    assert [path for path in changed if b"aurora" in after[path]] == []
    written = {change.file.relative_to(tmp_path).as_posix() for change in plan.changes}
    assert (written & after.keys()) - before.keys() == set()
