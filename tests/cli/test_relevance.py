"""Rows that can be trusted: nothing where nothing is relevant, symbols, one row for one thing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell

UNANSWERABLE = "blockchain consensus algorithm"
PIECES: dict[str, str | bytes] = {
    "server/limits.py": """\
'''Limits of the server.'''

LIMIT = 30
ATTEMPTS = 5


class Quota:
    '''What one customer may use.'''

    storage = 1024
""",
    "server/parse.py": """\
from typing import overload


@overload
def parse_amount(text: str) -> int: ...
@overload
def parse_amount(text: bytes) -> int: ...
def parse_amount(text):
    '''An amount of money in cents.'''
    return int(text.strip()) * 100
""",
    "docs/upload.md": "# Upload\n\nAttachments are stored in the bucket of the customer.\n",
    "docs/copy/upload.md": "# Upload\n\nAttachments are stored in the bucket of the customer.\n",
}


@pytest.fixture
def server(shell: Shell) -> Shell:
    """A project with constants, overloads and a copy; its searches print the default view."""
    shell.environ["AURORA_UI_VIEW"] = ""
    write_tree(shell.cwd, PIECES)
    shell.ok("mem", "index", ".")
    return shell


def answer(shell: Shell, *words: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(shell.ok("mem", "search", *words, "--json"))
    return told


# Nothing relevant


def test_an_unanswerable_question_has_no_results_and_one_weak_match(indexed: Shell) -> None:
    told = indexed.ok("mem", "search", UNANSWERABLE)
    weak = answer(indexed, UNANSWERABLE)["weak"]
    assert told.startswith("No relevant results found\n\nSuggestions:\n  - ")
    assert told.splitlines()[-1].startswith("The best weak match: ")
    assert f"{weak['path']}:{weak['lines'][0]} " in told.splitlines()[-1]
    assert told.endswith(f" ({weak['score']:.2f})\n")
    assert 0.0 < weak["score"] < 0.1


def test_an_unanswerable_question_fails_only_with_exit_code(indexed: Shell) -> None:
    assert indexed.run("mem", "search", UNANSWERABLE).returncode == 0
    assert indexed.run("mem", "search", UNANSWERABLE, "--exit-code").returncode == 1
    assert indexed.run("mem", "search", UNANSWERABLE, "--exit-code", "--json").returncode == 1


def test_files_alone_are_none_for_an_unanswerable_question(indexed: Shell) -> None:
    done = indexed.run("mem", "search", UNANSWERABLE, "-l")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("No relevant results found")


def test_a_question_near_a_name_is_answered_with_that_name(indexed: Shell) -> None:
    """The name is not in the memory: its nearest one is offered, and no wrong row."""
    indexed.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    told = indexed.ok("mem", "search", "authentikate_uzer")
    assert told.startswith("No relevant results found")
    assert "did you mean authenticate_user" in told
    assert answer(indexed, "authentikate_uzer")["nearest"][0] == "authenticate_user"


def test_a_minimum_of_zero_shows_the_weak_rows(indexed: Shell) -> None:
    weak = answer(indexed, UNANSWERABLE)["weak"]
    told = answer(indexed, UNANSWERABLE, "--min-score", "0")
    assert (told["results"][0]["id"], told["weak"]) == (weak["id"], None)
    assert told["results"][0]["score"] == pytest.approx(weak["score"])


@pytest.mark.parametrize("least", [0.0, 0.05, 0.2, 0.9])
def test_the_minimum_cuts_by_the_score_that_is_shown(indexed: Shell, least: float) -> None:
    everything = answer(indexed, "check password", "--min-score", "0")["results"]
    kept = answer(indexed, "check password", "--min-score", str(least))["results"]
    expected = [result["id"] for result in everything if result["score"] >= least]
    assert [result["id"] for result in kept] == expected


def test_scores_never_rise_down_the_list(indexed: Shell) -> None:
    scores = [
        each["score"] for each in answer(indexed, "user session", "--min-score", "0")["results"]
    ]
    assert len(scores) > 3
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_one_word_that_a_chunk_contains_is_never_irrelevant(server: Shell, mode: str) -> None:
    """However many chunks contain it: `rg` would show them, too."""
    trees = ("ash", "birch", "cedar", "elm", "fir", "oak", "pine", "rowan", "spruce", "yew")
    files = {f"{t}.py": f"def grow_{t}():\n    return '{t} season {t}s'\n" for t in trees}
    write_tree(server.cwd, {**files, "docs/plan.md": "# Plan\n\nThe season for billing.\n"})
    server.ok("mem", "index", ".")
    assert answer(server, "season", "--mode", mode)["results"]
    (found,) = answer(server, "season", "--mode", mode, "--path", "docs/plan.md")["results"]
    assert found["path"] == "docs/plan.md"


def test_every_word_of_the_question_in_a_lesson_is_relevant_under_a_filter(server: Shell) -> None:
    """Rows that the filter excludes were less sure, and stood before it."""
    server.ok("mem", "learn", "check the limits of a quota against a slow count", "--score", "0.9")
    found = answer(server, "quota limits", "--type", "reasoning")["results"]
    assert [each["kind"] for each in found] == ["reasoning"]


# Symbols


@pytest.mark.parametrize(
    ("name", "line", "kind", "shown"),
    [
        ("LIMIT", 3, "constant", "LIMIT = 30"),
        ("ATTEMPTS", 4, "constant", "ATTEMPTS = 5"),
    ],
)
def test_a_constant_is_a_row_with_its_own_line(
    server: Shell, name: str, line: int, kind: str, shown: str
) -> None:
    head, text = server.ok("mem", "search", name, "-n", "1", "--no-git").splitlines()[:2]
    assert head.split("  ")[:3] == [f"server/limits.py:{line}", name, kind]
    assert text == f"  {line}: {shown}"
    (found,) = answer(server, name, "-n", "1")["results"]
    assert (found["symbol"]["name"], found["symbol"]["kind"]) == (name, kind)
    assert found["symbol"]["lines"] == [line, line]


def test_a_constant_in_the_table_has_its_own_line(server: Shell) -> None:
    row = server.ok("mem", "search", "LIMIT", "-n", "1", "--table").splitlines()[2]
    cells = [cell.strip() for cell in row.split(" | ")]
    assert cells[:4] == ["server/limits.py", "constant", "LIMIT", "3-3"]


def test_a_constant_is_got_by_its_name(server: Shell) -> None:
    assert "LIMIT = 30" in server.ok("mem", "get", "server/limits.py:LIMIT")


# One row for one thing


def test_a_copy_is_counted_and_not_shown(server: Shell) -> None:
    heads = server.ok("search", "attachments bucket", "--no-git").splitlines()
    assert heads[0].startswith("docs/")
    assert heads[0].endswith("  +1 more")
    found = answer(server, "attachments bucket")["results"]
    assert [each["more"] for each in found if "upload.md" in each["path"]] == [1]


def test_overloads_stand_behind_their_implementation(server: Shell) -> None:
    (found,) = answer(server, "parse_amount", "-n", "1")["results"]
    assert "An amount of money" in server.ok("mem", "get", found["id"])
    names = [each["qualified_name"] for each in answer(server, "parse_amount")["results"]]
    assert names.count("parse_amount") == 1


# Short forms


def test_the_short_forms_take_every_option(shell: Shell) -> None:
    write_tree(shell.cwd, PIECES)
    assert shell.ok("index", ".").startswith("Indexing complete!")
    words = ("LIMIT", "--type", "code", "-n", "2", "--json")
    short, long = (json.loads(shell.ok(*form, *words)) for form in (("search",), ("mem", "search")))
    assert short["results"] == long["results"] != []
    assert shell.run("search", "xyzabc123", "--exit-code").returncode == 1
    assert "--limit" in shell.fails("search", "LIMIT", "--limit", "0")
