"""Sessions of agents become memory: stored once, kept, followed, shown and forgotten."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.errors import QueryError, SourceError
from aurora.types import EMBEDDING, Chunk, Event, Note, Progress
from tests.backends import in_a_file
from tests.sources.sessions.samples import CLAUDE, CODEX, make_home

pytestmark = in_a_file
AGENTS = {"claude-code", "codex", "gemini-cli", "cursor", "aider", "opencode", "copilot-cli",
          "copilot-chat"}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with open_memory(home) as memory:
        yield memory


def open_memory(home: Path, **variables: str) -> Memory:
    places = Places(home / ".aurora")
    settings = SettingsFiles(places, {"HOME": str(home), **variables})
    return Memory(places, settings, folder=home.parent / "project")


def stored(memory: Memory) -> Mapping[str, Chunk]:
    return {chunk.id: chunk for chunk in memory.admin.chunks()}


def transcript(home: Path) -> Path:
    return home / f".claude/projects/-code-shop/{CLAUDE}.jsonl"


def say(file: Path, *texts: str, start: int = 100, **facts: object) -> None:
    """Add a question and an answer for each text to a transcript of Claude Code."""
    with file.open("a", encoding="utf-8") as out:
        for at, text in enumerate(texts, start=start):
            for kind, said in (("user", f"Why is {text}?"), ("assistant", f"Because of {text}.")):
                record = {
                    "type": kind, "uuid": f"{kind}-{at}", "sessionId": file.stem,
                    "timestamp": f"2026-03-03T09:00:{at % 60:02}.000Z", "cwd": "/code/shop",
                    "message": {"role": kind, "content": said}, **facts,
                }  # fmt: skip
                out.write(json.dumps(record) + "\n")


def test_all_agents_of_a_home_are_found_and_nothing_is_stored(memory: Memory) -> None:
    found = {each.agent: each for each in memory.sessions.scan()}
    assert {name for name, each in found.items() if each.transcripts} == AGENTS
    assert found["claude-code"].transcripts == 2
    assert found["claude-code"].size > 1000
    assert not memory.exists


def test_an_import_stores_sessions_and_memory_files(memory: Memory) -> None:
    report = memory.sessions.import_()
    assert (report.failed, report.memories) == (0, 4)
    assert {entry.agent for entry in memory.sessions.list()} == AGENTS
    found = memory.search("why does the basket round twice").results[0].chunk
    assert found.metadata["session"] == CLAUDE
    notes = [chunk for chunk in stored(memory).values() if chunk.document_type == "agent-memory"]
    assert {note.metadata["agent"] for note in notes} == {"claude-code", "codex"}


def test_a_second_import_reads_nothing_and_changes_nothing(memory: Memory) -> None:
    first = memory.sessions.import_()
    before, generation = stored(memory), memory.admin.generation
    second = memory.sessions.import_()
    assert (second.read, second.exchanges, second.memories) == (0, 0, 0)
    assert second.unchanged == first.read
    assert (stored(memory), memory.admin.generation) == (before, generation)


def test_words_are_found_before_vectors_are_made(home: Path, memory: Memory) -> None:
    found = []

    def hear(event: Event) -> None:
        if isinstance(event, Progress) and event.task == EMBEDDING and not found:
            with open_memory(home) as other:
                found.append(other.search("basket round twice", mode="keyword").results[0].name)

    memory.sessions.import_(quick=True, listen=hear)
    assert found == ["Why does the basket round twice?"]


def test_a_growing_transcript_is_read_from_where_it_ended(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    before = stored(memory)
    say(transcript(home), "the heron blue", "the stork white")
    report = memory.sessions.import_(["claude-code"])
    new = {chunk.name for id_, chunk in stored(memory).items() if id_ not in before}
    assert new == {"Why is the heron blue?", "Why is the stork white?"}
    assert (report.read, report.exchanges) == (1, 2)
    assert memory.sessions.find(CLAUDE).exchanges == 5


def test_an_exchange_that_grew_replaces_its_pieces(home: Path, memory: Memory) -> None:
    file = transcript(home)
    say(file, "the heron blue")
    memory.sessions.import_(["claude-code"])
    say(file, "one thing", start=100, uuid="more", type="assistant")
    memory.sessions.import_(["claude-code"])
    chunk = stored(memory)["session:claude-code:user-100"]
    assert chunk.content.count("Asked:") == 1
    assert chunk.content.endswith("Because of the heron blue.\n\nWhy is one thing?")


def test_pieces_that_an_exchange_no_longer_has_are_removed(home: Path, memory: Memory) -> None:
    """A decision of the first reading is gone when the answer goes on in another way."""
    memory.sessions.import_(["claude-code"])
    store = memory.admin.store.chunks
    [chunk] = store.get_chunks(["session:claude-code:u-1"])
    stray = replace(chunk, id=f"{chunk.id}:command:gone", content="x")
    store.put_chunks([stray])
    file = transcript(home)
    text = file.read_text(encoding="utf-8").replace("round twice", "round two times, even")
    file.write_text(text, encoding="utf-8")
    memory.sessions.import_(["claude-code"])
    assert stray.id not in stored(memory)
    assert "two times, even" in stored(memory)["session:claude-code:u-1"].content


def test_a_fork_adds_only_what_is_new(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    before = stored(memory)
    fork = transcript(home).with_name("4a2b8c1e-0c55-4b8e-9a57-6c1d2f7a9e02.jsonl")
    text = transcript(home).read_text(encoding="utf-8").replace(CLAUDE, fork.stem)
    fork.write_text(text, encoding="utf-8")
    say(fork, "the heron blue")
    memory.sessions.import_(["claude-code"])
    after = stored(memory)
    assert {id_: after[id_] for id_ in before} == before
    assert {after[id_].name for id_ in after.keys() - before} == {"Why is the heron blue?"}
    assert [len(memory.sessions.show(id_)[1]) for id_ in (CLAUDE, fork.stem)] == [3, 4]


def test_a_rewritten_transcript_takes_nothing_away(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    before = stored(memory)
    kept = [line for line in transcript(home).read_text(encoding="utf-8").splitlines()
            if '"assistant"' not in line]  # fmt: skip
    transcript(home).write_text("\n".join(kept) + "\n", encoding="utf-8")
    memory.sessions.import_(["claude-code"])
    assert stored(memory) == before


def test_sessions_stay_when_the_agent_deletes_its_files(home: Path, memory: Memory) -> None:
    memory.sessions.import_()
    before, entries = stored(memory), memory.sessions.list()
    for folder in (".claude", ".codex"):
        shutil.rmtree(home / folder)
    report = memory.sessions.import_()
    memory.index()
    assert report.failed == 0
    assert stored(memory) == before
    assert memory.sessions.list() == entries


def test_memory_files_are_read_again_when_they_change(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    (home / ".claude/CLAUDE.md").write_text("# Birds\n\nHerons are blue.\n", encoding="utf-8")
    assert memory.sessions.import_(["claude-code"]).memories == 1
    notes = [c for c in stored(memory).values() if c.document_type == "agent-memory"]
    assert sum("Herons" in note.content for note in notes) == 1
    assert len(notes) == 3


def test_an_index_run_follows_only_agents_that_were_imported(home: Path, memory: Memory) -> None:
    memory.index()
    assert memory.sessions.list() == []
    memory.sessions.import_(["claude-code"])
    say(transcript(home), "the heron blue")
    memory.index()
    assert memory.sessions.find(CLAUDE).exchanges == 4
    assert {entry.agent for entry in memory.sessions.list()} == {"claude-code"}


def test_what_was_forgotten_stays_forgotten(home: Path, memory: Memory) -> None:
    memory.sessions.import_()
    assert memory.sessions.forget(CLAUDE) == 2  # with its sub-agent
    say(transcript(home), "the heron blue")
    memory.sessions.import_()
    memory.index()
    agents = [entry.agent for entry in memory.sessions.list()]
    assert "claude-code" not in agents
    assert not [id_ for id_ in stored(memory) if id_.startswith("session:claude-code")]
    with pytest.raises(QueryError, match="no session"):
        memory.sessions.show(CLAUDE)


def test_a_fork_of_a_forgotten_session_does_not_bring_it_back(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    memory.sessions.forget(CLAUDE)
    fork = transcript(home).with_name("4a2b8c1e-0c55-4b8e-9a57-6c1d2f7a9e02.jsonl")
    text = transcript(home).read_text(encoding="utf-8").replace(CLAUDE, fork.stem)
    fork.write_text(text, encoding="utf-8")
    say(fork, "the heron blue")
    memory.sessions.import_(["claude-code"])
    names = [c.name for id_, c in stored(memory).items() if id_.startswith("session:")]
    assert names == ["Why is the heron blue?"]


def test_a_forgotten_chunk_of_an_exchange_does_not_come_back(home: Path, memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    memory.forget("session:claude-code:u-1")
    file = transcript(home)
    file.write_text(f"\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    assert memory.sessions.import_(["claude-code"]).skipped["forgotten"] == 1
    assert "session:claude-code:u-1" not in stored(memory)


def test_an_agent_and_a_project_can_be_forgotten(memory: Memory) -> None:
    memory.sessions.import_()
    codex = sum(entry.agent == "codex" for entry in memory.sessions.list())
    assert memory.sessions.forget("codex") == codex
    assert memory.sessions.forget("/code/shop")
    assert {entry.project for entry in memory.sessions.list()}.isdisjoint({"/code/shop"})
    memory.sessions.import_()
    left = memory.sessions.list()
    assert "codex" not in {entry.agent for entry in left}
    assert "/code/shop" not in {entry.project for entry in left}


def test_since_and_project_choose_sessions_and_a_wider_wish_adds_the_others(memory: Memory) -> None:
    since = datetime(2026, 3, 2, 9, 3, tzinfo=UTC)
    report = memory.sessions.import_(["claude-code"], since=since)
    assert report.skipped["older than wanted"] == 3
    assert memory.sessions.find(CLAUDE).exchanges == 1
    memory.sessions.import_(["claude-code"], projects=[Path("/elsewhere")])
    assert memory.sessions.find(CLAUDE).exchanges == 1
    memory.sessions.import_(["claude-code"])
    assert memory.sessions.find(CLAUDE).exchanges == 3


def test_only_the_sessions_of_a_project_are_imported(memory: Memory) -> None:
    memory.sessions.import_(projects=[Path("/code/shop")])
    assert {entry.project for entry in memory.sessions.list()} == {"/code/shop"}


def test_an_export_is_imported_by_its_file(home: Path, memory: Memory) -> None:
    for service in ("claude", "chatgpt"):
        file = home.parent / "exports" / service / "conversations.json"
        assert memory.sessions.import_file(file).exchanges
    assert {entry.agent for entry in memory.sessions.list()} == {"claude", "chatgpt"}
    with pytest.raises(SourceError, match="no file"):
        memory.sessions.import_file(home / "nothing.json")


def test_a_session_is_shown_with_the_command_that_resumes_it(memory: Memory) -> None:
    memory.sessions.import_()
    entry, exchanges = memory.sessions.show(CLAUDE[:8])
    assert (entry.title, entry.project, entry.branch) == (
        "Rounding in the basket", "/code/shop", "fix-rounding",
    )  # fmt: skip
    assert entry.resume == f"cd /code/shop && claude --resume {CLAUDE}"
    assert memory.sessions.find(CODEX).resume.endswith(f"codex resume {CODEX}")
    assert exchanges[0].text.startswith("Asked: Why does the basket round twice?")
    assert exchanges[0].commands[0].startswith("$ pytest -q tests/test_prices.py")
    with pytest.raises(QueryError, match="sessions begin with '0195a2f0'"):
        memory.sessions.find("0195a2f0")


def test_a_sub_agent_is_resumed_by_its_parent(memory: Memory) -> None:
    memory.sessions.import_(["claude-code"])
    [child] = [entry for entry in memory.sessions.list() if entry.parent]
    assert child.parent == CLAUDE
    assert child.resume.endswith(f"claude --resume {CLAUDE}")


def test_an_index_run_goes_on_when_sessions_cannot_be_read(home: Path) -> None:
    notes: list[str] = []
    with open_memory(home) as memory:
        memory.sessions.import_(["claude-code"])
        store = memory.admin.store.chunks
        store.add_files([replace(note, path=note.path.replace("claude-code", "gone"))
                         for note in store.states_from("sessions:agent:").values()])  # fmt: skip

    def hear(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)

    places = Places(home / ".aurora")
    with Memory(places, SettingsFiles(places, {"HOME": str(home)}), listen=hear) as memory:
        memory.index(home.parent / "project")
    assert any("There is no agent 'gone'" in note for note in notes)


def test_sessions_are_no_files_of_the_memory(memory: Memory) -> None:
    memory.sessions.import_()
    assert memory.stats().files == 0
    assert memory.admin.left_out() == {}
    assert memory.admin.store.chunks.file_states() == {}
