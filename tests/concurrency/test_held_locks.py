"""Somebody holds a lock and stands still: others go on, or wait and say what for; none for ever."""

from __future__ import annotations

import pytest
from anyio import create_task_group
from mcp import Client

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.concurrency.holding import Holder, held
from tests.indexing.test_turns import await_line
from tests.mcp.conftest import Project, ask, refusal

BUSY = "is in use by another process (waited 10 s)"
NEXT = "hint: wait until the other `aur` has finished, then try again"
ID = "auth_manager.py:authenticate_user"


def end_by(way: str, holder: Holder) -> None:
    if way == "goes on":
        holder.go_on()
    else:
        holder.kill()


@pytest.mark.long
@pytest.mark.parametrize("way", ["goes on", "is killed"])
def test_who_cannot_write_is_told_what_is_in_the_way_and_what_to_do(
    indexed: Shell, way: str
) -> None:
    """All at once: each waits for ten seconds. Who only reads is answered: at once, or, where the
    use of it would be kept, with a warning that it is not."""
    write_tree(indexed.cwd, {"plan.md": "# Plan\n\nShip it.\n", "fresh.py": "def fresh(): ...\n"})
    commands = [
        ("mem", "learn", "keep this"),
        ("mem", "add", "plan.md"),
        ("mem", "forget", "--yes", ID),
        ("mem", "index", ".", "--no-git"),
    ]
    with held(indexed, "writing") as holder:
        holder.stop()
        waiting = [indexed.start(*words) for words in commands]
        reading = indexed.start("mem", "get", ID)
        assert ID in indexed.ok("mem", "search", "authenticate_user", "--json")  # nobody waits
        assert "Files" in indexed.ok("mem", "stats")
        told = [process.communicate()[1] for process in waiting]
        assert [process.returncode for process in waiting] == [2] * len(commands)
        for words, talk in zip(commands, told, strict=True):
            assert BUSY in talk, f"{words}: {talk}"
            assert NEXT in talk, f"{words}: {talk}"
            assert "Traceback" not in talk
        text, warning = reading.communicate()
        assert (reading.returncode, "def authenticate_user" in text) == (0, True)
        assert "This use is not remembered: " in warning
        assert BUSY in warning
        end_by(way, holder)

    for words in commands:  # nothing of it was done, and now everything is
        indexed.ok(*words)
    assert "def fresh" in indexed.ok("mem", "get", "fresh.py:fresh")


@pytest.mark.parametrize("way", ["goes on", "is killed"])
def test_who_indexes_waits_for_one_that_stands_still_and_says_so(
    backend: str, indexed: Shell, way: str
) -> None:
    write_tree(indexed.cwd, {"fresh.py": "def fresh(): ...\n"})
    with held(indexed, "indexing") as holder:
        holder.stop()
        with indexed.start("mem", "index", ".", "--no-git") as waiting:
            line = await_line(waiting.stderr, "Waiting for it to finish")
            assert "is being indexed by another process" in line
            assert (f"({holder.pid})" in line) == (backend == "sqlite")
            indexed.ok("mem", "learn", "others go on")
            assert ID in indexed.ok("mem", "search", "authenticate_user", "--json")
            assert waiting.poll() is None
            end_by(way, holder)
            out, talk = waiting.communicate()
    assert (waiting.returncode, "Indexing complete!" in out) == (0, True), talk
    assert "def fresh" in indexed.ok("mem", "get", "fresh.py:fresh")


@pytest.mark.long
@pytest.mark.anyio
async def test_agents_are_answered_while_somebody_holds_the_lock(indexed: Shell) -> None:
    """Searches at once; writes are refused in words, and the server is well afterwards."""
    with Project(indexed).listening() as url, held(indexed, "writing") as holder:
        holder.stop()
        async with Client(url) as one, Client(url) as other:
            refused: list[str] = []

            async def write() -> None:
                refused.append(await refusal(one, "aurora_learn", text="keep this"))

            async with create_task_group() as group:
                group.start_soon(write)
                found = await ask(other, "search_code", query="authenticate_user")
                assert found["documents"][0]["id"] == ID
                assert refused == []  # it still waits
            assert BUSY in refused[0]
            assert NEXT in refused[0]
            holder.go_on()
            kept = await ask(one, "aurora_learn", text="keep this")
            read = await ask(other, "aurora_retrieve", id=kept["id"])
            assert read["content"] == "keep this"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
