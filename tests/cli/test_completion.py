"""Completion: what a shell is told, and what real shells make of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aurora.cli.completion import SHELLS, Typed, read_line
from aurora.config.schema import CATALOGUE
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.screen import Terminal

pytestmark = pytest.mark.one_store("completes words, wherever a memory is")


BREAKS = " \t\n\"'@><=;|&(:"  # as bash has them
INTERACTIVE = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
SETUP = {
    "bash": 'eval "$(aur completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -u -D; eval "$(aur completion zsh)"',
    "fish": "aur completion fish | source",
}


def ask(shell: Shell, line: str, *, by: str = "zsh") -> subprocess.CompletedProcess[str]:
    """What a shell is told at the end of a line."""
    asked = {"_AUR_COMPLETE": f"{by}_complete", "COMP_WORDS": line, "COMP_BREAKS": BREAKS}
    return Shell(shell.cwd, shell.home, shell.environ | asked).run()


def offered(shell: Shell, line: str, *, by: str = "zsh") -> list[str]:
    done = ask(shell, line, by=by)
    assert (done.returncode, done.stderr) == (0, "")
    return [answer.split("\t")[1] for answer in done.stdout.splitlines() if answer]


def need(name: str) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed here")
    return name


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("", Typed((), "", "")),
        ("aur", Typed((), "aur", "")),
        ("aur ", Typed(("aur",), "", "")),
        ("aur  mem get a.py:f", Typed(("aur", "mem", "get"), "a.py:f", "")),
        (r"aur How\ it\ w", Typed(("aur",), "How it w", "")),
        ('aur "How it w', Typed(("aur",), "How it w", '"')),
        ("aur 'How it ", Typed(("aur",), "How it ", "'")),
        ("aur \"it's", Typed(("aur",), "it's", '"')),
        (r"aur 'a\b' c", Typed(("aur", r"a\b"), "c", "")),
        ("aur '' x", Typed(("aur", ""), "x", "")),
        ("aur a\\", Typed(("aur",), "a", "")),
    ],
)
def test_a_line_is_read_as_a_shell_reads_it(line: str, typed: Typed) -> None:
    assert read_line(line) == typed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("aur ", ["init", "mem", "config", "doctor", "completion"]),
        ("aur d", ["doctor"]),
        ("aur mem s", ["search", "stats"]),
        ("aur config ", ["approve", "get", "path", "set"]),
        ("aur completion ", ["bash", "zsh", "fish"]),
        ("aur mem search --lang", ["--language"]),
        ("aur mem search --type k", ["knowledge"]),
        ("aur mem search --type function,c", ["function,class", "function,code"]),
        ("aur mem search --type class,code,c", []),
        ("aur mem search --type=me", ["--type=method"]),
        ("aur mem search --mode ", ["hybrid", "semantic", "keyword"]),
        ("aur mem search --fusion r", ["rrf"]),
        ("aur mem search --fusion=st", ["--fusion=staged"]),
        ("aur mem search --language ", ["markdown", "python"]),
        ("aur mem search --source code,co", ["code,conversation"]),
        ("aur mem search --agent ", []),
        ("aur mem search --language python,m", ["python,markdown"]),
        ("aur mem get auth", ["auth_manager.py:AuthManager", "auth_manager.py:AuthManager.logout",
                              "auth_manager.py:authenticate_user", "auth_manager.py:module"]),
        ("aur mem get 用户.py:认", ["用户.py:认证流程"]),
        ("aur mem get nowhere", []),
        ("aur mem forget sett", ["settings.py:module"]),
        ("aur config get search.rr", ["search.rrf.k"]),
        ("aur config set search.bm25.", ["search.bm25.k1", "search.bm25.b", "search.bm25.idf"]),
        ("aur -c search.rr", ["search.rrf.k="]),
        ("aur -c search.rrf.k=7 mem st", ["stats"]),
    ],
)  # fmt: skip
def test_what_is_offered(indexed: Shell, line: str, expected: list[str]) -> None:
    found = offered(indexed, line)
    assert [value for value in found if value in expected] == expected
    if not line.endswith(("aur ", "config ", "mem s", "aur d")):
        assert found == expected  # other commands may come


def test_namespaces_are_those_of_the_memory(indexed: Shell) -> None:
    indexed.ok("mem", "add", "notes.md", "--namespace", "billing")
    assert offered(indexed, "aur mem search --namespace ") == ["billing"]
    assert offered(indexed, "aur mem add x --namespace b") == ["billing"]
    assert offered(indexed, "aur mem forget namesp") == ["namespace:billing"]


def test_commands_and_settings_are_offered_with_their_help(indexed: Shell) -> None:
    assert "plain\tstats\tShow what the memory holds.\n" in ask(indexed, "aur mem ").stdout
    (told,) = ask(indexed, "aur config get search.rrf").stdout.splitlines()
    assert told == f"plain\tsearch.rrf.k\t{CATALOGUE['search.rrf.k'].help}"


def test_files_are_left_to_the_shell(indexed: Shell) -> None:
    assert ask(indexed, "aur mem index se").stdout == "file\tse\t\n"
    assert ask(indexed, "aur mem add no").stdout == "file\tno\t\n"


def test_at_most_fifty_ids_are_offered(indexed: Shell) -> None:
    many = "".join(f"def f{number:03}(): pass\n\n\n" for number in range(80))
    write_tree(indexed.cwd, {"many.py": many})
    indexed.ok("mem", "index")
    assert len(offered(indexed, "aur mem get many.py:f")) == 50
    assert offered(indexed, "aur mem get many.py:f07") == [f"many.py:f07{n}" for n in range(10)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("aur mem get guide.md:How", ["How\\ it\\ works"]),
        (r"aur mem get guide.md:How\ it", ["How\\ it\\ works"]),
        ('aur mem get "guide.md:How', ["guide.md:How it works"]),
        ("aur mem get gui", ["guide.md:How\\ it\\ works"]),
        ("aur mem search --type=me", ["method"]),
    ],
)
def test_bash_gets_what_follows_its_last_word_break(
    indexed: Shell, line: str, expected: list[str]
) -> None:
    write_tree(indexed.cwd, {"guide.md": "# How it works\n\nWell.\n"})
    indexed.ok("mem", "index")
    assert offered(indexed, line, by="bash") == expected


# Quiet, whatever is wrong


def no_memory(shell: Shell) -> None:
    shutil.rmtree(shell.cwd / ".aurora")


def no_database(shell: Shell) -> None:
    for file in (shell.cwd / ".aurora").glob("memory.db*"):
        file.unlink()
    write_tree(shell.cwd / ".aurora", {"memory.db": "Dear diary,\n" * 1000})


def no_settings(shell: Shell) -> None:
    write_tree(shell.home, {"config.yml": "search: [1, 2\n"})


def no_home(shell: Shell) -> None:
    shell.environ["AURORA_HOME"] = "~nobody-at-all/x"


@pytest.mark.parametrize("breaking", [no_memory, no_database, no_settings, no_home])
@pytest.mark.parametrize("line", ["aur mem get ", "aur mem forget ", "aur mem search --language "])
def test_what_is_broken_offers_nothing_and_says_nothing(
    indexed: Shell, breaking: Callable[[Shell], None], line: str
) -> None:
    log = indexed.home / "logs" / "aurora.log"
    before = log.read_text(encoding="utf-8")
    breaking(indexed)
    assert offered(indexed, line) == []
    assert log.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("instruction", ["tcsh_complete", "bash_dance", "nonsense"])
def test_an_unknown_shell_is_answered_with_a_status_alone(shell: Shell, instruction: str) -> None:
    shell.environ |= {"_AUR_COMPLETE": instruction, "COMP_WORDS": "aur "}
    done = shell.run()
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_line_that_is_not_told_is_answered_with_a_status_alone(shell: Shell) -> None:
    shell.environ["_AUR_COMPLETE"] = "bash_complete"
    done = shell.run()
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("aur mem ", {"aurora.engine", "aurora.cli.search", "sqlite3"}),
        ("aur mem get auth", {"numpy", "tree_sitter", "ruamel.yaml", "rich.console"}),
    ],
)
def test_nothing_heavy_is_loaded_to_complete(indexed: Shell, line: str, absent: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", AUR],
        cwd=indexed.cwd,
        env=indexed.environment | {"_AUR_COMPLETE": "bash_complete", "COMP_WORDS": line},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE))
    assert "click" in loaded
    assert loaded & absent == set()


# The scripts


def test_the_shell_is_the_one_named_or_that_of_the_environment(shell: Shell) -> None:
    scripts = {name: shell.ok("completion", name) for name in SHELLS}
    assert len(set(scripts.values())) == 3
    for name, script in scripts.items():
        shell.environ["SHELL"] = f"/usr/bin/{name}"
        assert shell.ok("completion") == script


@pytest.mark.parametrize("environ", [{}, {"SHELL": ""}, {"SHELL": "/bin/tcsh"}])
def test_without_a_shell_that_is_known_it_says_which_there_are(
    shell: Shell, environ: dict[str, str]
) -> None:
    shell.environ |= environ
    assert "bash, zsh, fish" in shell.fails("completion")


def test_help_says_how_to_install_it(shell: Shell) -> None:
    text = shell.ok("completion", "--help")
    assert 'eval "$(aur completion bash)"' in text
    assert "~/.config/fish/completions/aur.fish" in text


@pytest.mark.parametrize("name", SHELLS)
def test_each_script_is_what_its_shell_reads(shell: Shell, tmp_path: Path, name: str) -> None:
    script = tmp_path / "script"
    script.write_text(shell.ok("completion", name), encoding="utf-8")
    done = subprocess.run([need(name), "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_fills_its_replies(indexed: Shell) -> None:
    """As readline would call the function, without a terminal."""
    program = """
        source <(aur completion bash)
        for COMP_LINE in "$@"; do
            COMP_POINT=${#COMP_LINE}
            _aur_completion aur
            printf '%s\\n' "${COMPREPLY[*]}"
        done
    """
    lines = ["aur mem s", "aur mem search --type function,cl", "aur mem get settings.py:mod",
             "aur mem get 用户.py:", "aur mem get nowhere", "aur mem search x | less"]  # fmt: skip
    done = subprocess.run(
        [need("bash"), "--norc", "-c", program, "bash", *lines],
        cwd=indexed.cwd,
        env=indexed.environment
        | {"PATH": f"{AUR.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == ""
    replies = done.stdout.splitlines()
    assert replies[:5] == ["search stats", "function,class", "module", "认证流程", ""]


@pytest.mark.parametrize("name", SHELLS)
def test_a_person_at_a_real_shell_presses_tab(indexed: Shell, name: str) -> None:
    """Each line only works when the shell completes it: the answers are of the commands run."""
    need(name)
    write_tree(indexed.cwd, {"guide.md": "# How it works\n\nBy magic.\n"})
    indexed.ok("mem", "index")
    path = {"PATH": f"{AUR.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    terminal = Terminal(INTERACTIVE[name], cwd=indexed.cwd, env=indexed.environment | path)
    terminal.press(f'{SETUP[name]}\necho rea"dy"\n')
    terminal.read(until=lambda written: "ready" in written)
    for line in (
        "aur me\tget settings.py:mod\t",
        "aur mem search --type function,know\tmagic",
        "aur -c search.rrf.\t123 config get search.rrf.k",
        "aur mem get guide.md:How\\ it\\ wo\t",
        "exit",
    ):
        terminal.press(f"{line}\n")
    terminal.wait()
    for answer in ("TIMEOUT = 30", "guide.md", "123\r\n", "By magic."):
        assert answer in terminal.written, terminal.written
    assert "Error" not in terminal.written
