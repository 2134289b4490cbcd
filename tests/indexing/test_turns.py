"""One who indexes at a time: others wait and say so; nobody else has to."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from aurora import Memory, Places
from aurora.errors import StoreBusyError
from aurora.indexing.turns import write_turn
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Kind, Note
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.indexing.remembered import Remembered, remembered
from tests.sources.repository import make_repository

FILES = {
    f"part{n % 3}/m{n}.py": "".join(f"def f{i}():\n    return {n}\n\n\n" for i in range(9))
    for n in range(30)
}
NOTE = "notes.md:Notes"
WAITING = "is being indexed by another process ({}). Waiting for it to finish...\n"

TAKE_TURNS = """
import os, sys
from pathlib import Path
from aurora.indexing.turns import write_turn
from aurora.stores.sqlite.store import SQLiteStore

store = SQLiteStore(Path(sys.argv[1]))
journal = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for _ in range(5):
    with write_turn(store):
        os.write(journal, f"{os.getpid()} begins\\n".encode())
        store.chunks.file_states()
        os.write(journal, f"{os.getpid()} ends\\n".encode())
"""


@pytest.fixture
def shell(tmp_path: Path, root: Path) -> Shell:
    """A repository that nobody has indexed yet."""
    repository = make_repository(root, {**FILES, "notes.md": "# Notes\n\nWords.\n"})
    return Shell(repository, tmp_path / "user" / "home")


def database(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "memory.db"


@pytest.fixture
def alone(shell: Shell) -> Remembered:
    """What one run leaves; its memory is taken away again."""
    shell.ok("mem", "index")
    found = remembered(database(shell))
    shutil.rmtree(shell.cwd / ".aurora")
    return found


def await_line(stream: TextIO | None, words: str) -> str:
    """The next line of a process that holds these words; the process may take its time."""
    assert stream is not None
    for line in stream:
        if words in line:
            return line
    raise AssertionError(f"ended without a word of {words!r}")


class SlowGit:
    """A git that stands still at some command until it is let go on."""

    def __init__(self, folder: Path, at: str) -> None:
        self._gate = folder / "gate"
        folder.mkdir()
        os.mkfifo(self._gate)
        script = folder / "git"
        waits = f'case "$*" in *{at}*) read line < "{self._gate}";; esac'
        script.write_text(f'#!/bin/sh\n{waits}\nexec "{shutil.which("git")}" "$@"\n')
        script.chmod(0o755)
        self.environ = {"PATH": f"{folder}:{os.environ['PATH']}"}

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Entered when git has come there; it goes on afterwards."""
        with self._gate.open("w") as gate:  # waits until somebody reads
            yield
            gate.write("go\n")


@pytest.mark.parametrize("count", [1, 4])
def test_those_who_come_later_say_that_they_wait_and_for_whom(
    shell: Shell, alone: Remembered, count: int
) -> None:
    with closing(SQLiteStore(database(shell))) as store:
        with store.alone():
            others = [shell.start("mem", "index") for _ in range(count)]
            for other in others:
                line = await_line(other.stderr, "Waiting")
                assert line.endswith(WAITING.format(os.getpid()))
            assert store.chunks.file_states() == {}  # nobody has begun
        ends = [other.communicate() for other in others]

    assert [other.returncode for other in others] == [0] * count
    assert all("Indexing complete!" in out for out, _ in ends)
    assert remembered(database(shell)) == alone


def test_four_that_start_together_leave_what_one_leaves(shell: Shell, alone: Remembered) -> None:
    """From nothing: the folder, the database and its tables are made by whoever comes first."""
    runs = [shell.start("mem", "index") for _ in range(4)]
    for run in runs:
        out, talk = run.communicate()
        assert (run.returncode, "Traceback" in talk) == (0, False), talk
        assert f"Total chunks: {len(alone.chunks)}\n" in out
    assert remembered(database(shell)) == alone


