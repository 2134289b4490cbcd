"""A server that runs for days: it notices what others change, and many may ask at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult

from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool, name_folders
from aurora.text import count_tokens
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.mcp.conftest import FILES, Project, ask, ids, refusal, text_of

pytestmark = pytest.mark.anyio


async def test_what_the_command_line_changes_is_noticed(project: Project) -> None:
    shell = project.shell
    async with project.over_stdio() as client:
        assert not ids(await ask(client, "search_code", query="ship_order"))

        (project.root / "src" / "shipping.py").write_text("def ship_order(order): ...\n")
        assert shell.run("mem", "index", "src").returncode == 0
        found = await ask(client, "search_code", query="ship_order")
        assert ids(found)[0] == "src/shipping.py:ship_order"
        assert found["index"]["age_seconds"] < 600

        assert shell.run("mem", "forget", "--yes", "src/shipping.py").returncode == 0
        assert not ids(await ask(client, "search_code", query="ship_order"))

        assert shell.run("mem", "learn", "Ship orders before noon").returncode == 0
        learned = await ask(client, "aurora_search", query="ship orders before noon")
        assert learned["documents"][0]["kind"] == "reasoning"

        assert shell.run("config", "set", "search.fusion", "rrf").returncode == 0
        assert (await ask(client, "aurora_search", query="order"))["fusion"] == "rrf"


async def test_a_memory_that_is_made_later_is_used_from_then_on(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "new", FILES)
    project = Project(Shell(root, tmp_path / "home"))
    async with project.here() as client:
        told = await refusal(client, "aurora_search", query="token")
        assert "There is no memory yet" in told
        assert "aurora_index" in told
        status = (await ask(client, "aurora_status"))["memories"][0]
        assert (status["exists"], status["chunks"]) == (False, 0)

        assert project.shell.run("init").returncode == 0
        assert project.shell.run("mem", "index", ".").returncode == 0

        assert ids(await ask(client, "search_code", query="TokenStore"))[0] == (
            "src/auth.py:TokenStore"
        )


async def test_a_first_index_makes_a_memory_at_the_top_of_the_repository(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "repo", FILES)
    subprocess.run(["git", "init", "-q", root], check=True)
    environ = Shell(root, tmp_path / "home").environment
    desk = MemoryPool(name_folders([root / "src"]), environ)
    async with Client(create_server(desk)) as client:
        await ask(client, "aurora_index")

        assert (root / ".aurora" / "memory.db").exists()
        assert ids(await ask(client, "search_code", query="TokenStore"))[0] == (
            "src/auth.py:TokenStore"
        )
        await ask(client, "aurora_index", path="../docs")  # of the same project


async def test_without_a_project_the_users_own_memory_is_served(tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "loose", {"notes.md": "# Tea\n\nGreen tea at 80 degrees.\n"})
    shell = Shell(folder, tmp_path / "home")
    async with Project(shell).over_stdio() as client:
        assert (await ask(client, "aurora_index"))["state"] == "done"
        found = await ask(client, "aurora_search", query="green tea")
        assert found["documents"][0]["path"] == (folder / "notes.md").as_posix()
        read = await client.read_resource(found["documents"][0]["uri"])
        assert "80 degrees" in read.contents[0].text  # type: ignore[union-attr]
        assert not (folder / ".aurora").exists()


@pytest.mark.parametrize("folder", ["home", "root"])
async def test_a_server_started_anywhere_does_not_read_all_you_have(
    tmp_path: Path, folder: str
) -> None:
    """Some clients start servers in the home directory, or in no folder at all."""
    home = tmp_path / "me"
    home.mkdir()
    shell = Shell(home if folder == "home" else Path("/"), home / ".aurora")
    async with Project(shell).over_stdio() as client:
        told = await refusal(client, "aurora_index")

        assert "is your home folder or above it" in told
        assert "the user's command `mcp --memory DIR`" in told
        await ask(client, "aurora_learn", text="Lessons need no project")


async def test_two_projects_are_served_side_by_side_and_no_third(
    project: Project, tmp_path: Path
) -> None:
    other = write_tree(tmp_path / "web", {"app.py": "def render_page(): ...\n"})
    third = write_tree(tmp_path / "third", {"x.py": "def third_party(): ...\n"})
    for folder in (other, third):
        assert project.shell.run("init", cwd=folder).returncode == 0
        assert project.shell.run("mem", "index", ".", cwd=folder).returncode == 0
    async with project.over_stdio("--memory", ".", "--memory", str(other)) as client:
        status = await ask(client, "aurora_status")
        assert [memory["name"] for memory in status["memories"]] == ["shop", "web"]

        usual = await ask(client, "search_code", query="render_page")
        page = await ask(client, "search_code", query="render_page", memory="web")
        kept = await ask(client, "aurora_ingest", content="Only for the web", memory="web")

        assert (usual["memory"], page["memory"]) == ("shop", "web")
        assert ids(page)[0] == "app.py:render_page"
        assert "app.py:render_page" not in ids(usual)
        assert page["documents"][0]["uri"] == "aurora://chunk/app.py:render_page?memory=web"
        assert (await client.read_resource(page["documents"][0]["uri"])).contents
        assert kept["id"] not in ids(await ask(client, "aurora_search", query="only for the web"))
        for name in ("third", "../third", str(third), "/", ".."):
            told = await refusal(client, "aurora_search", query="third_party", memory=name)
            assert "it has shop, web" in told


async def test_a_run_goes_on_without_who_began_it(project: Project) -> None:
    """A client that waits for nothing is told so; a second call joins the run and sees its end."""
    many = {f"more/m{n}.py": f"def number_{n}(): return {n}\n" * 20 for n in range(150)}
    write_tree(project.root, dict(many))
    async with project.here() as client:
        first = await ask(client, "aurora_index", wait_seconds=0)
        assert first["state"] == "running"
        assert (await ask(client, "aurora_status"))["memories"][0].get("indexing")

        second = await ask(client, "aurora_index", wait_seconds=600)

        assert second["state"] == "done"
        assert second["parsed"] == len(many)  # it joined: a run of its own would find them known
        assert "indexing" not in (await ask(client, "aurora_status"))["memories"][0]
        found = await ask(client, "search_code", query="number_149")
        assert ids(found)[0] == "more/m149.py:number_149"


async def test_many_writers_lose_nothing(project: Project) -> None:
    """Fifty at once, while another process indexes."""
    write_tree(
        project.root, {f"more/m{n}.py": f"def number_{n}(): return {n}\n" for n in range(200)}
    )
    kept: dict[int, str] = {}
    async with project.here() as client:

        async def keep(number: int) -> None:
            text = f"# Note {number}\n\nThe answer of writer {number}."
            kept[number] = (await ask(client, "aurora_ingest", content=text))["id"]

        indexing = project.shell.start("mem", "index", ".")
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(keep, number)
        indexing.communicate()
        assert indexing.returncode == 0

        for number, chunk in kept.items():
            whole = await ask(client, "aurora_retrieve", id=chunk)
            assert f"The answer of writer {number}." in whole["content"]
    assert len(set(kept.values())) == 50


async def test_cold_calls_at_once_load_everything_once(project: Project) -> None:
    desk = project.desk()
    async with Client(create_server(desk)) as client:
        answers: list[list[str]] = []

        async def search() -> None:
            answers.append(ids(await ask(client, "aurora_search", query="charge customer")))

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(search)

    assert len({tuple(answer) for answer in answers}) == 1
    assert len(desk.memory()._opened._retrievers._retrievers) == 1


async def test_pages_join_to_the_whole_answer(project: Project) -> None:
    async with project.here() as client:
        for number in range(30):
            await ask(client, "aurora_ingest", content=f"Note {number} about the gateway")
        whole = await ask(
            client, "aurora_search", query="gateway note", limit=100, max_tokens=100_000
        )

        pages, cursor = [], ""
        while True:
            page = await ask(client, "aurora_search", query="gateway note", limit=7, cursor=cursor)
            pages += page["documents"]
            if "next_cursor" not in page:
                break
            cursor = page["next_cursor"]

        assert len(pages) > 30
        assert pages == whole["documents"]
        told = await refusal(client, "aurora_search", query="another", limit=7, cursor=cursor)
        assert "belongs to another search" in told

        await ask(client, "aurora_ingest", content="One more note about the gateway")
        late = await ask(client, "aurora_search", query="gateway note", limit=7, cursor=cursor)
        assert "The memory changed since the page before" in late["notes"][0]


@pytest.mark.parametrize("full_text", [False, True])
async def test_a_full_answer_keeps_to_its_budget(project: Project, full_text: bool) -> None:
    async with project.here() as client:
        for number in range(20):
            text = f"# Gateway {number}\n\n" + f"The gateway number {number} is slow. " * 40
            await ask(client, "aurora_ingest", content=text)
        for tokens in (600, 1_500, 5_000):
            result = await client.call_tool(
                "aurora_search",
                {
                    "query": "slow gateway",
                    "limit": 20,
                    "max_tokens": tokens,
                    "full_text": full_text,
                    "detail": "full",
                },
            )
            assert isinstance(result, CallToolResult)
            assert result.structured_content is not None
            shown = result.structured_content["documents"]

            assert count_tokens(text_of(result)) <= tokens
            assert shown
            assert len(shown) == 20 or "next_cursor" in result.structured_content


@pytest.mark.one_store("about what is imported")
def test_no_other_command_pays_for_the_server(project: Project) -> None:
    script = (
        "import sys; sys.argv = ['aur', *sys.argv[1:]]\n"
        "from aurora.__main__ import main\n"
        "try: main()\n"
        "finally:\n"
        "    heavy = {'mcp', 'pydantic', 'starlette', 'uvicorn', 'httpx2'} & set(sys.modules)\n"
        "    print('IMPORTED', sorted(heavy), file=sys.stderr)\n"
    )
    for words in (
        ["mem", "search", "token"], ["mem", "index", "."], ["mem", "stats"], ["doctor"],
        ["mem", "get", "src/auth.py:TokenStore"], ["--help"], ["mcp", "--help"],
        ["mcp", "config", "claude-code"],
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            cwd=project.root, env=project.shell.environment, capture_output=True,
            encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.stderr.splitlines()[-1] == "IMPORTED []", words


def test_the_protocol_has_stdout_to_itself(project: Project) -> None:
    """Nothing else is written there, whatever a search has to tell."""
    project.shell.environ["AURORA_EMBEDDING_PROVIDER"] = "onnx"  # no such model here
    asked = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        '"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"aurora_learn",'
        '"arguments":{"text":"print nothing"}}}\n'
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"aurora_search",'
        '"arguments":{"query":"nothing"}}}\n'
    )
    server = subprocess.Popen(
        [AUR, "mcp"], cwd=project.root, env=project.shell.environment, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(asked)
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in range(3)]
    rest, _ = server.communicate(timeout=60)  # closes its stdin: the client has gone

    assert rest == ""
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert not any(answer["result"].get("isError") for answer in answers)
    assert server.returncode == 0
