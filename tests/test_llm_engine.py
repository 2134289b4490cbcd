"""A memory that a language model helps: with a real server, from the settings to the answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.engine.health import MemoryCheck, check_llm, run_checks
from aurora.report_types import Finding, Level
from aurora.types import Event, Note
from tests.builders import NOW, write_tree
from tests.endpoint_server import fails, is_fine
from tests.llm.chat_server import MODEL, ChatServer, tells

FILES: dict[str, str | bytes] = {
    "bread.md": "# Bread\n\nHow to bake bread.\n",
    "users.md": "# Users\n\nWho may sign gets a session: a token, or a cookie with a token.\n",
    "accounts.md": "# Accounts\n\nHow to sign on and off, again and again: sign on.\n",
    "people.md": "# People\n\nHow those who work here sign on.\n",
}
EXPAND = {"search.expand": True}
RERANK = {"search.rerank.by": "llm"}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


class World:
    """A project, and memories of it with settings of the moment."""

    def __init__(self, root: Path, url: str) -> None:
        self.root, self.home, self.url = root, root.parent / "home", url
        self.heard: list[Event] = []

    def memory(self, flags: Mapping[str, object] = {}, environ: Mapping[str, str] = {}) -> Memory:
        places = Places(self.home, self.root)
        patient = {"llm.seconds": 40.0}  # this machine may be busy
        asked = {"llm.endpoint": self.url, "llm.model": MODEL, **patient, **flags}
        files = SettingsFiles(places, environ, asked)
        return Memory(places, files, now=lambda: NOW, listen=self.heard.append)


@pytest.fixture
def world(tmp_path: Path, server: ChatServer) -> World:
    root = write_tree(tmp_path / "project", FILES)
    (root / ".aurora").mkdir()
    world = World(root, server.url)
    with world.memory() as memory:
        memory.index(root)
    return world


def test_nobody_is_asked_unless_the_user_wants_it(world: World, server: ChatServer) -> None:
    with world.memory() as memory:
        assert memory.search("sign on").results
    assert server.seen == []


def test_a_setting_or_an_argument_expands_a_search(world: World, server: ChatServer) -> None:
    with world.memory() as memory:
        plain = memory.search("sign on")
        more = memory.search("sign on", expand=True)
        assert Note("Expanded with: session, cookie, token") in more.notes
        paths = [[one.chunk.path for one in answer.results] for answer in (plain, more)]
        assert [found.index("users.md") for found in paths] == [2, 0]
    with world.memory(EXPAND) as memory:
        assert memory.search("sign on").results == more.results
        assert memory.search("sign on", expand=False).results == plain.results
    assert len(server.seen) == 1  # the second one is remembered
    [kept] = (world.root / ".aurora" / "indexes" / "llm").iterdir()
    assert kept.read_text() == "session, cookie, token"


def test_a_setting_or_an_argument_has_the_model_order_results(
    world: World, server: ChatServer
) -> None:
    with world.memory() as memory:
        plain = [one.chunk.path for one in memory.search("sign on").results]
        server.mood = tells("2, 1")
        turned = memory.search("sign on", rerank="llm").results
    assert [one.chunk.path for one in turned] == [plain[1], plain[0], *plain[2:]]
    assert "Accounts" in server.prompts[0]
    with world.memory(RERANK) as memory:
        assert memory.search("sign on").results == turned


def test_a_key_of_its_own_goes_to_the_endpoint_and_openais_does_not(
    world: World, server: ChatServer
) -> None:
    with world.memory(EXPAND, {"OPENAI_API_KEY": "theirs"}) as memory:
        memory.search("sign on")
    with world.memory(EXPAND, {"AURORA_LLM_API_KEY": "ours"}) as memory:
        memory.search("sign off")
    assert [seen.headers.get("Authorization") for seen in server.seen] == [None, "Bearer ours"]


@pytest.mark.parametrize("answer", ["I'm sorry, I can't do that.", "", "{}"])
def test_nonsense_leaves_the_search_as_it_was_and_is_told(
    world: World, server: ChatServer, answer: str
) -> None:
    server.mood = tells(answer)
    with world.memory() as memory:
        plain = memory.search("sign on").results
        told = memory.search("sign on", expand=True, rerank="llm")
    assert told.results == plain
    assert [note.text.partition(":")[0] for note in told.notes] == ["Not expanded", "Not reranked"]
    assert all(note.warning for note in told.notes)


def test_a_wrong_address_is_a_note_and_no_failure(world: World) -> None:
    world.url = "http://127.0.0.1:0/v1"
    with world.memory(EXPAND) as memory:
        [note] = memory.search("sign on", rerank="llm").notes[:1]
    assert note.text.startswith("Not expanded: 'http://127.0.0.1:0/v1' is not the address")


def test_a_model_that_let_one_search_wait_lets_no_other_wait(
    world: World, server: ChatServer
) -> None:
    """Nor its second look, nor the searches of other threads: one model is asked for all."""
    server.mood = server.drips
    with world.memory({"llm.seconds": 0.2}) as memory:
        first = memory.search("sign on", expand=True, rerank="llm")
        assert server.has_come()
        server.mood = is_fine
        second = memory.search("sign off", expand=True)
    expanded, reranked = (note.text for note in first.notes)
    assert "gave no answer in 0.2 s, and is not asked again for 30 s" in expanded
    assert "Not reranked" in reranked
    assert "was too slow a moment ago" in reranked
    assert "was too slow a moment ago" in second.notes[0].text
    assert len(server.seen) == 1


def test_a_search_takes_no_longer_than_the_time_for_the_model_and_its_own(
    world: World, server: ChatServer
) -> None:
    """By the real clock; the best of three, because others may keep this machine busy."""
    late = []
    for words in ("sign on", "sign off", "sign in"):
        with world.memory({"llm.seconds": 1.0}) as memory:
            server.mood = is_fine
            memory.search(f"warm up to {words}", expand=True)
            server.mood = server.drips
            started = time.monotonic()
            plain = memory.search(words)
            alone = time.monotonic() - started
            started = time.monotonic()
            told = memory.search(words, expand=True)
            together = time.monotonic() - started
        assert told.results == plain.results
        assert "gave no answer in 1 s" in told.notes[0].text
        late.append(together - (1.0 * 1.1 + alone))
        if late[-1] <= 0.0:
            return
    assert min(late) <= 0.0


def findings(world: World, flags: Mapping[str, object], **environ: str) -> list[Finding]:
    with world.memory(flags, environ) as memory:
        return list(run_checks("memory", [check_llm], MemoryCheck(memory)))


def test_the_doctor_asks_nobody_and_tells_who_would_be(world: World, server: ChatServer) -> None:
    assert findings(world, {"llm.endpoint": ""}) == []
    for wanted in ({}, EXPAND, RERANK):  # `--expand` needs no setting
        [found] = findings(world, wanted)
        assert found.level is Level.OK
        assert f"{MODEL} at {server.url}" in found.text
    assert server.seen == []


def test_the_doctor_misses_a_key_a_package_and_an_address(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.url = ""
    [found] = findings(world, EXPAND)
    assert (found.level, found.text) == (
        Level.WARN,
        "Language model: There is no key for api.openai.com",
    )
    assert "AURORA_LLM_API_KEY" in found.hint
    [found] = findings(world, EXPAND, OPENAI_API_KEY="theirs")
    assert found.level is Level.OK
    [found] = findings(world, EXPAND, AURORA_LLM_API_KEY="two words")
    assert "that no key has" in found.text
    monkeypatch.setitem(sys.modules, "httpx2", None)
    [found] = findings(world, EXPAND, AURORA_LLM_API_KEY="ours")
    assert found.hint == "pip install 'aurora-memory[llm]'"


def test_a_server_that_fails_costs_a_note(world: World, server: ChatServer) -> None:
    server.mood = fails(99, 401)
    with world.memory() as memory:
        [note] = memory.search("sign on", expand=True).notes
    assert "wants a key" in note.text
    assert "AURORA_LLM_API_KEY" in note.text
