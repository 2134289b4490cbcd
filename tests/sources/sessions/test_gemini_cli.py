"""Gemini CLI writes all messages of a session again when it is resumed or shortened."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sources.sessions.samples import read


def gemini_session(path: Path, *lines: str) -> Path:
    """A session with a command, and what follows it."""
    call = '{"id":"c-1","name":"run_shell_command","args":{"command":"make"}'
    told = {"output": "Output: ok\nProcess Group PGID: 7"}
    response = json.dumps({"functionResponse": {"id": "c-1", "response": told}})
    path.write_text(
        '{"sessionId":"s","kind":"main"}\n'
        '{"id":"u","timestamp":"2026-03-02T11:00:00Z","type":"user","content":"Build it"}\n'
        '{"id":"g","timestamp":"2026-03-02T11:00:01Z","type":"gemini","content":"",'
        f'"toolCalls":[{call},"status":"success","result":[{response}]}}]}}\n' + "\n".join(lines),
        encoding="utf-8",
    )
    return path


RESUMED = (
    '{"$set":{"messages":[%s'
    '{"id":"u","timestamp":"2026-03-05T09:00:00Z","type":"user","content":[{"text":"Build it"}]},'
    '{"id":"g","timestamp":"2026-03-05T09:00:00Z","type":"gemini","content":[{"functionCall":'
    '{"id":"c-1","name":"run_shell_command","args":{"command":"make"}}}]},'
    '{"id":"r","timestamp":"2026-03-05T09:00:00Z","type":"user","content":[{"functionResponse":'
    '{"id":"c-1","response":{"output":"Output: ok\\nProcess Group PGID: 7"}}}]}]}}'
)


def test_a_gemini_session_that_was_resumed_keeps_its_times_and_calls(tmp_path: Path) -> None:
    """When it is resumed, all messages are written again: later, and with calls as parts."""
    once, _ = read(gemini_session(tmp_path / "session-a.jsonl"), "gemini-cli")
    again, _ = read(gemini_session(tmp_path / "session-b.jsonl", RESUMED % ""), "gemini-cli")

    assert again == once
    (use,) = again[0].tools
    assert (use.exit_status, use.failed) == (0, False)  # Gemini CLI writes no status of 0


def test_calls_of_gemini_are_read_where_they_are_only_parts_of_messages(tmp_path: Path) -> None:
    path = tmp_path / "session-x.jsonl"
    path.write_text('{"sessionId":"s"}\n' + RESUMED % "", encoding="utf-8")

    ((exchange,), _) = read(path, "gemini-cli")

    assert [(use.input, use.exit_status) for use in exchange.tools] == [("make", 0)]
    assert exchange.tools[0].outcome == "Output: ok\nProcess Group PGID: 7"


def test_what_gemini_cli_left_out_when_it_shortened_a_session_is_read(tmp_path: Path) -> None:
    summary = '{"id":"s","type":"user","content":"<state_snapshot>It is built.</state_snapshot>"}'
    shortened = f'{{"$set":{{"messages":[{summary}]}}}}'

    exchanges, _ = read(gemini_session(tmp_path / "session-a.jsonl", shortened), "gemini-cli")

    assert [(exchange.asked, exchange.is_summary) for exchange in exchanges] == [
        ("Build it", False), ("", True),
    ]  # fmt: skip


def test_an_outcome_that_gemini_cli_masked_later_is_read_as_it_was(tmp_path: Path) -> None:
    masked = (
        '{"$set":{"messages":[{"id":"u","type":"user","content":"Build it"},{"id":"g","type":'
        '"gemini","content":[],"toolCalls":[{"id":"c-1","name":"run_shell_command","args":'
        '{"command":"make"},"result":[{"text":"<tool_output_masked>"}]}]}]}}'
    )

    ((exchange,), _) = read(gemini_session(tmp_path / "session-a.jsonl", masked), "gemini-cli")

    assert exchange.tools[0].outcome == "Output: ok\nProcess Group PGID: 7"


def test_what_hooks_said_is_not_taken_for_the_question(tmp_path: Path) -> None:
    """Without a screen, Gemini CLI puts it into the message of the user."""
    said = "<hook_context>- lesson: one\\ntwo</hook_context>\\n\\n"
    asked = f'{{"id":"v","type":"user","content":[{{"text":"{said}Is it built?"}}]}}'
    alone = f'{{"id":"w","type":"user","content":"{said}"}}'

    exchanges, _ = read(gemini_session(tmp_path / "session-a.jsonl", asked, alone), "gemini-cli")

    assert [exchange.asked for exchange in exchanges] == ["Build it", "Is it built?"]
