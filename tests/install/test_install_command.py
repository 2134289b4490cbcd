"""`aur install` and `aur uninstall` as a person runs them, and what `aur doctor` says of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from aurora.install.installed_check import examine_agents
from aurora.install.proof import prove
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.screen import Terminal
from tests.install.machine import Machine, make_machine

pytestmark = pytest.mark.one_store("about the files of agents")
FILES = {
    "prices.py": "def total(rows):\n    return sum(rows)\n",
    "mail.py": "def send_invoice(customer):\n    post(customer.address, 'invoice')\n",
    "stock.py": "def reserve_item(item):\n    item.left -= 1\n",
}
SUBJECTS = {"prices.py": "total of the rows", "mail.py": "send an invoice to a customer",
            "stock.py": "reserve an item"}  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A repository with three commits, and a person with Gemini CLI and Codex."""
    root = write_tree(tmp_path / "shop", FILES)
    commit = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for file, subject in SUBJECTS.items():
        subprocess.run(["git", "add", file], cwd=root, check=True)
        subprocess.run(["git", *commit, subject], cwd=root, check=True)
    settings = '{\n\t"theme": "x\x7f"\n}'
    write_tree(tmp_path / "person", {".gemini/settings.json": settings, ".codex/x": ""})
    path = f"{AUR.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return Shell(root, tmp_path / "person" / ".aurora", {"PATH": path})


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".aurora" not in path.parts
    }


def test_the_agents_of_the_machine_are_connected_and_the_proof_is_shown(shell: Shell) -> None:
    person = shell.home.parent
    before = files(person)
    shell.ok("index", ".", "--no-git")

    dry = shell.run("install", "--dry-run")
    assert (dry.returncode, files(person)) == (0, before)
    assert "+++ ~/.gemini/settings.json" in dry.stdout
    assert '\t"theme": "x\ufffd"' in dry.stdout
    assert "--- /dev/null" in dry.stdout

    done = shell.run("install")
    assert done.returncode == 0, done.stderr
    assert "Codex: guidance in ~/.codex/AGENTS.md, which is new\n" in done.stderr
    assert "Gemini CLI: MCP entry and hooks in ~/.gemini/settings.json\n" in done.stderr
    assert "Claude" not in done.stderr
    assert "it answers, with 10 tools." in done.stderr
    assert done.stdout.splitlines() == [
        "send an invoice to a customer  →  mail.py:1  send_invoice",
        "total of the rows  →  prices.py:1  total",
        "reserve an item  →  stock.py:1  reserve_item",
    ]

    again = shell.run("install")
    assert (again.returncode, "There is nothing to change." in again.stderr) == (0, True)

    doctor = json.loads(shell.run("doctor", "--quick", "--json").stdout)
    levels = {each["level"] for each in doctor["findings"] if each["area"] == "agents"}
    assert levels == {"ok"}

    gone = shell.run("uninstall")
    assert gone.returncode == 0, gone.stderr
    assert "Took Aurora out of 6 files." in gone.stderr
    assert files(person) == before


def test_a_person_is_asked_first(shell: Shell) -> None:
    before = files(shell.home.parent)
    terminal = Terminal([AUR, "install", "--project"], cwd=shell.cwd, env=shell.environment)
    terminal.press("n\n")
    assert (terminal.wait(), "Go on?" in terminal.written) == (1, True)
    assert files(shell.home.parent) == before
    assert [path.name for path in shell.cwd.iterdir() if path.name == "AGENTS.md"] == []


def test_without_an_agent_the_names_are_told(shell: Shell) -> None:
    shell.environ["HOME"] = str(shell.cwd)
    shell.environ["PATH"] = str(AUR.parent)
    assert "name one, such as `aur install claude-code`" in shell.fails("install")


def test_a_file_that_is_left_is_told_and_turns_the_status(shell: Shell) -> None:
    write_tree(shell.home.parent, {".gemini/settings.json": "{\n  nonsense\n}"})
    done = shell.run("install", "gemini-cli", "--no-hooks", "--no-block")
    assert done.returncode == 1
    assert "Left alone: ~/.gemini/settings.json: line 2 is not plain JSON" in done.stderr
    assert (shell.home.parent / ".agents/skills/aurora/SKILL.md").exists()
    assert not (shell.home.parent / ".gemini/GEMINI.md").exists()


def test_an_agent_without_a_file_of_the_person_is_told(shell: Shell) -> None:
    done = shell.run("install", "vscode", "--dry-run")
    assert (done.returncode, done.stdout) == (0, "")
    assert "VS Code reads nothing for --user: try --project." in done.stderr


def test_a_folder_that_cannot_be_written_is_told(shell: Shell) -> None:
    write_tree(shell.home, {"installed.lock/x": ""})
    before = files(shell.home.parent)
    assert "What is installed cannot be noted in" in shell.fails("install", "gemini-cli")
    assert files(shell.home.parent) == before


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("/no/such/aur", "mcp"), "No such file"),
        (("/bin/sh", "-c", "echo 'Error: broken' >&2; exit 2"), "Error: broken"),
    ],
)
def test_a_server_that_does_not_answer_is_told(
    tmp_path: Path, command: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(Exception, match="The server did not answer") as refusal:
        prove(command, tmp_path, dict(os.environ))
    assert reason in str(refusal.value)


# ---- aur doctor


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return make_machine(tmp_path)


def said(machine: Machine) -> list[tuple[str, str, str]]:
    return [
        (each.level, each.text.replace(str(machine.home), "~"), each.hint)
        for each in examine_agents(machine.memory, {"PATH": str(machine.home / "bin")})
    ]


def test_the_doctor_lists_what_was_written(machine: Machine) -> None:
    assert said(machine) == []
    machine.write({"bin/aur": "#!/bin/sh\n"})
    (machine.home / "bin/aur").chmod(0o755)
    machine.install("gemini-cli", command=("aur",))
    assert said(machine) == [
        ("ok", "Gemini CLI: MCP entry and hooks in ~/.gemini/settings.json", ""),
        ("ok", "Gemini CLI: skill in ~/.agents/skills/aurora/SKILL.md", ""),
        ("ok", "Gemini CLI: guidance in ~/.gemini/GEMINI.md", ""),
    ]


def test_the_doctor_names_what_is_gone_and_a_command_that_is(machine: Machine) -> None:
    machine.install("gemini-cli")
    (machine.home / ".gemini/GEMINI.md").write_text("# Mine\n")
    hint = "`aur install gemini-cli --user`"
    assert [(level, text) for level, text, _ in said(machine)] == [
        ("warn", "Gemini CLI: MCP entry and hooks in ~/.gemini/settings.json: "
         "the command /opt/aurora/bin/aur no longer exists"),
        ("ok", "Gemini CLI: skill in ~/.agents/skills/aurora/SKILL.md"),
        ("warn", "Gemini CLI: guidance in ~/.gemini/GEMINI.md: guidance gone or changed since"),
    ]  # fmt: skip
    assert [hint in each for _, _, each in said(machine)] == [True, False, True]
    (machine.home / ".gemini/settings.json").write_text("{")
    assert "cannot be checked" in said(machine)[0][1]
