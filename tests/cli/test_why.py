"""`aur mem why`, `how` and `fix` as a person and a program see them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_json_docs import documented, section
from tests.recorded_sessions import Story

pytestmark = pytest.mark.one_store("about the person's memory, which is a file")

PRINT = "python -c 'import settings; print(settings.RETRIES)'"
ERROR = "AttributeError: module 'settings' has no attribute 'RETRIES'"


@pytest.fixture
def told(indexed: Shell) -> Shell:
    """A session that needs a setting, adds it and commits; a note about it; a command that never
    works."""
    story = Story(indexed.home.parent, datetime(2026, 11, 2, 9, tzinfo=UTC))
    story.git(indexed.cwd, "add", ".")
    story.git(indexed.cwd, "commit", "-qm", "start")
    story.wait(hours=1)
    session = story.session(indexed.cwd, "Retries")
    session.ask("Print how often we retry. We decided to retry always.")
    session.bash(PRINT)
    session.edit("settings.py", "TIMEOUT = 30\n", "TIMEOUT = 30\nRETRIES = 2\n")
    session.bash(PRINT)
    session.bash("git commit -am 'Retry twice'")
    session.ask("Deploy it")
    session.bash("python deploy.py")
    indexed.ok("sessions", "import", "--agent", "claude-code", "--quick")
    indexed.environ["TZ"] = "UTC"
    return indexed


def without_ids(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{8}\b", "<commit>", re.sub(r"session:\S+", "<id>", text))


def test_why_lists_commits_sessions_and_decisions(told: Shell) -> None:
    assert without_ids(told.ok("mem", "why", "settings.py:3")) == (
        "settings.py:3\n"
        "2026-11-02 10:08  commit <commit>  Retry twice (Ada)\n"
        "  last changed all of these lines\n"
        "2026-11-02 10:00  decision  Print how often we retry. We decided to retry always."
        " (claude-code)\n"
        "  decided in an exchange that edited this file\n"
        "  - We decided to retry always.\n"
        "  <id>\n"
        "2026-11-02 10:00  session  Print how often we retry. We decided to retry always."
        " (claude-code, master)\n"
        "  edited this file 8 minutes before commit <commit> on branch master\n"
        "  <id>\n"
    )


def test_why_names_files_as_seen_from_the_working_directory(told: Shell) -> None:
    folder = told.cwd / "sub"
    folder.mkdir()
    assert "Retry twice" in told.ok("mem", "why", "../settings.py", "-n", "1", cwd=folder)


def test_how_tells_the_last_success_and_what_mended_the_failure(told: Shell) -> None:
    assert without_ids(told.ok("mem", "how", PRINT)) == (
        "Last worked\n"
        "  2026-11-02 10:00 (claude-code, Retries, master)\n"
        f"  $ {PRINT}\n"
        "    2\n"
        "  <id>\n"
        "What mended a failure\n"
        f"  {ERROR}\n"
        f"  $ {PRINT} (claude-code, Retries)\n"
        f"    {told.cwd}/settings.py\n"
        "    - TIMEOUT = 30\n"
        "    + TIMEOUT = 30\n"
        "    + RETRIES = 2\n"
        "  <id>\n"
    )


def test_how_says_that_a_command_never_worked_or_never_ran(told: Shell) -> None:
    shown = told.ok("mem", "how", "python deploy.py")
    assert shown.startswith("It never worked: 1 failure and no success\nLast failed\n")
    assert ": exit status 2\n" in shown
    assert shown.endswith("Nothing is known that mended it\n")
    assert told.ok("mem", "how", "make") == "No session ran this command\n"


def test_fix_tells_what_mended_an_error_also_from_a_pipe(told: Shell) -> None:
    shown = told.ok("mem", "fix", ERROR)
    assert shown.startswith(f"Mended 2026-11-02 10:00\n  {ERROR}\n")
    assert "    + RETRIES = 2\n" in shown
    piped = told.bash(f"printf '%s\\n' 'Traceback:' \"{ERROR}\" | aur mem fix -")
    assert (piped.returncode, piped.stdout) == (0, shown)
    assert told.ok("mem", "fix", "KeyError: 'x'") == "No session had this error\n"


def test_errors_name_the_next_step(told: Shell) -> None:
    assert "hint: name a file of the project" in told.fails("mem", "why", "nothing.py")
    assert "hint: name lines that it has" in told.fails("mem", "why", "settings.py:77")
    assert "hint: give the whole line" in told.fails("mem", "fix", "Error")


def test_the_detailed_view_of_a_search_counts_sessions(told: Shell) -> None:
    shown = told.ok("mem", "search", "RETRIES TIMEOUT", "--show-scores")
    assert "Touched by 1 session " in shown
    [first, *_] = json.loads(told.ok("mem", "search", "TIMEOUT", "--json"))["results"]
    assert (first["path"], first["sessions"]) == ("settings.py", 1)


@pytest.mark.parametrize("words", [("why", "settings.py"), ("how", PRINT), ("fix", ERROR)])
def test_every_field_of_the_json_is_told(told: Shell, words: tuple[str, str]) -> None:
    answer = json.loads(told.ok("mem", *words, "--json"))
    title = f"aur mem {words[0]} --json"
    assert documented(title) == answer.keys() - {"version"}
    inside = {"why": answer.get("entries"), "how": [answer.get("worked")]}.get(words[0]) or []
    inside += [answer["mended"]] if words[0] == "how" else []
    assert inside or words[0] == "fix"
    assert [name for row in inside for name in row if f"`{name}`" not in section(title)] == []
