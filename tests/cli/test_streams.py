"""Standard streams that are broken, full or of few letters: the work is done, the data is whole."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends import about_streams, with_index_files
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.screen import Terminal

STEERING = "def paint():\n\treturn '\x1b[31mred\x9b0m'"


@pytest.fixture
def broken() -> Iterator[int]:
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def unheard(shell: Shell, broken: int, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [AUR, *words], cwd=shell.cwd, env=shell.environment, encoding="utf-8", check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=broken,
    )  # fmt: skip
    return done.returncode, done.stdout


@with_index_files
def test_a_search_that_nobody_hears_rebuild_the_index_still_answers(
    indexed: Shell, broken: int
) -> None:
    (indexed.cwd / ".aurora" / "indexes" / "bm25.idx").write_text("damaged")
    status, answer = unheard(indexed, broken, "mem", "search", "logout", "--json")
    assert status == 0
    assert json.loads(answer)["results"]


@with_index_files
def test_what_says_something_first_goes_on_when_nobody_hears_it(
    indexed: Shell, broken: int
) -> None:
    """`get` names the chunk, `rebuild-bm25` its work, on stderr, before anything else."""
    status, text = unheard(indexed, broken, "mem", "get", "authenticate_user")
    assert (status, text.splitlines()[0]) == (0, "def authenticate_user(name, password):")
    index = indexed.cwd / ".aurora" / "indexes" / "bm25.idx"
    index.write_text("damaged")
    assert unheard(indexed, broken, "mem", "rebuild-bm25")[0] == 0
    assert index.stat().st_size > len("damaged")


@about_streams
def test_an_error_that_nobody_hears_is_told_by_the_status(indexed: Shell, broken: int) -> None:
    assert unheard(indexed, broken, "mem", "get", "nothing") == (2, "")


@about_streams
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is full")
@pytest.mark.parametrize("words", [("mem", "search", "logout"), ("mem", "stats"), ("--help",)])
def test_a_full_disk_behind_stdout_is_said(indexed: Shell, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [AUR, *words], cwd=indexed.cwd, env=indexed.environment, encoding="utf-8", check=False,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Standard output cannot be written: No space left")


def test_a_program_gets_what_is_stored_byte_for_byte(shell: Shell) -> None:
    write_tree(shell.cwd, {"paint.py": STEERING, "a\x1b[31m.py": "def other(): pass\n"})
    shell.ok("mem", "index", ".")
    assert shell.ok("mem", "get", "paint.py:paint") == f"{STEERING}\n"
    assert shell.ok("mem", "search", "-l", "other").splitlines()[0] == "a\x1b[31m.py"


@about_streams
def test_on_a_terminal_a_stored_text_steers_nothing(shell: Shell) -> None:
    write_tree(shell.cwd, {"paint\x1b[31m.py": STEERING})
    shell.ok("mem", "index", ".")
    terminal = Terminal(
        [AUR, "mem", "get", "paint"], cwd=shell.cwd, env={"AURORA_HOME": str(shell.home)}
    )
    assert terminal.wait() == 0
    assert "\x1b" not in terminal.written
    assert "\tred" not in terminal.written
    assert "\treturn '\ufffd[31mred\ufffd0m'" in terminal.written


@about_streams
def test_letters_that_stdout_cannot_show_fail_nothing(indexed: Shell) -> None:
    """Programs get them all the same, in UTF-8; people a `?`."""
    indexed.environ["PYTHONIOENCODING"] = "latin-1"
    assert "def 认证流程():" in indexed.ok("mem", "get", "认证流程")
    assert "用户.py" in indexed.ok("mem", "search", "-l", "认证流程")
    assert "aur mem search ????" in indexed.ok("mem", "search", "--help")


def test_a_query_of_bytes_that_are_no_text_is_answered_as_json(indexed: Shell) -> None:
    done = subprocess.run(
        [os.fsencode(AUR), b"mem", b"search", b"\xff logout", b"--json"],
        cwd=indexed.cwd, env=indexed.environment, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["name"] == "logout"
