"""Every tool, resource and prompt, by the SDK's own client over real transports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent, TextResourceContents

from aurora.mcp import answers, brief
from aurora.types import Lines, Query, SearchResults, Symbol
from tests.display.answers import SEED
from tests.mcp.conftest import Project, ask, ids, over_http, refusal, text_of

pytestmark = pytest.mark.anyio

TOOLS = [
    "search_code", "aurora_search", "aurora_retrieve", "aurora_recall", "aurora_why",
    "aurora_ingest",
    "aurora_learn", "aurora_forget", "aurora_index", "aurora_status",
]  # fmt: skip
OLDEST = "legacy"  # the handshake of 2025; the usual is the newest that both know


@asynccontextmanager
async def connected(project: Project, way: str) -> AsyncIterator[Client]:
    transport, _, mode = way.partition(" ")
    if transport == "stdio":
        async with project.over_stdio(mode=mode or "auto") as client:
            yield client
    else:
        with project.listening() as url:
            async with over_http(url, mode=mode or "auto") as client:
                yield client


@pytest.mark.parametrize("way", ["stdio", "http", f"stdio {OLDEST}", f"http {OLDEST}"])
async def test_an_agent_works_with_the_memory(project: Project, way: str) -> None:
    """A whole session: look around, read, write, find again, forget, index, look again."""
    async with connected(project, way) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS

        status = await ask(client, "aurora_status")
        assert [memory["name"] for memory in status["memories"]] == ["shop"]
        assert status["memories"][0]["chunks"] > 5

        found = await ask(client, "aurora_search", query="why are sessions in the database")
        assert ids(found)[0] == "docs/decisions.md:Decisions > Sessions"
        assert found["search_type"] == "hybrid"
        assert {"bm25", "semantic"} <= set(found["signals"])
        assert found["index"]["age_seconds"] >= 0

        code = await ask(client, "search_code", query="authenticate_user", search_mode="keyword")
        assert ids(code)[0] == "src/auth.py:authenticate_user"
        assert code["search_type"] == "keyword"

        whole = await ask(client, "aurora_retrieve", id=ids(code)[0])
        assert whole["content"].startswith("def authenticate_user(")
        assert (whole["start_line"], whole["end_line"]) == (4, 6)

        plan = await ask(
            client,
            "aurora_ingest",
            content="# Plan\n\nMove the tokens to a vault.",
            namespace="ops",
        )
        assert plan["outcome"] == "added"
        again = await ask(client, "aurora_search", query="tokens vault plan", namespace="ops")
        assert ids(again) == [plan["id"]]

        lesson = await ask(client, "aurora_learn", text="Clear the gateway's cache before retries")
        learned = await ask(client, "aurora_search", query="gateway cache", types=["reasoning"])
        assert ids(learned) == [lesson["id"]]

        assert (await ask(client, "aurora_forget", what=lesson["id"]))["forgotten"] == 1
        assert "There is no chunk" in await refusal(client, "aurora_retrieve", id=lesson["id"])

        new = project.root / "src" / "refunds.py"
        new.write_text("def refund_payment(order):\n    return gateway.refund(order)\n")
        heard: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            heard.append(progress)

        done = await client.call_tool("aurora_index", {"path": "src"}, progress_callback=hear)
        assert isinstance(done, CallToolResult)
        assert done.structured_content is not None
        assert (done.structured_content["state"], done.structured_content["parsed"]) == ("done", 1)
        assert heard
        assert sorted(heard) == heard
        refund = await ask(client, "search_code", query="refund_payment")
        assert ids(refund)[0] == "src/refunds.py:refund_payment"

        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["aurora://chunk/{+id}{?memory}"]
        read = await client.read_resource(refund["documents"][0]["uri"])
        assert isinstance(read.contents[0], TextResourceContents)
        assert read.contents[0].text.startswith("def refund_payment")

        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["recall_before_you_start", "record_what_you_learned"]
        prompt = await client.get_prompt("recall_before_you_start", {"task": "pay back"})
        content = prompt.messages[0].content
        assert isinstance(content, TextContent)
        assert "pay back" in content.text


@pytest.mark.parametrize("detail", ["brief", "full"])
async def test_structure_and_text_say_the_same(project: Project, detail: str) -> None:
    async with project.here() as client:
        for tool, arguments in (
            ("aurora_search", {"query": "charge a customer", "detail": detail}),
            ("aurora_retrieve", {"id": "src/auth.py:TokenStore", "detail": detail}),
        ):
            result = await client.call_tool(tool, arguments)
            assert isinstance(result, CallToolResult)
            if detail == "brief":
                assert result.structured_content == {"answer": text_of(result)}
            else:
                assert result.structured_content == json.loads(text_of(result))


async def test_a_class_is_found_as_an_outline_and_retrieved_as_a_whole(project: Project) -> None:
    project.shell.environ["AURORA_INDEX_AUTO"] = "false"
    async with project.here() as client:
        answer = await ask(client, "search_code", query="TokenStore")
        assert (answer["documents"][0]["id"], answer["documents"][0]["outline"]) == (
            "src/auth.py:TokenStore", True,
        )  # fmt: skip
        whole = await ask(client, "aurora_retrieve", id="src/auth.py:TokenStore")
        assert "        return self.add(self.owner(token))" in whole["content"]
        assert "notes" not in whole
        at_line = await ask(client, "aurora_retrieve", id="src/auth.py:19")
        assert at_line["id"] == "src/auth.py:TokenStore.rotate"
        file = project.root.resolve() / "src" / "auth.py"
        assert (await ask(client, "aurora_retrieve", id=f"{file}:19"))["id"] == at_line["id"]
        steps = "".join(f"    step_{n}(one, two, three)\n" for n in range(500))
        (project.root / "src" / "long.py").write_text(f"def work():\n{steps}")
        await ask(client, "aurora_index")
        long = await ask(client, "aurora_retrieve", id="src/long.py:work", max_tokens=20_000)
        assert (long["start_line"], long["end_line"]) == (1, 501)
        assert long["content"] == f"def work():\n{steps}".rstrip("\n")
        (project.root / "src" / "auth.py").unlink()
        stored = await ask(client, "aurora_retrieve", id="src/auth.py:TokenStore")
        assert "stored outline" in stored["notes"][0]


def test_symbols_and_the_best_weak_match_are_told_in_both_forms() -> None:
    symbol = Symbol("LIMIT", "constant", Lines(3, 4))
    result = replace(SEED, symbol=symbol, more=2, score=0.12)
    found = answers.found_entry(result, 1, memory="", label="", whole_tokens=0)
    assert found.symbol is not None
    assert found.symbol.model_dump() == {
        "name": "LIMIT", "kind": "constant", "start_line": 3, "end_line": 4,
    }  # fmt: skip
    assert found.more == 2
    assert brief.head_line(result, 1, "") == "1. auth_manager.py:3-4 constant LIMIT 12%"
    none = SearchResults(Query("x"), (), "auto", (), weak=result, nearest=("LIMITS",))
    assert brief.nothing_found(none) == [
        "Nothing relevant found.",
        "Best weak match: auth_manager.py:3-4 LIMIT 12%",
        "Names like it: LIMITS",
    ]
    weak = answers.search_answer("m", none, answers.IndexAge(generation=1)).weak
    assert weak is not None
    assert (weak.id, weak.line) == ("auth_manager.py:authenticate_user", 3)


async def test_contributions_sum_to_the_score(project: Project) -> None:
    async with project.here() as client:
        answer = await ask(client, "aurora_search", query="session token")

        for found in answer["documents"]:
            parts = sum(found["contributions"].values())
            assert parts == pytest.approx(found["similarity_score"], abs=5e-4)


async def test_reading_counts_as_a_use_and_being_listed_does_not(project: Project) -> None:
    chunk = "src/billing.py:charge_customer"
    async with project.here() as client:
        await ask(client, "aurora_search", query="charge_customer")
        assert project.desk().memory().search("charge_customer").results[0].accesses == 0

        await ask(client, "aurora_retrieve", id=chunk)
        await client.read_resource(f"aurora://chunk/{chunk}")

        assert project.desk().memory().search("charge_customer").results[0].accesses == 2


async def test_a_secret_in_metadata_is_not_kept(project: Project) -> None:
    given = {"api_key": "q7Zp" + "K2mXv9Rt4Ls8", "login": {"password": "hunter2"}, "team": "core"}
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content="# Access", metadata=given)
        read = await ask(client, "aurora_retrieve", id=kept["id"])

    mark = "[redacted: secret]"
    assert kept["notes"] == ["2 secrets redacted before storing (secret)"]
    assert read["metadata"] == {"api_key": mark, "login": {"password": mark}, "team": "core"}


async def test_a_document_in_pieces_is_retrieved_whole(project: Project) -> None:
    """The workflow of seed 004: who wrote a plan hands its id to who reads it."""
    parts = [f"## Step {n}\n\n" + f"Do the thing number {n}. " * 60 for n in range(1, 12)]
    plan = "# The long plan\n\n" + "\n\n".join(parts)
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content=plan, document_type="plan")
        assert kept["pieces"] > 1

        whole = await ask(client, "aurora_retrieve", id=kept["id"], max_tokens=100_000)

        assert whole["pieces"] == kept["pieces"]
        assert whole["content"].split() == plan.split()
        assert "next_cursor" not in whole


async def test_a_long_text_comes_in_pages_that_join(project: Project) -> None:
    plan = "# Plan\n\n" + "\n\n".join(f"Paragraph {n}: 认证 {'word ' * 40}" for n in range(120))
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content=plan)
        whole = await ask(client, "aurora_retrieve", id=kept["id"], max_tokens=200_000)

        read, cursor = "", ""
        while True:
            page = await ask(
                client, "aurora_retrieve", id=kept["id"], max_tokens=900, cursor=cursor
            )
            read += page["content"]
            if "next_cursor" not in page:
                break
            cursor = page["next_cursor"]

        assert read == whole["content"]
        uses = project.desk().memory().admin.store.chunks.get_accesses([kept["id"]])
        assert len(uses[kept["id"]]) == 2  # the whole once, the pages once


async def test_forgetting_more_than_one_asks_first(project: Project) -> None:
    async with project.here() as client:
        asked = await ask(client, "aurora_forget", what="src")
        assert asked["forgotten"] == 0
        assert asked["would_forget"] > 3
        assert ids(await ask(client, "search_code", query="charge_customer"))

        gone = await ask(client, "aurora_forget", what="src", several=True)

        assert gone["forgotten"] == asked["would_forget"]
        assert not (await ask(client, "search_code", query="charge_customer"))["documents"]


async def test_a_document_of_several_pieces_is_forgotten_by_its_id(project: Project) -> None:
    plan = "# Plan\n\n" + "\n\n".join(f"## Step {n}\n\n{'word ' * 300}" for n in range(6))
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content=plan)

        gone = await ask(client, "aurora_forget", what=kept["id"])

        assert gone["forgotten"] == kept["pieces"]


async def test_a_lesson_that_failed_is_found_too(project: Project) -> None:
    async with project.here() as client:
        learned = await ask(client, "aurora_learn", text="Restart the gateway", score=0.2)

        assert learned["searchable"] is True
        found = await ask(client, "aurora_search", query="restart the gateway")
        assert learned["id"] in ids(found)


async def test_a_server_for_reading_offers_no_tool_that_changes_anything(
    project: Project,
) -> None:
    async with project.here(read_only=True) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [
            "search_code", "aurora_search", "aurora_retrieve", "aurora_recall", "aurora_why",
            "aurora_status",
        ]  # fmt: skip
        assert "Unknown tool" in await refusal(client, "aurora_forget", what="src")
        assert (await ask(client, "aurora_status"))["read_only"] is True
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["recall_before_you_start"]


async def test_ids_are_completed_from_their_beginning(project: Project) -> None:
    from mcp.types import ResourceTemplateReference

    template = ResourceTemplateReference(type="ref/resource", uri="aurora://chunk/{+id}{?memory}")
    async with project.here() as client:
        result = await client.complete(template, {"name": "id", "value": "src/auth.py:a"})

        assert result.completion.values == ["src/auth.py:authenticate_user"]
