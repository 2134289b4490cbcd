"""How `aur` starts: its help, an early interrupt, and what a quick command imports."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from aurora.cli.main import cli
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell

pytestmark = pytest.mark.one_store("about the start of the program")


def commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


def said(*argv: str | Path, shell: Shell, **environ: str) -> tuple[int, str, str]:
    done = subprocess.run(
        argv,
        cwd=shell.cwd,
        env={**shell.environment, **environ},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def loaded(shell: Shell, *words: str, **environ: str) -> set[str]:
    """The modules that a command imports; it must work."""
    argv = (sys.executable, "-X", "importtime", AUR, *words)
    status, _, talk = said(*argv, shell=shell, **environ)
    assert status == 0, talk
    return set(re.findall(r"\| +([\w.]+)$", talk, re.MULTILINE))


@pytest.mark.parametrize("path", list(commands()), ids=lambda path: " ".join(("aur", *path)))
def test_every_command_has_help(shell: Shell, path: tuple[str, ...]) -> None:
    """`-h` and `--help` print the same, and `--version` belongs to `aur` alone."""
    text = shell.ok(*path, "--help")
    assert text.startswith(f"Usage: {' '.join(('aur', *path))} ")
    assert shell.ok(*path, "-h") == text


@pytest.mark.parametrize("words", [(), ("mem",), ("config",)], ids=["aur", "aur mem", "aur config"])
def test_a_group_alone_is_a_usage_error_that_shows_its_help(
    shell: Shell, words: tuple[str, ...]
) -> None:
    help_text = shell.ok(*words, "--help")
    assert said(AUR, *words, shell=shell) == (2, "", help_text)


@pytest.mark.parametrize(
    ("where", "status"),
    [(">&-", 0), ("2>&-", 0), ("<&-", 0), ("2>/dev/full", 0), (">/dev/full", 2)],
)
def test_help_on_a_stream_that_cannot_be_written(shell: Shell, where: str, status: int) -> None:
    done = shell.bash(f"aur --help {where}")
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_python_can_run_the_package(indexed: Shell) -> None:
    asked = ("mem", "search", "password")
    assert said(sys.executable, "-m", "aurora", *asked, shell=indexed) == said(
        AUR, *asked, shell=indexed
    )
    assert "Usage: aur mem " in indexed.ok("mem", "--help")
    status, _, talk = said(sys.executable, "-m", "aurora", "mem", "nothing", shell=indexed)
    assert (status, talk.splitlines()[0]) == (2, "Usage: aur mem [OPTIONS] COMMAND [ARGS]...")


def test_an_interrupt_while_it_begins_is_no_traceback(shell: Shell) -> None:
    """Click takes a while to import: here a Ctrl-C comes in the middle of it."""
    signal = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    write_tree(shell.home.parent, {"early/click.py": signal})
    early = str(shell.home.parent / "early")
    assert said(AUR, "mem", "stats", shell=shell, PYTHONPATH=early) == (130, "", "Interrupted.\n")


HEAVY = {
    "numpy", "tree_sitter", "ruamel.yaml", "subprocess", "rich.console", "watchfiles",
    "aurora.sources.git", "aurora.parsers", "aurora.indexing.indexer",
}  # fmt: skip
QUICK = {"json", "rich", "sqlite3", "aurora.engine", "aurora.config", "aurora.types"}
SEARCHING = {"aurora.retrieval.retriever", "aurora.signals.bm25", "rich"}


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--help",), QUICK),
        (("mem", "--help"), QUICK),
        (("--version",), QUICK),
        (("config", "get", "search.bm25.k1"), {"aurora.engine", "sqlite3"}),
        (("mem", "stats"), {"aurora.retrieval.retriever"}),
        (("mem", "get", "logout"), SEARCHING),
        (
            ("mem", "search", "password", "--mode", "keyword"),
            {"aurora.fusion.staged", "hashlib", "shutil"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_nothing_heavy_is_loaded_for_a_quick_command(
    indexed: Shell, words: tuple[str, ...], more: set[str]
) -> None:
    """A search by words answers before numpy would be imported; none of these parses anything.

    The first look at a copied project is a walk: the next one finds nothing changed.
    """
    indexed.ok("mem", "get", "logout")
    modules = loaded(indexed, *words)
    assert "aurora.cli.main" in modules
    assert modules & (HEAVY | more) == set()


def test_a_plain_settings_file_does_not_load_the_library_for_others(indexed: Shell) -> None:
    write_tree(indexed.home, {"config.yml": "# mine\nsearch:\n  rrf:\n    k: 30\n"})
    asked = ("mem", "search", "password", "--fusion", "rrf")
    assert "ruamel.yaml" not in loaded(indexed, *asked)
    write_tree(indexed.home, {"config.yml": "search: {rrf: {k: 30}}\n"})
    assert "ruamel.yaml" in loaded(indexed, *asked)
    assert indexed.ok("config", "get", "search.rrf.k") == "30\n"


def test_a_reader_of_the_help_that_has_seen_enough_is_no_failure(shell: Shell) -> None:
    done = shell.bash("aur mem search --help | exec <&-")
    assert (done.returncode, done.stderr) == (0, "")
