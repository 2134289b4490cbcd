"""At the end of a turn or session: its new records are read, if the person wanted sessions."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from aurora.hooks.answering import HookRequest, answer_hook
from aurora.types import READING, Json, Progress
from aurora.usage_log import UsageRecord, read_usage
from tests.cli.conftest import AUR
from tests.sources.sessions.samples import CLAUDE, CODEX, make_home
from tests.test_agent_sessions import open_memory, say, transcript


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


def send(
    home: Path, agent: str, event: str, payload: Mapping[str, Json], **variables: str
) -> UsageRecord:
    """Have an event be answered, by silence; returns the line of the log."""
    environ = {"HOME": str(home), "AURORA_HOME": str(home / ".aurora"), **variables}
    folder = str(home.parent / "project")
    assert answer_hook(HookRequest(agent, event, dict(payload), folder, environ)) == ""
    *_, last = read_usage(home / ".aurora")
    return last


def stop(home: Path, session: str = CLAUDE, **variables: str) -> UsageRecord:
    payload = {"session_id": session, "transcript_path": str(transcript(home))}
    return send(home, "claude-code", "Stop", payload, **variables)


def sessions(home: Path) -> Mapping[str, int]:
    with open_memory(home) as memory:
        return {entry.id: entry.exchanges for entry in memory.sessions.list()}


def test_nothing_is_read_of_a_person_who_did_not_ask_for_sessions(home: Path) -> None:
    assert stop(home).rows == 0
    assert sessions(home) == {}
    assert not (home / ".aurora" / "memory.db").exists()


def test_the_new_records_of_the_session_are_read_and_no_others(home: Path) -> None:
    with open_memory(home) as memory:
        memory.sessions.import_(["claude-code"])
    before = sessions(home)
    say(transcript(home), "the basket blue")
    other = transcript(home).with_name("0a0a0a0a-0000-4000-8000-000000000001.jsonl")
    say(other, "another session")
    done = stop(home)
    assert (done.moment, done.rows, done.error) == ("follow", 1, "")
    assert sessions(home) == {**before, CLAUDE: before[CLAUDE] + 1}
    with open_memory(home) as memory:
        assert "blue" in memory.search("why is the basket blue").results[0].content
    assert stop(home).rows == 0


def test_a_setting_says_yes_without_an_import(home: Path) -> None:
    assert stop(home, AURORA_HOOKS_SESSIONS="true").rows > 0
    assert {*sessions(home)} == {CLAUDE, "agent-a1b2c3"}  # which it started


@pytest.mark.parametrize(
    ("agent", "event", "payload"),
    [
        ("codex", "SessionEnd", {"session_id": CODEX, "transcript_path": None}),
        ("copilot-cli", "agentStop", {"sessionId": "9d1f4c2e-8a77-4b16-9b33-5e0c7a2d4f01"}),
        ("opencode", "session.idle", {"event": {"properties": {"sessionID": "ses_1"}}}),
    ],
)
def test_a_transcript_is_found_without_its_path(
    home: Path, agent: str, event: str, payload: dict[str, Json]
) -> None:
    """By the id of the session; OpenCode has one database for all of them."""
    if agent == "copilot-cli":
        payload = {"sessionId": next((home / ".copilot/session-state").iterdir()).name}
    assert send(home, agent, event, payload, AURORA_HOOKS_SESSIONS="true").rows > 0


def test_a_transcript_elsewhere_is_not_read(home: Path, tmp_path: Path) -> None:
    """Only what lies where the agent keeps its sessions."""
    foreign = tmp_path / "elsewhere.jsonl"
    say(foreign, "the basket green")
    payload = {"session_id": "elsewhere", "transcript_path": str(foreign)}
    done = send(home, "claude-code", "Stop", payload, AURORA_HOOKS_SESSIONS="true")
    assert (done.rows, sessions(home)) == (0, {})


def test_a_long_transcript_is_left_to_the_next_index_run(home: Path) -> None:
    with transcript(home).open("a") as out:
        out.write(" " * 4_100_000)
    assert stop(home, AURORA_HOOKS_SESSIONS="true").rows == 0


def test_beside_an_index_run_nothing_is_read(home: Path) -> None:
    with open_memory(home) as memory:
        memory.sessions.import_(["claude-code"])
        say(transcript(home), "the basket blue")
        with memory.admin.store.alone() as tell:
            tell(Progress(READING, 1, 2))
            assert stop(home).rows == 0
    assert stop(home).rows == 1


def test_an_agent_does_not_wait_for_the_new_records(home: Path) -> None:
    """Another process reads them, once: here it has to wait for the memory first."""
    with open_memory(home) as memory:
        memory.sessions.import_(["claude-code"])
    say(transcript(home), "the basket blue")
    environ = {**os.environ, "HOME": str(home), "AURORA_HOME": str(home / ".aurora")}
    sent = {"session_id": CLAUDE, "transcript_path": str(transcript(home)), "cwd": str(home)}
    with open_memory(home) as memory, memory.admin.store.alone():
        done = subprocess.run(
            [AUR, "hook", "claude-code", "Stop"],
            input=json.dumps(sent),
            env={**environ, "AURORA_HOOK_SECONDS": "60"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("", "")
        assert list(read_usage(home / ".aurora")) == []
    while not (records := list(read_usage(home / ".aurora"))):
        time.sleep(0.05)
    assert [(record.moment, record.rows, record.error) for record in records] == [("follow", 1, "")]
