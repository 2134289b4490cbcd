"""Transcripts that the real Claude Code, Codex and Gemini CLI write are read as they happened.

Each works on a project of its own: a command fails, an edit mends it, the command passes. Then the
session is resumed with another question.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from aurora.sources.sessions.base import Exchange, Reading, ToolKind
from aurora.sources.sessions.readers import make_reader
from tests.mcp.model_servers import FOLDER
from tests.sources.sessions.clients import (
    AFTERWARDS,
    ANSWERED,
    ANSWERED_LATER,
    ASKED,
    ASKED_LATER,
    BRANCH,
    COMMAND,
    REPORT,
    TASK,
    Machine,
    run_claude,
    run_codex,
    run_gemini,
)
from tests.sources.sessions.samples import Sample, ids, read

pytestmark = [
    pytest.mark.one_store("about transcripts alone"),
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason=f"{FOLDER} is missing: `make test-full` installs the clients"
    ),
]


class Client(NamedTuple):
    """How to work with an agent, and what its transcripts do not have."""

    agent: str
    ask: Callable[[Machine], None]
    ask_later: Callable[[Machine], None]
    has_git: bool = True
    has_commit: bool = False


CLIENTS = {
    "claude-code": Client(
        "claude-code",
        lambda machine: run_claude(machine, (ASKED,)),
        lambda machine: run_claude(
            machine, (ASKED_LATER, "--continue"), ("/compact", "--continue")
        ),
    ),
    "codex": Client(
        "codex",
        lambda machine: run_codex(machine, (ASKED,), tools="functions"),
        lambda machine: run_codex(machine, ("resume", "--last", ASKED_LATER), tools="functions"),
        has_commit=True,
    ),
    "codex-scripts": Client(
        "codex",
        lambda machine: run_codex(machine, (ASKED,), tools="scripts"),
        lambda machine: run_codex(machine, ("resume", "--last", ASKED_LATER), tools="scripts"),
        has_commit=True,
    ),
    "gemini-cli": Client(
        "gemini-cli",
        lambda machine: run_gemini(machine, (ASKED,)),
        lambda machine: run_gemini(machine, (ASKED_LATER, "--resume", "latest")),
        has_git=False,
    ),
}


def transcripts(agent: str, machine: Machine) -> list[Sample]:
    found = make_reader(agent).locate(machine.home, {})
    return [Sample(agent, path) for path in found if isinstance(path, Path)]


def read_session(agent: str, machine: Machine) -> tuple[list[Exchange], Reading]:
    """Read the transcript that is not of a sub-agent."""
    own = [each for each in transcripts(agent, machine) if "subagents" not in each.path.parts]
    # Gemini CLI begins another file of the session when the minute in its name is another.
    readings = [read(sample) for sample in sorted(own)]
    told: dict[str, Exchange] = {}
    for exchanges, _ in readings:
        for each in exchanges:
            told.setdefault(each.id, each)
    return list(told.values()), readings[0][1]


def check_work(exchange: Exchange, machine: Machine, client: Client) -> None:
    assert exchange.asked == ASKED
    assert exchange.answered.startswith(ANSWERED)
    commands = [use for use in exchange.tools if use.kind is ToolKind.COMMAND]
    assert [(use.input, use.exit_status, use.failed) for use in commands] == [
        (COMMAND, 3, True), (COMMAND, 0, False),
    ]  # fmt: skip
    assert "AssertionError" in commands[0].outcome
    assert "passed" in commands[1].outcome
    assert {machine.project / file for file in exchange.edited} == {Path(machine.prices)}
    assert exchange.branch == (BRANCH if client.has_git else "")
    assert exchange.commit == (machine.git("rev-parse", "HEAD") if client.has_commit else "")
    assert exchange.cwd == str(machine.project)
    assert exchange.model


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_client_did_is_read_and_goes_on_when_it_is_resumed(
    name: str, tmp_path: Path
) -> None:
    client, machine = CLIENTS[name], Machine.make(tmp_path)
    began = datetime.now(UTC)
    client.ask(machine)
    before, first = read_session(client.agent, machine)
    resumed = datetime.now(UTC)
    client.ask_later(machine)
    exchanges, reading = read_session(client.agent, machine)

    assert (machine.project / "prices.py").read_text().endswith("return sum(rows)\n")
    assert len(before) == 1
    assert exchanges[0] == before[0]
    assert (exchanges[1].asked, exchanges[1].answered) == (ASKED_LATER, ANSWERED_LATER)
    assert len(set(ids(exchanges))) == len(exchanges)
    check_work(exchanges[0], machine, client)
    (session,) = reading.sessions.values()
    assert (session.id, session.title) == (*first.sessions, ASKED)
    assert (session.project, session.branch) == (exchanges[0].cwd, exchanges[0].branch)
    times = [began, session.started, exchanges[0].time, resumed, exchanges[1].time]
    assert times == sorted(filter(None, times))
    assert reading.skipped == {}
    if client.agent == "claude-code":
        check_claude(machine, exchanges)


def check_claude(machine: Machine, exchanges: list[Exchange]) -> None:
    """What only Claude Code does here: a sub-agent, its notification, and a summary."""
    assert exchanges[0].answered == f"{ANSWERED}\n\n{AFTERWARDS}"
    assert [exchange.is_summary for exchange in exchanges] == [False, False, True]
    assert "<system-reminder>" not in exchanges[2].answered
    (sample,) = (
        each for each in transcripts("claude-code", machine) if "subagents" in each.path.parts
    )
    ((exchange,), reading) = read(sample)
    assert (exchange.asked, exchange.answered) == (TASK, REPORT)
    assert [(use.name, use.input) for use in exchange.tools] == [("Grep", "total")]
    (session,) = reading.sessions.values()
    assert session.title == "Find callers"
    assert session.parent == exchanges[0].session
    assert reading.skipped == {}