def test_turns_of_processes_never_overlap(tmp_path: Path) -> None:
    arguments = [str(tmp_path / "m" / "memory.db"), str(tmp_path / "journal")]
    command = [sys.executable, "-c", TAKE_TURNS, *arguments]
    workers = [subprocess.Popen(command) for _ in range(4)]
    assert [worker.wait() for worker in workers] == [0] * 4

    lines = (tmp_path / "journal").read_text().splitlines()
    assert len(lines) == 40
    for begin, end in zip(lines[0::2], lines[1::2], strict=True):
        assert (begin.split()[1], end) == ("begins", begin.replace("begins", "ends"))


@pytest.mark.parametrize("stage", ["--others", "ls-tree"], ids=["scan", "histories"])
def test_when_the_one_who_indexes_is_killed_the_next_goes_on(
    shell: Shell, alone: Remembered, tmp_path: Path, stage: str
) -> None:
    git = SlowGit(tmp_path / "bin", at=stage)
    slow = Shell(shell.cwd, shell.home, git.environ)
    with slow.start("mem", "index") as first:
        with git.stopped(), shell.start("mem", "index") as second:
            await_line(second.stderr, WAITING.format(first.pid))
            first.kill()
            out, _ = second.communicate()
        assert first.wait() == -signal.SIGKILL
    assert (second.returncode, "Indexing complete!" in out) == (0, True)
    assert remembered(database(shell)) == alone


def test_who_waits_can_be_interrupted(shell: Shell) -> None:
    with (
        closing(SQLiteStore(database(shell))) as store,
        store.alone(),
        shell.start("mem", "index") as waiting,
    ):
        await_line(waiting.stderr, "Waiting")
        waiting.send_signal(signal.SIGINT)
        _, talk = waiting.communicate()
    assert (waiting.returncode, talk.strip()) == (
        130,
        "Interrupted. What was stored so far is kept; `aur mem index` continues.",
    )
    shell.ok("mem", "index")


def test_patience_has_an_end(tmp_path: Path) -> None:
    heard: list[Event] = []
    with (
        closing(SQLiteStore(tmp_path / "memory.db")) as store,
        store.alone(),
        pytest.raises(StoreBusyError, match=f"another process \\({os.getpid()}\\)"),
        write_turn(store, listen=heard.append, patience=0.25),
    ):
        pass
    told = f"{tmp_path} {WAITING.format(os.getpid())}".removesuffix("\n")
    assert heard == [Note(told)]  # once, however long it takes


