"""`aur config`, and settings that reach a search."""

from __future__ import annotations

import json

import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell

pytestmark = pytest.mark.one_store("about settings")


def score(shell: Shell, *options: str) -> float:
    """The score of BM25 for the first result: a confidence does not depend on it."""
    search = ("mem", "search", "authenticate_user", "-n", "1", "--json")
    (result,) = json.loads(shell.ok(*options, *search))["results"]
    (raw,) = (part["raw"] for part in result["contributions"] if part["signal"] == "bm25")
    return float(raw)


def test_flag_over_environment_over_project_over_user_over_default(indexed: Shell) -> None:
    """Each layer in turn gives another score."""
    seen = [score(indexed)]
    indexed.ok("config", "set", "search.bm25.k1", "0.2")
    seen.append(score(indexed))
    indexed.ok("config", "set", "--project", "search.bm25.k1", "0.4")
    seen.append(score(indexed))
    indexed.environ["AURORA_SEARCH_BM25_K1"] = "0.6"
    seen.append(score(indexed))
    seen.append(score(indexed, "-c", "search.bm25.k1=0.8"))
    assert len(set(seen)) == 5
    assert indexed.ok("-c", "search.bm25.k1=0.8", "config", "get", "search.bm25.k1") == "0.8\n"
    assert indexed.ok("config", "get", "search.bm25.k1") == "0.6\n"
    del indexed.environ["AURORA_SEARCH_BM25_K1"]
    assert indexed.ok("config", "get", "search.bm25.k1") == "0.4\n"


def test_set_keeps_the_users_comments(shell: Shell) -> None:
    config = "# mine\nsearch:\n    bm25:   # numbers\n        k1: 1.9  # tuned\n        b: 0.5\n"
    write_tree(shell.home, {"config.yml": config})
    shell.ok("config", "set", "search.bm25.k1", "1.2")
    assert (shell.home / "config.yml").read_text() == config.replace("1.9", "1.2")


def test_get_lists_every_setting_with_its_origin(shell: Shell) -> None:
    shell.environ["AURORA_SEARCH_BM25_B"] = "0.5"
    lines = shell.ok("config", "get").splitlines()
    assert "search.bm25.k1 = 1.5  (default)" in lines
    assert "search.bm25.b = 0.5  (the environment (AURORA_SEARCH_BM25_B))" in lines


def test_path_names_the_files(indexed: Shell) -> None:
    indexed.ok("config", "set", "search.bm25.b", "0.5")
    lines = indexed.ok("config", "path").splitlines()
    assert [line.endswith("(not there)") for line in lines] == [True, False]


def test_a_cloned_projects_file_is_not_trusted_until_approved(indexed: Shell) -> None:
    """A file in the clone leads the database out of the project: ignored, said, then approved."""
    outside = indexed.cwd.parent / "elsewhere" / "m.db"
    write_tree(indexed.cwd, {".aurora/config.yml": f"store:\n  path: {outside}\n"})

    done = indexed.run("mem", "stats")
    assert done.returncode == 0
    assert "Warning: Ignored store.path in " in done.stderr
    assert "aur config approve" in done.stderr
    assert ".aurora/memory.db" in done.stdout

    assert indexed.approve()[0] == 0
    indexed.ok("mem", "index")
    assert outside.exists()
    assert "elsewhere/m.db" in indexed.ok("mem", "stats")

    write_tree(indexed.cwd, {".aurora/config.yml": f"store:\n  path: {outside}2\n"})
    assert "Ignored store.path" in indexed.run("mem", "stats").stderr


def test_approving_nothing_is_an_error(shell: Shell) -> None:
    assert "no settings file to approve" in shell.fails("config", "approve")


THEIRS = """
store: {path: /elsewhere/m.db, url: "postgresql://ada:geheim@db/memory"}
search: {mode: keyword}
indexing: {workers: 64}
embedding: {model: "a\\e[2Kb"}
"""


def test_whoever_approves_is_shown_what_takes_effect_and_asked(shell: Shell) -> None:
    write_tree(shell.cwd, {".aurora/config.yml": THEIRS})
    status, written = shell.approve("n")
    assert status == 1
    for line in (
        "  store.path = /elsewhere/m.db",
        "  store.url = postgresql://ada:***@db/memory",
        "  indexing.workers = 64",
        "  embedding.model = a\ufffd[2Kb",
    ):
        assert f"{line}\r\n" in written
    assert "search.mode" not in written  # a project may choose that
    assert "Nothing was approved" in written
    assert not (shell.home / "approved.json").exists()

    assert shell.approve("y")[0] == 0
    assert "64" in shell.ok("config", "get", "indexing.workers")
    assert "is approved already" in shell.run("config", "approve").stderr


def test_without_a_terminal_nothing_is_approved(shell: Shell) -> None:
    """Such as an agent that was told to by a file of the project."""
    write_tree(shell.cwd, {".aurora/config.yml": THEIRS})
    for script in ("aur config approve", "yes | aur config approve", "aur config approve --yes"):
        done = shell.bash(script)
        assert done.returncode == 2
        assert "hint" in done.stderr or "No such option" in done.stderr
    assert not (shell.home / "approved.json").exists()


def test_a_file_that_chooses_nothing_needs_no_approval(shell: Shell) -> None:
    write_tree(
        shell.cwd, {".aurora/config.yml": "search: {mode: keyword}\nindexing: {workers: 4}\n"}
    )
    done = shell.run("config", "approve")
    assert done.returncode == 0
    assert "needs your approval" in done.stderr


@pytest.mark.parametrize("text", ["store: [", "embedding: {model: [1]}"])
def test_what_cannot_be_read_cannot_be_approved(shell: Shell, text: str) -> None:
    write_tree(shell.cwd, {".aurora/config.yml": text})
    assert "Invalid config in" in shell.fails("config", "approve")


def test_unknown_and_impossible_settings(shell: Shell) -> None:
    assert "There is no setting 'serach.k1'" in shell.fails("config", "set", "serach.k1", "1")
    assert "There is no setting 'x'" in shell.fails("config", "get", "x")
    refusal = shell.fails("config", "set", "search.bm25.b", "2")
    assert "Invalid value for search.bm25.b: Must be in [0.0, 1.0] (got 2)" in refusal
    assert "There is no project here" in shell.fails(
        "config", "set", "--project", "search.bm25.b", "1"
    )
    assert not (shell.home / "config.yml").exists()
