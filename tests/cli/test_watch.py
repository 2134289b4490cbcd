"""`aur mem watch` in a real process, while real files change under it."""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from aurora.types import Tracking
from tests.backends import in_a_file, without_memory
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.sources.repository import git

PATIENCE = 60.0  # seconds after which nothing will come any more
LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  read (\d+), removed (\d+), left out (\d+), "
    r"histories (\d+), \d+\.\d\d s\n"
)


class Lines:
    """What a process writes to one stream, line by line, as it comes."""

    def __init__(self, stream: IO[str] | None) -> None:
        assert stream is not None
        self._waiting: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(stream,))
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._waiting.put(line)

    def next(self) -> str:
        return self._waiting.get(timeout=PATIENCE)

    def until(self, words: str) -> str:
        """All up to the first line with these words."""
        text = line = self.next()
        while words not in line:
            line = self.next()
            text += line
        return text

    def rest(self) -> str:
        """All that is left when the process has ended."""
        self._reader.join(PATIENCE)
        return "".join(self._waiting.queue)


class Watch:
    """A running `aur mem watch`."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self.process = shell.start("mem", "watch", *words)
        self.out, self.err = Lines(self.process.stdout), Lines(self.process.stderr)

    def counts(self) -> tuple[int, ...]:
        """Read, removed, left out and histories of the next run that changed something."""
        line = self.out.next()
        found = LINE.fullmatch(line)
        assert found, line
        return tuple(map(int, found.groups()))

    def stop(self, number: int = signal.SIGTERM) -> str:
        """End it with a signal; returns what it still wrote to stderr."""
        self.process.send_signal(number)
        assert self.process.wait(PATIENCE) == 0
        return self.err.rest()


@pytest.fixture
def start(shell: Shell) -> Iterator[Callable[..., Watch]]:
    running: list[Watch] = []

    def start(*words: str) -> Watch:
        running.append(Watch(shell, *words))
        return running[-1]

    yield start
    for watch in running:
        watch.process.kill()
        watch.process.wait()


def test_the_memory_follows_the_files(shell: Shell, start: Callable[..., Watch]) -> None:
    watch = start()
    assert watch.counts() == (4, 0, 0, 7)
    watch.err.until("Watching ")

    write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
    assert watch.counts()[:2] == (1, 0)
    assert "brand_new" in shell.ok("mem", "search", "brand_new")

    write_tree(shell.cwd, {"deep/er/added.py": "def added_later(): pass\n"})
    assert watch.counts()[:2] == (1, 0)
    assert "added_later" in shell.ok("mem", "search", "added_later")

    (shell.cwd / "deep").rename(shell.cwd / "elsewhere")
    assert watch.counts()[:2] == (1, 0)
    assert "elsewhere/er/added.py" in shell.ok("mem", "search", "added_later")

    (shell.cwd / "notes.md").unlink()
    assert watch.counts()[:2] == (0, 1)
    assert "notes.md" not in shell.ok("mem", "search", "authentication")

    assert watch.stop().endswith("Stopped\n")
    assert watch.out.rest() == ""


@in_a_file
def test_noise_and_repeated_troubles_are_not_told(
    shell: Shell, start: Callable[..., Watch]
) -> None:
    write_tree(shell.cwd, {".gitignore": "*.log\n__pycache__/\n", ".env": "KEY=1\n"})
    watch = start()
    watch.counts()
    first = watch.err.until("Watching ")
    assert "Left out 1 files: 1 looks like a secret" in first
    assert "Warning: No conversation logs found" in first

    write_tree(shell.cwd, {"debug.log": "x", ".git/index.lock": "", "__pycache__/a.pyc": b""})
    write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
    assert watch.counts() == (1, 0, 1, 1)

    rest = watch.stop()
    assert "Left out" not in rest
    assert "No conversation logs" not in rest
    assert watch.out.rest() == ""


def test_a_commit_brings_the_histories_up_to_date(
    shell: Shell, start: Callable[..., Watch]
) -> None:
    watch = start()
    watch.counts()
    watch.err.until("Watching ")
    git(shell.cwd, "add", ".")
    git(shell.cwd, "commit", "--quiet", "--message", "all of it")

    assert watch.counts() == (0, 0, 0, 7)
    with shell.store() as store:
        history = store.chunks.get_histories(["settings.py:module"])["settings.py:module"]
    assert (history.tracking, len(history.commits)) == (Tracking.TRACKED, 1)


@in_a_file
def test_without_git_a_commit_is_nothing(shell: Shell, start: Callable[..., Watch]) -> None:
    watch = start("--no-git")
    assert watch.counts() == (4, 0, 0, 0)
    git(shell.cwd, "add", ".")
    git(shell.cwd, "commit", "--quiet", "--message", "all of it")
    write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
    assert watch.counts() == (1, 0, 0, 0)


@in_a_file
def test_conversation_logs_are_followed(shell: Shell, start: Callable[..., Watch]) -> None:
    watch = start()
    watch.counts()
    write_tree(
        shell.home / "logs" / "conversations",
        {"2025/11/talk.md": "# SOAR Conversation Log\n\n## Phase 1: Assess\n\nzebra crossing\n"},
    )
    assert watch.counts()[0] == 1
    assert "talk" in shell.ok("mem", "search", "zebra")


@in_a_file
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_ends_it_well(start: Callable[..., Watch], number: signal.Signals) -> None:
    watch = start()
    watch.counts()
    watch.err.until("Watching ")
    assert watch.stop(number) == "Stopped\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_ends_it_well_in_the_middle_of_a_run(
    indexed: Shell, start: Callable[..., Watch], number: signal.Signals
) -> None:
    """The run waits until we let go of the store, which we do not."""
    with indexed.store() as store:
        with store.alone():
            watch = start()
            watch.err.until("Waiting for it to finish")
            assert watch.stop(number) == "Stopped\n"
        assert store.maintenance.check() == []


def test_a_run_waits_for_its_turn_and_sees_what_came_meanwhile(
    shell: Shell, start: Callable[..., Watch]
) -> None:
    watch = start()
    watch.counts()
    with shell.store() as store, store.alone():
        write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
        watch.err.until("Waiting for it to finish")
        write_tree(shell.cwd, {"notes.md": "# Other\n\nAnother text.\n"})
    assert watch.counts()[:2] == (2, 0)


@in_a_file
def test_a_run_that_fails_is_told_and_the_next_one_makes_good(
    shell: Shell, start: Callable[..., Watch]
) -> None:
    watch = start()
    watch.counts()
    watch.err.until("Watching ")
    shutil.rmtree(shell.cwd / ".aurora")
    write_tree(shell.cwd, {".aurora/memory.db": b"no database" * 1000, "settings.py": "x = 1\n"})
    assert "Warning: " in watch.err.until("the next change tries again")

    (shell.cwd / ".aurora" / "memory.db").unlink()
    write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
    assert watch.counts()[:2] == (4, 0)
    assert "Traceback" not in watch.stop()


@in_a_file
def test_targets_that_go_are_told_until_none_is_left(
    shell: Shell, start: Callable[..., Watch]
) -> None:
    write_tree(shell.cwd, {"one/a.py": "def a(): pass\n", "two/b.py": "def b(): pass\n"})
    watch = start("one", "two")
    assert watch.counts()[:2] == (2, 0)
    watch.err.until("Watching ")

    shutil.rmtree(shell.cwd / "two")
    watch.err.until(f"Warning: {shell.cwd}/two is gone")
    write_tree(shell.cwd, {"one/a.py": "def other(): pass\n"})
    assert watch.counts()[:2] == (1, 0)
    write_tree(shell.cwd, {"two/b.py": "def back(): pass\n"})
    watch.err.until("two is back")
    assert watch.counts()[:2] == (1, 0)

    for name in ("one", "two"):
        shutil.rmtree(shell.cwd / name)
    assert watch.process.wait(PATIENCE) == 2
    assert "Error: Nothing is left to watch" in watch.err.rest()


@without_memory
def test_a_missing_path_makes_nothing(shell: Shell) -> None:
    assert "There is no file or folder nowhere" in shell.fails("mem", "watch", "nowhere")
    assert not (shell.cwd / ".aurora").exists()


@without_memory
def test_without_the_package_it_says_how_to_get_it(shell: Shell, tmp_path: Path) -> None:
    blocked = write_tree(tmp_path / "blocked", {"watchfiles.py": "raise ImportError('not here')\n"})
    shell.environ["PYTHONPATH"] = str(blocked)
    words = shell.fails("mem", "watch")
    assert "watchfiles, which is not installed" in words
    assert "hint: pip install 'aurora-memory[watch]'" in words
    assert not (shell.cwd / ".aurora").exists()
    assert "Usage: aur mem watch" in shell.ok("mem", "watch", "--help")
    shell.ok("mem", "index")


@without_memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify's own limit")
@pytest.mark.parametrize(
    ("limit", "words"),
    [("max_inotify_watches", "max_user_watches"), ("max_inotify_instances", "max_user_instances")],
)
def test_the_systems_limit_is_an_error_that_says_what_to_do(
    shell: Shell, limit: str, words: str
) -> None:
    """In a user namespace of its own, where the limit may be set."""
    lower = f"echo 0 > /proc/sys/user/{limit}"
    alone = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    if subprocess.run([*alone, lower], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        [*alone, f"{lower} && exec {AUR} mem watch"],
        cwd=shell.cwd,
        env={"PATH": os.environ["PATH"], "AURORA_HOME": str(shell.home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"fs.inotify.{words}" in done.stderr
    assert "Traceback" not in done.stderr


@without_memory
def test_a_reader_that_has_seen_enough_is_no_error(shell: Shell) -> None:
    done = subprocess.Popen(
        ["bash", "-c", f"set -o pipefail; {AUR} mem watch | head -1"],
        cwd=shell.cwd,
        env={"PATH": os.environ["PATH"], "AURORA_HOME": str(shell.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    out, err = Lines(done.stdout), Lines(done.stderr)
    assert LINE.fullmatch(out.next())
    err.until("Watching ")
    write_tree(shell.cwd, {"settings.py": "def brand_new(): pass\n"})
    assert done.wait(PATIENCE) == 0
    assert "Error" not in err.rest()
