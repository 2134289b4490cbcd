"""The brief answers of searches: small, complete, between marks, and nothing twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import CallToolResult

from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool, name_folders
from aurora.text import count_tokens
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.mcp.conftest import Project, ask, index, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.one_store("about the form of answers")]

HEAD = re.compile(r"^[0-9]+\. \S.* [0-9]+%( \(sent before\))?$", re.MULTILINE)


async def brief(client: Client, tool: str, **arguments: object) -> str:
    """The text of an answer, which its structured content repeats."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    text = text_of(result)
    assert result.structured_content == {"answer": text}
    return text


def size(text: str) -> int:
    """As the model reads it: in JSON."""
    return count_tokens(json.dumps({"answer": text}, ensure_ascii=False))


def stored(text: str) -> str:
    """What stands between the marks."""
    begin = re.search(r"<<<stored ([0-9a-f]{8})\n", text)
    assert begin, text
    inside, end, _ = text[begin.end() :].partition(f"\n{begin[1]} stored>>>")
    assert end, text
    return inside


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of forty functions of thirty lines, and a class."""
    base = tmp_path_factory.mktemp("brief")
    files: dict[str, str | bytes] = {}
    for n in range(40):
        steps = "".join(f"    queue_{n}.push(job, retries={step})\n" for step in range(28))
        files[f"src/worker_{n}.py"] = f'def push_job_{n}(job):\n    """Queue a job."""\n{steps}'
    methods = "".join(
        f"    def drain_{n}(self):\n        return self.queue.pop({n})\n\n" for n in range(6)
    )
    files["src/drain.py"] = f'class Drainage:\n    """Empties the queues."""\n\n{methods}'
    root = write_tree(base / "queues", files)
    index(Shell(root, base / "home"))
    return root


@pytest.fixture
def client(grown: Path) -> Iterator[Client]:
    home = str(grown.parent / "home")
    pool = MemoryPool(name_folders([grown]), {"AURORA_HOME": home, "HOME": home})
    yield Client(create_server(pool))
    pool.close()


async def test_ten_results_take_900_tokens_and_have_what_an_agent_acts_on(client: Client) -> None:
    async with client:
        text = await brief(client, "search_code", query="queue a job")

    assert len(HEAD.findall(text)) == 10
    assert size(text) <= 900
    assert re.search(
        r"^1\. src/worker_\d+\.py:1-30 function push_job_\d+ \d+%$", text, re.MULTILINE
    )
    assert '\n2:    """Queue a job."""' in text or "\n1:def push_job_" in text
    assert "contributions" not in text
    assert "aurora://" not in text


@pytest.mark.parametrize("tokens", [500, 900, 2_000, 4_000])
async def test_the_tokens_are_filled_with_lines_of_the_best_results(
    client: Client, tokens: int
) -> None:
    async with client:
        text = await brief(client, "search_code", query="queue a job", max_tokens=tokens)

    assert 0.9 * tokens <= size(text) <= tokens
    assert len(HEAD.findall(text)) == (10 if tokens < 2_000 else 15)
    lines = [len(part.splitlines()) for part in HEAD.split(stored(text))[2::2]]
    assert lines == sorted(lines, reverse=True)  # equal functions: the best have the most


async def test_nothing_is_sent_twice_to_one_client(client: Client) -> None:
    async with client:
        first = await brief(client, "search_code", query="queue a job")
        second = await brief(client, "search_code", query="queue a job")
        third = await brief(client, "search_code", query="queue a job", repeat=True)

        assert HEAD.findall(first) != []
        lines = [set(HEAD.sub("", stored(text)).split("\n")) - {""} for text in (first, second)]
        sent = {re.sub("^ *[0-9]*:? *", "", line) for line in lines[0]}
        pushes = {line for line in sent if ".push(" in line}
        assert pushes
        assert not pushes & {re.sub("^ *[0-9]*:? *", "", line) for line in lines[1]}
        assert stored(third) == stored(first)


async def test_a_chunk_is_read_once_and_again_when_asked_for(client: Client) -> None:
    async with client:
        first = await brief(client, "aurora_retrieve", id="src/worker_3.py:push_job_3")
        second = await brief(client, "aurora_retrieve", id="src/worker_3.py:push_job_3")
        third = await brief(client, "aurora_retrieve", id="src/worker_3.py:7", repeat=True)
        found = await brief(client, "search_code", query="push_job_3", limit=1)

    assert "queue_3.push(job, retries=27)" in first
    assert "queue_3.push" not in second
    assert "(sent before)" in second
    assert "repeat=true" in second
    assert stored(third) == stored(first)
    assert found.count("queue_3.push") == 0
    assert "(sent before)" in found


async def test_clients_over_http_have_nothing_in_common(grown: Path) -> None:
    home = str(grown.parent / "home")
    pool = MemoryPool(name_folders([grown]), {"AURORA_HOME": home, "HOME": home})
    async with Client(create_server(pool, one_client=False)) as client:
        first = await brief(client, "search_code", query="queue a job")
        assert stored(await brief(client, "search_code", query="queue a job")) == stored(first)
    pool.close()


async def test_an_outline_does_not_look_like_stubs(client: Client) -> None:
    async with client:
        text = await brief(client, "search_code", query="Drainage", limit=1)

    assert "class Drainage" in text
    assert "def drain_5(self):" in text
    assert "..." not in text


async def test_pages_continue_where_the_page_before_ended(client: Client) -> None:
    async with client:
        ranks, cursor = [], ""
        for _ in range(3):
            text = await brief(client, "search_code", query="queue a job", cursor=cursor)
            ranks += [int(head) for head in re.findall(r"^(\d+)\. src", text, re.MULTILINE)]
            cursor = text.rpartition("more: cursor=")[2]

    assert ranks == list(range(1, 31))


async def test_a_page_of_few_tokens_has_fewer_results_and_the_next_has_the_rest(
    client: Client,
) -> None:
    async with client:
        text = await brief(client, "search_code", query="queue a job", limit=40, max_tokens=300)
        count = len(HEAD.findall(text))
        assert 1 <= count < 40
        cursor = text.rpartition("more: cursor=")[2]
        after = await brief(
            client, "search_code", query="queue a job", limit=40, max_tokens=300, cursor=cursor
        )

    assert stored(after).startswith(f"{count + 1}. ")


async def test_nothing_found_says_so_and_names_the_nearest(project: Project) -> None:
    async with project.here() as client:
        text = await brief(client, "search_code", query="authentikate_usr")

    assert "Nothing relevant found." in stored(text)
    assert "authenticate_user" in stored(text)


async def test_a_document_has_its_id_where_code_has_its_place(project: Project) -> None:
    async with project.here() as client:
        kept = await ask(client, "aurora_ingest", content="# Vault\n\nTokens move to a vault.")
        text = await brief(client, "aurora_search", query="tokens vault")
        assert f"1. {kept['id']} knowledge Vault " in stored(text)
        whole = await brief(client, "aurora_retrieve", id=kept["id"])
        assert stored(whole).endswith("# Vault\n\nTokens move to a vault.")
