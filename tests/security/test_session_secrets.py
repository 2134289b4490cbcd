"""What is secret in a transcript is in no file of a memory, and no session is on a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.redaction import Redactor
from aurora.stores.postgres.address import DEFAULT_SCHEMA
from tests.backends import in_a_file
from tests.security.secret_samples import Sample, samples
from tests.sources.sessions.samples import make_home

pytestmark = in_a_file
SESSION = "7d2b8c1e-0c55-4b8e-9a57-6c1d2f7a9e07"


def unique() -> list[Sample]:
    """Each secret that has a form, once. Short ones are parts of other words."""
    redact = Redactor().text
    known = (sample for sample in samples() if sample.secret not in redact(sample.line))
    return list({sample.secret: sample for sample in known if len(sample.secret) >= 12}.values())


def records(number: int, sample: Sample) -> Iterator[dict[str, object]]:
    """An exchange with a secret in the question, the answer, a command and its outcome."""
    tool = {"type": "tool_use", "id": f"tool-{number}", "name": "Bash",
            "input": {"command": sample.line}}  # fmt: skip
    outcome = {"type": "tool_result", "tool_use_id": f"tool-{number}", "is_error": True,
               "content": f"Error: cannot go on\n{sample.line}"}  # fmt: skip
    for at, (role, content) in enumerate((
        ("user", f"We decided to use this:\n{sample.line}"),
        ("assistant", [tool]),
        ("user", [outcome]),
        ("assistant", [{"type": "text", "text": f"I never repeat it.\n{sample.line}"}]),
    )):  # fmt: skip
        yield {
            "type": role, "uuid": f"u-{number}-{at}", "sessionId": SESSION, "cwd": "/code/shop",
            "timestamp": "2026-03-03T09:00:00.000Z", "message": {"role": role, "content": content},
        }  # fmt: skip


def write_transcript(home: Path, secrets: list[Sample]) -> None:
    folder = home / ".claude/projects/-code-shop"
    folder.mkdir(parents=True)
    titles = [{"type": "custom-title", "customTitle": secrets[0].line, "sessionId": SESSION}]
    lines = [record for at, sample in enumerate(secrets) for record in records(at, sample)]
    text = "".join(f"{json.dumps(line)}\n" for line in [*lines, *titles])
    (folder / f"{SESSION}.jsonl").write_text(text, encoding="utf-8")
    write_memories(folder / "memory", secrets)


def write_memories(folder: Path, secrets: list[Sample]) -> None:
    folder.mkdir()
    text = "# Notes\n\n" + "\n".join(sample.line for sample in secrets)
    (folder / "MEMORY.md").write_text(text, encoding="utf-8")


def open_memory(home: Path, **variables: str) -> Memory:
    places = Places(home / ".aurora")
    return Memory(places, SettingsFiles(places, {"HOME": str(home), **variables}))


def test_no_file_of_the_memory_has_a_secret_of_a_transcript(tmp_path: Path) -> None:
    secrets = unique()
    assert len({sample.kind for sample in secrets}) > 40
    write_transcript(tmp_path, secrets)
    with open_memory(tmp_path) as memory:
        assert memory.sessions.import_(["claude-code"]).exchanges == len(secrets)
        memory.search("we decided to use this")
    leaks = [
        (file.name, sample.kind)
        for file in (tmp_path / ".aurora").rglob("*")
        if file.is_file() and (content := file.read_bytes().lower())
        for sample in secrets
        if sample.secret.lower().encode() in content
    ]
    assert leaks == []


def test_sessions_are_in_a_file_where_the_settings_name_a_server(
    tmp_path: Path, memory_url: str
) -> None:
    home = make_home(tmp_path)
    with open_memory(home, AURORA_STORE_URL=memory_url) as memory:
        memory.add("A document for the team.")
        memory.sessions.import_()
        memory.index(tmp_path / "project")
        assert memory.search("why does the basket round twice").results[0].memory == "personal"
    assert (home / ".aurora/memory.db").exists()
    with psycopg.connect(memory_url, options=f"-c search_path={DEFAULT_SCHEMA}") as server:
        chunks = server.execute("SELECT id, metadata::text FROM chunks").fetchall()
        files = server.execute("SELECT path FROM files").fetchall()
    assert [id_ for id_, metadata in chunks if "session" in id_ or '"agent"' in metadata] == []
    assert [path for (path,) in files if "session" in path or ".claude" in path] == []


@pytest.mark.parametrize("on", [True, False])
def test_redaction_follows_the_setting(tmp_path: Path, on: bool) -> None:
    write_transcript(tmp_path, unique()[:1])
    with open_memory(tmp_path, AURORA_INDEXING_REDACT_SECRETS=str(on).lower()) as memory:
        memory.sessions.import_(["claude-code"])
        texts = [chunk.content for chunk in memory.admin.chunks()]
    assert any(unique()[0].secret in text for text in texts) is not on