def in_threads(*works: Callable[[], object]) -> None:
    """All at once; the first that fails fails the test."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("shared", [True, False], ids=["one-memory", "a-memory-each"])
def test_threads_write_turns_too(shell: Shell, alone: Remembered, shared: bool) -> None:
    places = Places(shell.home, shell.cwd)
    inside: list[int] = []
    most = 0

    def listen(event: Event) -> None:
        nonlocal most
        if getattr(event, "task", "") == "Indexing":
            inside.append(threading.get_ident())
            most = max(most, len(inside))
            if event.done == event.total:  # type: ignore[union-attr]
                assert len(set(inside)) == 1  # nobody else's file came in between
                inside.clear()

    one = Memory(places, listen=listen)
    memories = [one if shared else Memory(places, listen=listen) for _ in range(5)]
    in_threads(*(lambda memory=memory: memory.index(shell.cwd) for memory in memories))  # type: ignore[misc]

    assert most == len(alone.files)
    assert remembered(database(shell)) == alone
    for memory in memories:
        assert memory.search("words").results[0].chunk.kind is Kind.KNOWLEDGE
        memory.close()


@pytest.mark.parametrize("stage", ["ls-files", "ls-tree"], ids=["scan", "histories"])
def test_everything_else_goes_on_while_somebody_indexes(
    shell: Shell, alone: Remembered, tmp_path: Path, stage: str
) -> None:
    shell.ok("mem", "index")
    write_tree(shell.cwd, {"fresh.py": "def brand_new(): pass\n"})
    git = SlowGit(tmp_path / "bin", at=stage)
    slow = Shell(shell.cwd, shell.home, git.environ)
    with slow.start("mem", "index") as run:
        with git.stopped():
            assert "m7.py" in shell.ok("mem", "search", "m7")
            found = shell.ok("mem", "search", "brand_new")
            assert ("fresh.py" in found) == (stage != "ls-files")
            shell.ok("mem", "get", "part1/m7.py:f3")
            kept = shell.ok("mem", "learn", "keep this").strip()
            lost = shell.ok("mem", "learn", "lose this").strip()
            assert shell.ok("mem", "forget", "--yes", lost) == "Forgot 1 chunk\n"
            assert shell.ok("mem", "forget", "--yes", "part0/m0.py") == "Forgot 9 chunks\n"
            assert "Files" in shell.ok("mem", "stats")
        out, talk = run.communicate()
    assert (run.returncode, "Indexing complete!" in out) == (0, True), talk

    shell.ok("mem", "index")  # brings back what was forgotten of a file that is there
    with closing(SQLiteStore(database(shell))) as store:
        assert store.chunks.get_reasoning(kept) is not None
        assert store.chunks.get_reasoning(lost) is None
        assert len(store.chunks.get_accesses(["part1/m7.py:f3"])["part1/m7.py:f3"]) == 1
    found = remembered(database(shell))
    of_files = {id_: chunk for id_, chunk in found.chunks.items() if id_ != kept}
    assert of_files.keys() == alone.chunks.keys() | {"fresh.py:brand_new"}


def test_many_use_a_memory_that_is_indexed_again_and_again(shell: Shell) -> None:
    """No call fails, and nothing that was said to be done is lost."""
    places = Places(shell.home, shell.cwd)
    shell.ok("mem", "index")
    heard: list[Event] = []
    kept: list[str] = []
    uses: list[str] = []
    over = threading.Event()

    def index() -> None:
        try:
            with Memory(places, listen=heard.append) as memory:
                for number in range(8):
                    changed = {name: f"{text}# {number}\n" for name, text in FILES.items()}
                    write_tree(shell.cwd, dict(list(changed.items())[number::4]))
                    (shell.cwd / f"part{number % 3}" / f"m{number}.py").unlink(missing_ok=True)
                    assert not memory.index(shell.cwd).is_partial
        finally:
            over.set()

    def learn_and_forget(who: str) -> None:
        with Memory(places, listen=heard.append) as memory:
            number = 0
            while not over.is_set():
                number += 1
                id_ = memory.learn(f"lesson {who} {number}").id
                if number % 3:
                    kept.append(id_)
                else:
                    assert memory.forget([id_]) == 1

    def search_and_get() -> None:
        with Memory(places, listen=heard.append) as memory:
            while not over.is_set():
                assert memory.search("words").results
                memory.get(NOTE)
                uses.append("one")

    in_threads(index, lambda: learn_and_forget("one"), lambda: learn_and_forget("two"),
               search_and_get, search_and_get)  # fmt: skip

    warnings = {event.text for event in heard if isinstance(event, Note) and event.warning}
    assert {text for text in warnings if "what was removed is still in it" not in text} == set()
    with closing(SQLiteStore(database(shell))) as store:
        assert store.maintenance.check() == []
        lessons = [chunk.id for chunk in store.chunks.iter_chunks() if chunk.kind == "reasoning"]
        assert sorted(lessons) == sorted(kept) != []
        assert len(store.chunks.get_accesses([NOTE])[NOTE]) == len(uses) > 0
        paths = {path for path in store.chunks.file_states() if path.endswith(".py")}
    assert paths == {str(file.relative_to(shell.cwd)) for file in shell.cwd.glob("part*/*.py")}
