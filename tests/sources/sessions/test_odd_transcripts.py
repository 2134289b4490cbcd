"""What transcripts in public repositories taught: each test is one that was read wrongly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.sources.sessions.samples import HERE, Sample, read


def test_a_question_of_aider_after_a_code_block_that_is_left_open(tmp_path: Path) -> None:
    """Aider writes two spaces after what the user types, and a blank line before it."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        "# aider chat started at 2026-03-02 13:00:00\n\n#### Show the stock  \n\n"
        "```python\n\n#### a comment\nprint(1)\n\n#### Thanks  \n\nYou are welcome.\n",
        encoding="utf-8",
    )

    exchanges, _ = read(path, "aider")

    assert [(exchange.asked, exchange.answered) for exchange in exchanges] == [
        ("Show the stock", "```python\n\n#### a comment\nprint(1)"),
        ("Thanks", "You are welcome."),
    ]


@pytest.mark.parametrize("end", ["  ", ""])
def test_what_a_command_said_in_aider_has_a_mark_on_its_first_line_alone(
    tmp_path: Path, end: str
) -> None:
    """It ends with two spaces. Where an editor took them away, an answer must not be lost."""
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        f"# aider chat started at 2026-03-02 13:00:00\n\n#### /test pytest{end}\n\n> = start =\n"
        f"```\n  1 failed\n\nAssertionError{end}\n\n#### Why?{end}\n\nIt is locked.\n",
        encoding="utf-8",
    )

    exchanges, _ = read(path, "aider")

    if end:
        assert exchanges[0].tools[0].outcome == "= start =\n```\n  1 failed\n\nAssertionError"
        assert (exchanges[1].asked, exchanges[1].answered) == ("Why?", "It is locked.")
    assert any("It is locked." in exchange.answered for exchange in exchanges)


@pytest.mark.parametrize("id_", ["msg_x", "../../elsewhere", "..", "", 7])
def test_parts_of_opencode_lie_under_the_id_of_their_message(tmp_path: Path, id_: object) -> None:
    """An id that is no name of a folder is not followed."""
    storage = shutil.copytree(HERE / "home/.local/share/opencode/storage", tmp_path / "storage")
    message = storage / "message/ses_0/msg_01.json"
    message.write_text(json.dumps(json.loads(message.read_text()) | {"id": id_}))
    if id_ == "msg_x":
        (storage / "part/msg_01").rename(storage / "part/msg_x")

    ((exchange,), _) = read(storage / "session/p0/ses_0.json", "opencode")

    assert exchange.asked == "Sell gift cards"


def test_a_file_with_a_single_conversation_of_chatgpt(tmp_path: Path) -> None:
    (conversation,) = json.loads((HERE / "exports/chatgpt/conversations.json").read_text())
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(conversation), encoding="utf-8")

    ((exchange,), reading) = read(path, "exports")

    assert exchange.asked == "When do shops open?"
    assert [session.title for session in reading.sessions.values()] == ["Opening hours"]


def test_a_damaged_record_does_not_hide_the_whole_one_with_its_id(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"user","uuid":"a","message":"error"}\n'
        '{"type":"user","uuid":"a","message":{"content":"Hello"}}\n',
        encoding="utf-8",
    )

    ((exchange,), reading) = read(Sample("claude-code", path))

    assert exchange.asked == "Hello"
    assert reading.skipped == {"a record without its message": 1}
