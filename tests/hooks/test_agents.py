"""Every event of every agent: what it is for, and what is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.hooks.agents import read_event
from aurora.hooks.occasions import EVENTS, Occasion
from aurora.types import AT_START, Moment, Situation
from tests.hooks.events import (
    COMMAND,
    ENDS,
    ERROR,
    FILE,
    PROMPT,
    PROMPTS,
    SESSION,
    STARTS,
    Sent,
    all_events,
)

FOLDER = Path("/code/shop")
SENT = all_events(FOLDER)
FAILURE = Situation(Moment.FAILURE, command=COMMAND)


def named(sent: Sent) -> str:
    return f"{sent.agent} {sent.event}"


@pytest.mark.parametrize("sent", SENT, ids=named)
def test_an_event_is_read(sent: Sent) -> None:
    occasion = EVENTS[sent.agent][sent.event]
    event = read_event(occasion, sent.payload, str(FOLDER))
    assert event.session == SESSION
    assert event.follows is (sent.event in ENDS)
    assert (event.situations == (AT_START,)) is (sent.event in STARTS)
    assert (event.situations == (Situation(Moment.PROMPT, PROMPT),)) is (sent.event in PROMPTS)


def situations(agent: str) -> list[Situation]:
    """What an agent tells at its tools, in order; errors without their text."""
    read = [
        each
        for sent in SENT
        if sent.agent == agent
        for each in read_event(EVENTS[agent][sent.event], sent.payload, str(FOLDER)).situations
    ]
    tools = [each for each in read if each.moment not in (Moment.START, Moment.PROMPT)]
    failures = [each for each in tools if each.moment is Moment.FAILURE]
    assert all(ERROR in each.text for each in failures)
    return [FAILURE if each in failures else each for each in tools]


EDIT = Situation(Moment.EDIT, file=str(FOLDER / FILE))
BEFORE = Situation(Moment.COMMAND, command=COMMAND)


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("claude-code", [EDIT, BEFORE, FAILURE]),
        ("codex", [EDIT, BEFORE, FAILURE]),
        ("gemini-cli", [EDIT, FAILURE]),
        ("cursor", [EDIT, FAILURE]),
        ("copilot-cli", [EDIT, FAILURE, FAILURE]),
        ("opencode", [EDIT, FAILURE]),
    ],
)
def test_tools_name_their_file_or_command(agent: str, expected: list[Situation]) -> None:
    """Agents that take nothing before a tool are told of a file when they have read it."""
    assert situations(agent) == expected


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "built"},
        {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {"exit_code": 0}},
        {"tool_name": "Read", "tool_input": {"file_path": "a.py"}, "tool_response": "x"},
        {
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "error": "x",
            "is_interrupt": True,
        },
        {"tool_name": "Bash", "tool_input": {}, "error": "x"},
        {"tool_name": "mcp__x__y", "tool_input": {"path": "a.py"}, "error": "x"},
        {"tool_name": 7, "tool_input": [[]], "tool_response": 8},
        {},
        [],
        "text",
        None,
    ],
)
def test_nothing_to_tell_after_a_tool(payload: object) -> None:
    """It worked, the user stopped it, it is no command, or it is no event at all."""
    event = read_event(Occasion.AFTER, payload, "/code/shop")  # type: ignore[arg-type]
    assert event.situations == ()


def test_an_agent_that_tells_no_status_is_read_by_what_a_command_printed() -> None:
    def told(printed: str) -> bool:
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": printed}
        return bool(read_event(Occasion.AFTER_UNTOLD, call, "/code").situations)  # type: ignore[arg-type]

    assert told("make: *** [all] Error 2")
    assert told("Traceback (most recent call last):\nKeyError: 'x'")
    assert not told("built in 3 s")


def test_a_patch_names_its_files_and_a_long_one_the_first() -> None:
    lines = "".join(f"*** Update File: f{n}.py\n@@\n-a\n+b\n" for n in range(9))
    patch = f"*** Begin Patch\n{lines}*** End Patch"
    payload = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    event = read_event(Occasion.BEFORE, payload, "/code")  # type: ignore[arg-type]
    assert [each.file for each in event.situations] == [f"/code/f{n}.py" for n in range(5)]


def test_a_long_error_is_told_by_its_end() -> None:
    payload = {"tool_name": "Bash", "tool_input": {"command": "x"}, "error": "a" * 90_000 + "END"}
    event = read_event(Occasion.FAILED, payload, "/code")  # type: ignore[arg-type]
    assert event.situations[0].text.endswith("aEND")
    assert len(event.situations[0].text) == 20_000
