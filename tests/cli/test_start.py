"""How `aur` begins: help that was written down is what click would say, and nothing waits."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

import aurora
from aurora.cli.main import cli
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.screen import Terminal

pytestmark = pytest.mark.one_store("about the start of the program")


CLICK = (sys.executable, "-c", "from aurora.cli.main import main\nmain()")
SOURCE = Path(aurora.__file__).parent


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
def test_what_is_written_down_is_what_click_says(shell: Shell, path: tuple[str, ...]) -> None:
    words = (*path, "--help")
    click_says = said(*CLICK, *words, shell=shell)
    assert click_says[0] == 0
    assert said(AUR, *words, shell=shell) == click_says
    assert "click" not in loaded(shell, *words)


@pytest.mark.parametrize("words", [(), ("mem",), ("config",)], ids=["aur", "aur mem", "aur config"])
def test_a_group_alone_is_a_usage_error_that_shows_its_help(
    shell: Shell, words: tuple[str, ...]
) -> None:
    help_text = shell.ok(*words, "--help")
    assert said(AUR, *words, shell=shell) == (2, "", help_text)
    assert said(*CLICK, *words, shell=shell) == (2, "", help_text)


@pytest.mark.parametrize("words", [
    ("--version",), ("-h",), ("mem", "search", "-h"), ("--help", "mem"), ("mem", "--help", "get"),
    ("mem search", "--help"), ("mem", "serch", "--help"), ("-c", "search.rrf.k=1", "--help"),
    ("mem", "--version"), ("mem", ""), ("", "--help"), ("aur", "mem"), ("|",), ("mem", "|", "-h"),
    ("mem", "search", "--", "--help"), ("mem", "search", "--limit", "-h"),
], ids=" ".join)  # fmt: skip
def test_whatever_is_asked_click_would_say_the_same(shell: Shell, words: tuple[str, ...]) -> None:
    assert said(AUR, *words, shell=shell) == said(*CLICK, *words, shell=shell)


@pytest.mark.parametrize(
    "environ",
    [
        {"COLUMNS": "60"}, {"COLUMNS": "79"}, {"COLUMNS": "80"}, {"COLUMNS": "300"},
        {"COLUMNS": "0"}, {"COLUMNS": "-1"}, {"COLUMNS": "wide"}, {"COLUMNS": ""}, {"COLUMNS": "5"},
        {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "utf-16"}, {"_AUR_COMPLETE": "bash_source"},
    ],
    ids=str,
)  # fmt: skip
def test_in_any_environment_help_is_what_click_says(
    shell: Shell, environ: Mapping[str, str]
) -> None:
    words = ("mem", "search", "--help")
    assert _bytes(AUR, *words, shell=shell, **environ) == _bytes(
        *CLICK, *words, shell=shell, **environ
    )


def _bytes(*argv: str | Path, shell: Shell, **environ: str) -> tuple[int, bytes, bytes]:
    environment = {**shell.environment, **environ}
    done = subprocess.run(argv, cwd=shell.cwd, env=environment, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("columns", [40, 79, 80, 200])
def test_on_any_terminal_help_is_what_click_says(shell: Shell, columns: int) -> None:
    written = []
    for argv in ([AUR], CLICK):
        terminal = Terminal(
            [*argv, "mem", "search", "--help"], cwd=shell.cwd, env={}, columns=columns
        )
        assert terminal.wait() == 0
        written.append(terminal.written)
    assert written[0] == written[1]


@pytest.mark.parametrize("where", [">&-", "2>&-", ">/dev/full", "2>/dev/full", "<&-"])
@pytest.mark.parametrize("words", ["--help", ""], ids=["help", "nothing asked"])
def test_where_help_cannot_be_written_the_end_is_the_same(
    shell: Shell, words: str, where: str
) -> None:
    ends = []
    for argv in ([str(AUR)], CLICK):
        script = f'"$@" {words} {where}; echo "${{PIPESTATUS[0]}}"'
        ends.append(said("bash", "-c", script, "bash", *argv, shell=shell))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "no text"])
def test_without_what_was_written_down_click_answers(
    shell: Shell, tmp_path: Path, content: bytes | None
) -> None:
    package = tmp_path / "lib" / "aurora"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "help.txt"))
    if content is not None:
        write_tree(package, {"cli/help.txt": content})
    copy = {"PYTHONPATH": str(package.parent)}
    assert "click" in loaded(shell, "mem", "get", "--help", **copy)
    asked = ("mem", "get", "--help")
    assert said(AUR, *asked, shell=shell, **copy) == said(AUR, *asked, shell=shell)


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
    "aurora.sources.git", "aurora.parsers.registry", "aurora.indexing.indexer",
}  # fmt: skip
SEARCHING = {"aurora.retrieval.retriever", "aurora.signals.bm25", "rich", "aurora.display.table"}


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("--help",), {"click", "typing", "pathlib", "json", "shutil", "aurora.cli.main"}),
        (("--version",), {"click", "typing", "importlib.metadata"}),
        (("config", "get", "search.bm25.k1"), {"aurora.engine", "sqlite3"}),
        (("mem", "stats"), {"aurora.retrieval.retriever", "aurora.display.table"}),
        (("mem", "get", "logout"), SEARCHING),
        (("mem", "search", "password", "--mode", "keyword"), {"aurora.fusion.staged"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_nothing_heavy_is_loaded_for_a_quick_command(
    indexed: Shell, words: tuple[str, ...], more: set[str]
) -> None:
    """A search by words answers before numpy would be imported; none of these parses anything."""
    modules = loaded(indexed, *words)
    assert "aurora.cli.start" in modules
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
