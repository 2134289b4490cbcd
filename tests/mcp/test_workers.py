"""Worker processes: searches are answered and fresh, whatever happens to a worker or the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing

import anyio.lowlevel
import pytest
from mcp import Client

from aurora.mcp.server import create_server
from aurora.mcp.workers import Worker, Workers
from aurora.serving.pool import MemoryPool
from tests.mcp.conftest import Project, ask, ids, over_http, refusal

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.one_store("about processes"),
    pytest.mark.skipif(os.name != "posix", reason="stops processes by signals"),
]

PATIENCE = 60.0  # seconds until a test gives up
QUESTION = "authenticate_user"
FOUND = "src/auth.py:authenticate_user"


@pytest.fixture
def pool(project: Project) -> Iterator[MemoryPool]:
    pool = project.desk()
    with closing(pool):
        yield pool


@pytest.fixture
def workers(pool: MemoryPool) -> Iterator[Workers]:
    workers = Workers(pool, most=1, patience=0.0)
    with closing(workers):
        yield workers


def client_of(pool: MemoryPool, workers: Workers) -> Client:
    return Client(create_server(pool, one_client=False, workers=workers))


def start(workers: Workers) -> Worker:
    worker = workers.start()
    assert worker.ready.wait(PATIENCE)
    return worker


async def test_a_worker_answers_as_the_server_does(pool: MemoryPool, workers: Workers) -> None:
    async with client_of(pool, workers) as client:
        here = await ask(client, "search_code", query=QUESTION)
        start(workers)
        apart = workers.answer("search_code", {"query": QUESTION, "detail": "full"})
    assert apart is not None
    assert apart.structured_content is not None
    assert apart.structured_content["documents"] == here["documents"]


async def test_a_refusal_of_a_worker_is_that_of_the_server(
    pool: MemoryPool, workers: Workers
) -> None:
    async with client_of(pool, workers) as client:
        here = await refusal(client, "search_code", query=QUESTION, memory="elsewhere")
        start(workers)
        assert await refusal(client, "search_code", query=QUESTION, memory="elsewhere") == here


async def test_what_one_client_wrote_the_next_search_finds(
    pool: MemoryPool, workers: Workers
) -> None:
    start(workers)
    async with client_of(pool, workers) as client:
        for number in range(3):
            text = f"The zebra gateway number {number} waits for nobody."
            kept = await ask(client, "aurora_learn", text=text)
            found = workers.answer("aurora_search", {"query": text, "detail": "full"})
            assert found is not None
            assert ids(dict(found.structured_content or {}))[0] == kept["id"]


async def test_the_call_of_a_killed_worker_is_answered(pool: MemoryPool, workers: Workers) -> None:
    worker = start(workers)
    worker.process.send_signal(signal.SIGSTOP)  # the call waits for it
    async with client_of(pool, workers) as client, anyio.create_task_group() as group:
        group.start_soon(expect_answer, client)
        await anyio.lowlevel.checkpoint()
        worker.process.kill()


async def expect_answer(client: Client) -> None:
    assert ids(await ask(client, "search_code", query=QUESTION))[0] == FOUND


async def test_a_search_that_hangs_keeps_none_of_the_others(
    pool: MemoryPool, workers: Workers
) -> None:
    worker = start(workers)
    worker.process.send_signal(signal.SIGSTOP)
    answered, wanted = [], 3

    async def call(client: Client, all_others: anyio.Event) -> None:
        await expect_answer(client)
        answered.append(True)
        if len(answered) == wanted:
            all_others.set()

    async with client_of(pool, workers) as client, anyio.create_task_group() as group:
        all_others = anyio.Event()
        for _ in range(wanted + 1):
            group.start_soon(call, client, all_others)
        with anyio.fail_after(PATIENCE):
            await all_others.wait()
        worker.process.send_signal(signal.SIGCONT)
    assert len(answered) == wanted + 1


def test_a_worker_without_work_ends(pool: MemoryPool) -> None:
    with closing(Workers(pool, most=1, idle=0.01)) as workers:
        worker = start(workers)
        assert worker.process.wait(PATIENCE) == 0


def test_a_worker_that_cannot_start_is_not_tried_again(pool: MemoryPool) -> None:
    pool.environ = {**pool.environ, "PYTHONHOME": "/nowhere"}
    with closing(Workers(pool, most=2)) as workers:
        with workers.calling(), workers.calling():
            [worker] = workers._all
        worker.process.wait(PATIENCE)
        assert workers.answer("search_code", {"query": QUESTION}) is None


@pytest.mark.parametrize("last", [signal.SIGTERM, signal.SIGKILL])
async def test_workers_end_with_the_server_and_writes_that_were_answered_stay(
    project: Project, last: signal.Signals
) -> None:
    """They have its stream of messages: it ends when none is left."""
    with project.shell.start("mcp", "--http", "--port", "0", "--no-token") as server:
        assert server.stderr is not None
        url = server.stderr.readline().rpartition(" at ")[2].strip()
        async with over_http(url) as client:
            while "aur mcp workers" not in project.shell.run("doctor").stdout:
                async with anyio.create_task_group() as group:
                    for _ in range(4):
                        group.start_soon(expect_answer, client)
            kept = await ask(client, "aurora_learn", text="Rotate the zebra gateway by hand.")
        server.send_signal(last)
        assert await anyio.to_thread.run_sync(server.stderr.read) in ("", "Stopped\n")
    assert project.shell.run("mem", "get", kept["id"]).returncode == 0
