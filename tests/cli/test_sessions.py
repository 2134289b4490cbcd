"""`aur sessions`, as a person and a program see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.sources.sessions.samples import CLAUDE, make_home

pytestmark = in_a_file
SECTION = Path(__file__).parents[2].joinpath("docs/reference/json.md").read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = make_home(tmp_path)
    return Shell(write_tree(tmp_path / "work", {"a.py": "x = 1\n"}), home / ".aurora")


def test_scan_import_list_show_and_forget(shell: Shell) -> None:
    assert "claude-code   2 " in shell.ok("sessions", "scan")
    done = shell.run("sessions", "import")
    assert "Importing all sessions of all agents" in done.stderr
    assert "29 new exchanges of 18 sessions" in done.stdout
    assert "Rounding in the basket" in shell.ok("sessions", "list", "--agent", "claude-code")
    shown = shell.ok("sessions", "show", CLAUDE[:8])
    assert f"Resume   cd /code/shop && claude --resume {CLAUDE}" in shown
    assert "── 3 of 3  2026-03-02 09:03" in shown
    assert "confirm with --yes" in shell.fails("sessions", "forget", CLAUDE)
    assert shell.ok("sessions", "forget", CLAUDE, "--yes") == "Forgot 2 sessions\n"
    assert shell.ok("sessions", "import", "--agent", "claude-code").startswith("Read 0 transcripts")
    assert "There is no session" in shell.fails("sessions", "show", CLAUDE)


def test_a_listed_id_names_one_session(shell: Shell) -> None:
    shell.ok("sessions", "import", "--agent", "codex")
    ids = [line.split()[0] for line in shell.ok("sessions", "list").splitlines()]
    assert len(set(ids)) == 4
    for id_ in ids:
        assert f"Session  {id_}" in shell.ok("sessions", "show", id_)


def test_an_index_run_says_what_it_followed(shell: Shell) -> None:
    shell.ok("sessions", "import", "--agent", "claude-code")
    file = shell.home.parent / f".claude/projects/-code-shop/{CLAUDE}.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    question = next(line for line in lines if '"u-1"' in line).replace('"u-1"', '"new"')
    file.write_text("\n".join([*lines, question]) + "\n", encoding="utf-8")
    assert "Read 1 new exchange of sessions" in shell.run("mem", "index", ".").stderr


def test_an_export_and_a_date_are_read(shell: Shell) -> None:
    export = shell.home.parents[1] / "exports/claude/conversations.json"
    assert "1 new exchange of 1 session" in shell.ok("sessions", "import", str(export))
    assert "--since" in shell.fails("sessions", "import", str(export), "--since", "7d")
    assert "Cannot read 'soon'" in shell.fails("sessions", "import", "--since", "soon")
    assert "no agent 'parrot'" in shell.fails("sessions", "import", "--agent", "parrot")


def test_every_field_is_documented(shell: Shell) -> None:
    printed = {
        words: json.loads(shell.ok("sessions", *words.split(), "--json"))
        for words in ("scan", "import --agent claude-code", "list", f"show {CLAUDE}")
    }
    scan, imported, listed, shown = printed.values()
    names = {*scan, *scan["agents"][0], *imported, *listed, *listed["sessions"][0], *shown}
    section = SECTION.split("## aur sessions --json\n")[1].split("\n## ")[0]
    names |= set(shown["talk"][0])
    assert [name for name in sorted(names) if f"`{name}`" not in section] == []
