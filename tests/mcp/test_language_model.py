"""Help of a language model through the tools: a real server, and one that hangs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.chat_server import ChatServer, tells
from tests.mcp.conftest import Project, ask, ids, over_http

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.one_store("about a language model"),
]


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def helped(project: Project, model: ChatServer) -> Project:
    """The project of a user who has set up a language model, and turned nothing on."""
    project.shell.environ["AURORA_LLM_ENDPOINT"] = model.url
    project.shell.environ["AURORA_LLM_SECONDS"] = "40"  # this machine may be busy
    return project


async def test_nothing_is_asked_unless_it_is_wanted(helped: Project, model: ChatServer) -> None:
    async with helped.here() as client:
        await ask(client, "aurora_search", query="sign on")
        await ask(client, "search_code", query="sign on")

    assert model.seen == []


async def test_an_agent_has_terms_added(helped: Project, model: ChatServer) -> None:
    model.mood = tells("payment, card, gateway")
    async with helped.here() as client:
        plain = await ask(client, "aurora_search", query="collect what is owed")
        found = await ask(client, "aurora_search", query="collect what is owed", expand_query=True)
        again = await ask(client, "aurora_search", query="collect what is owed", expand_query=True)

    assert "Expanded with: payment, card, gateway" in found["notes"]
    assert found["query"] == "collect what is owed"
    assert "src/billing.py:charge_customer" in ids(found)
    assert any("expansion" in one["contributions"] for one in found["documents"])
    assert not any("expansion" in one["contributions"] for one in plain["documents"])
    assert again["documents"] == found["documents"]
    assert len(model.seen) == 1  # the same question is asked once


async def test_an_agent_has_results_ordered(helped: Project, model: ChatServer) -> None:
    async with helped.here() as client:
        first, second, *rest = ids(await ask(client, "aurora_search", query="session tokens"))
        model.mood = tells("2, 1")

        turned = await ask(client, "aurora_search", query="session tokens", rerank="llm")

    assert ids(turned) == [second, first, *rest]
    assert "Keeps session tokens" in model.prompts[0]


async def test_without_a_model_in_the_settings_nothing_is_sent_to_anybody(
    project: Project, model: ChatServer
) -> None:
    """An agent cannot have text sent to the default endpoint because a key lies around."""
    project.shell.environ["OPENAI_API_KEY"] = "sk-lying-around"
    async with project.here() as client:
        plain = await ask(client, "aurora_search", query="session tokens")
        for wanted in ({"expand_query": True}, {"rerank": "llm"}):
            found = await ask(client, "aurora_search", query="session tokens", **wanted)
            assert "No language model was asked" in found["notes"][0]
            assert found["documents"] == plain["documents"]
    assert model.seen == []


@pytest.mark.parametrize("wanted", [{"expand_query": True}, {"rerank": "llm"}])
async def test_nonsense_is_ignored_with_a_note(
    helped: Project, model: ChatServer, wanted: dict[str, object]
) -> None:
    model.mood = tells("I am sorry, I cannot help with that. Please ask something else.")
    async with helped.here() as client:
        plain = await ask(client, "aurora_search", query="session tokens")

        found = await ask(client, "aurora_search", query="session tokens", **wanted)

    assert found["documents"] == plain["documents"]
    assert found["notes"][0].startswith("Not ")


async def test_a_model_that_hangs_costs_its_time_out_and_no_answer(
    helped: Project, model: ChatServer
) -> None:
    """Over HTTP, by the real clock: the time-out, a tenth of it, and what the search itself takes.

    The best of three: others may keep this machine busy. Both kinds of help share one time-out.
    """
    helped.shell.environ["AURORA_LLM_SECONDS"] = "2"
    model.mood = model.drips
    late = []
    for attempt in range(3):
        with helped.listening() as url:  # a new server: this one does not remember the last
            async with over_http(url) as client:
                await ask(client, "aurora_search", query="warm up")
                query = f"session tokens {attempt}"
                began = time.monotonic()
                plain = await ask(client, "aurora_search", query=query)
                alone = time.monotonic() - began
                began = time.monotonic()
                found = await ask(
                    client, "aurora_search", query=query, expand_query=True, rerank="llm"
                )
                late.append(time.monotonic() - began - alone - 2.0 * 1.1)
        assert found["documents"] == plain["documents"]
        assert "gave no answer in 2 s" in found["notes"][0]
        assert "is not asked again" in found["notes"][1]
        if late[-1] <= 0.0:
            return
    assert min(late) <= 0.0, late


async def test_the_local_reranker_sends_nothing(
    helped: Project, model: ChatServer, models: Path
) -> None:
    """Late interaction of a model that is here; where there is none, the answer says so."""
    async with helped.here() as client:
        without = await ask(client, "aurora_search", query="who may come in", rerank="local")
        assert "Not reranked" in without["notes"][0]

        helped.shell.home.mkdir(exist_ok=True)
        (helped.shell.home / "models").symlink_to(models)
        looked = await ask(client, "aurora_search", query="who may come in", rerank="local")

    assert "notes" not in looked
    assert all("rerank" in found["contributions"] for found in looked["documents"])
    assert model.seen == []
