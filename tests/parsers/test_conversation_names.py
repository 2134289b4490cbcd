"""What the path of a log tells: that it is one, its topic and date, and the ids of its chunks."""

from __future__ import annotations

import pytest

from aurora.parsers.conversation import KnowledgeParser, is_conversation
from aurora.types import Chunk, Document
from tests.builders import parse

FOLDER = "/home/ada/.aurora/logs/conversations/2025/12"


def read(text: str, path: str) -> list[Chunk]:
    return list(KnowledgeParser().parse(Document(path, text)).chunks)


@pytest.mark.parametrize(
    ("name", "topic", "date"),
    [
        ("2025-12-15-auth.md", "auth", "2025-12-15"),
        ("2025-12-15.md", "2025-12-15", "2025-12-15"),
        ("move-2020-01-01-data-2025-12-15.md", "move-2020-01-01-data", "2025-12-15"),
        ("auth-2025-12-15-2.md", "auth-2", "2025-12-15"),
        ("auth-2025-13-01.md", "auth-2025-13-01", None),
        ("auth.md", "auth", None),
    ],
)
def test_the_name_of_the_file_tells_topic_and_date(name: str, topic: str, date: str | None) -> None:
    (chunk,) = read("Words.", f"{FOLDER}/{name}")

    assert (chunk.metadata["topic"], chunk.metadata["conversation_date"]) == (topic, date)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(f"{FOLDER}/a-2025-12-15.md", "conv-a-2025-12-15-phase1", id="its-month"),
        pytest.param("a-2025-12-15.md", "conv-a-2025-12-15-phase1", id="top"),
        pytest.param(f"{FOLDER}/a.md", "2025/12/conv-a-phase1", id="undated"),
        pytest.param(
            f"{FOLDER}/a-2025-11-01.md", "2025/12/conv-a-2025-11-01-phase1", id="another-month"
        ),
        pytest.param("talks/a-2025-12-15.md", "talks/conv-a-2025-12-15-phase1", id="elsewhere"),
        pytest.param("/talks/a.md", "/talks/conv-a-phase1", id="absolute"),
        pytest.param("/a.md", "conv-a-phase1", id="root"),
        pytest.param("talks/a-phase1.md", "talks/conv-a-phase1.md-phase1", id="like-an-id"),
        pytest.param("talks/a.markdown", "talks/conv-a.markdown-phase1", id="other-suffix"),
    ],
)
def test_logs_of_one_name_in_two_folders_have_different_ids(path: str, expected: str) -> None:
    assert [chunk.id for chunk in read("## Phase 1: One\n", path)] == [expected]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(f"{FOLDER}/a.md", "anything", True, id="where-logs-are"),
        pytest.param("logs/conversations/2025/12/a.md", "", True, id="relative"),
        pytest.param("blogs/conversations/2025/12/a.md", "", False, id="not-logs"),
        pytest.param("logs/conversations/2025/a.md", "# Notes", False, id="no-month"),
        pytest.param("a.md", "\ufeff\n# Conversation: A\n", True, id="heading"),
        pytest.param("a.md", "---\ntitle: b\n---\n# Conversation: A\r\n", True, id="front-matter"),
        pytest.param("a.md", "# Notes\n# Conversation: A\n", False, id="second-heading"),
        pytest.param("a.md", "## Conversation: A\n", False, id="second-level"),
        pytest.param("a.md", "# Conversations\n", False, id="plural"),
        pytest.param("a.md", "```\n# Conversation: A\n```\n", False, id="in-code"),
    ],
)
def test_a_log_is_known_by_its_place_or_its_first_heading(
    path: str, text: str, *, expected: bool
) -> None:
    assert is_conversation(Document(path, text)) is expected


def test_the_registry_sends_logs_here_and_notes_elsewhere() -> None:
    texts = ["# Conversation: A\n\n## Phase 1: B\nc", "# Notes\n\n## Phase 1: B\nc"]

    assert [chunk.metadata["source"] for text in texts for chunk in parse(text, "a.md")] == [
        "conversation",
        "note",
    ]
