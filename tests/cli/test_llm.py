"""`aur mem search` with a language model: a real process and a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Shell
from tests.llm.chat_server import ChatServer, tells

pytestmark = pytest.mark.one_store("about a language model")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def asking(indexed: Shell, server: ChatServer) -> Shell:
    indexed.environ = {
        "AURORA_LLM_ENDPOINT": server.url,
        "AURORA_LLM_API_KEY": "sk-hunter2",
        "AURORA_LLM_SECONDS": "40",  # this machine may be busy
    }
    return indexed


def test_words_are_added_and_named_on_stderr(asking: Shell, server: ChatServer) -> None:
    server.mood = tells("authentication, session")
    done = asking.run("mem", "search", "sign on", "--expand", "--show-scores")
    assert done.returncode == 0
    assert "Expanded with: authentication, session" in done.stderr
    assert "expansion" in done.stdout
    assert "by the words that were added" in done.stdout
    assert "sk-hunter2" not in done.stdout + done.stderr
    assert server.seen[0].headers["Authorization"] == "Bearer sk-hunter2"


def test_results_are_ordered_and_the_contribution_is_in_the_json(
    asking: Shell, server: ChatServer
) -> None:
    server.mood = tells("2, 1")
    first, second = json.loads(asking.ok("mem", "search", "user login", "--json"))["results"][:2]
    turned = json.loads(asking.ok("mem", "search", "user login", "--json", "--rerank", "llm"))
    assert [one["id"] for one in turned["results"][:2]] == [second["id"], first["id"]]
    part = turned["results"][0]["contributions"][-1]
    assert (part["signal"], part["rank"]) == ("rerank", 1)


def test_a_server_that_hangs_keeps_neither_the_answer_nor_the_process(
    asking: Shell, server: ChatServer
) -> None:
    server.mood = server.drips
    plain = asking.ok("mem", "search", "login")
    done = asking.run("-c", "llm.seconds=0.2", "mem", "search", "login", "--expand")
    assert (done.returncode, done.stdout) == (0, plain)
    assert "Not expanded" in done.stderr
    assert "gave no answer in 0.2 s" in done.stderr


def test_nonsense_leaves_the_answer_as_it_was_and_is_told(
    asking: Shell, server: ChatServer
) -> None:
    plain = asking.ok("mem", "search", "login")
    server.mood = tells("I am sorry, I cannot help with that. Please ask something else.")
    done = asking.run("mem", "search", "login", "--expand", "--rerank", "llm")
    assert (done.returncode, done.stdout) == (0, plain)
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["Warning", "Warning"]
    assert "Not expanded" in done.stderr
    assert "Not reranked" in done.stderr


@pytest.mark.parametrize("seconds", ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35"])
def test_a_process_that_waits_no_longer_ends_well(
    asking: Shell, server: ChatServer, seconds: str
) -> None:
    """Whatever the thread is doing that nobody waits for: one in five crashed once."""
    server.mood = server.drips
    done = asking.run("-c", f"llm.seconds={seconds}", "mem", "search", "login", "--expand")
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_no_expand_is_stronger_than_the_settings(asking: Shell, server: ChatServer) -> None:
    asking.ok("config", "set", "search.expand", "true")
    asking.ok("mem", "search", "login", "--no-expand")
    assert server.seen == []
    asking.ok("mem", "search", "login")
    assert len(server.seen) == 1


def test_a_cloned_project_cannot_have_queries_sent_away(asking: Shell, server: ChatServer) -> None:
    (asking.cwd / ".aurora" / "config.yml").write_text(
        "search:\n  expand: true\n  rerank:\n    by: llm\n"
    )
    done = asking.run("mem", "search", "login")
    assert done.returncode == 0
    assert "Ignored search.expand" in done.stderr
    assert "Ignored search.rerank.by" in done.stderr
    assert server.seen == []


@pytest.mark.parametrize("asked", [("--expand",), ("--rerank", "llm")], ids=["expand", "rerank"])
def test_without_a_key_no_vendor_is_called(indexed: Shell, asked: tuple[str, ...]) -> None:
    """A connection would fail here: this machine has no way to a vendor's."""
    plain = indexed.ok("mem", "search", "user login")
    done = indexed.run("mem", "search", "user login", *asked)
    assert (done.returncode, done.stdout) == (0, plain)
    assert "There is no key for api.openai.com, so nothing was sent" in done.stderr
    assert "set AURORA_LLM_API_KEY" in done.stderr
    assert "`llm.endpoint`" in done.stderr
