"""`aur mem search` with its flags, and what it says when it finds less than it should."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.retrieval.candidates import NO_KEYWORD, NO_PROVIDER
from tests.backends import keep_on_server
from tests.builders import note_as_own
from tests.cli.conftest import Copied, Shell

TYPES = "function, method, class, code, reasoning, knowledge"


def column(table: str, number: int) -> list[str]:
    """One column of a results table, without its head; none where nothing was found."""
    if table.startswith("No relevant results found"):
        return []
    return [row.split(" | ")[number].strip() for row in table.splitlines()[2:]]


@pytest.fixture(scope="module")
def once_filled(once_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Code and notes of the project, a document with labels, and a lesson."""
    folder = tmp_path_factory.mktemp("filled")
    shutil.copytree(once_indexed, folder, dirs_exist_ok=True)
    shell = Shell(folder / "project", folder / "user" / "home")
    note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
    fill(shell)
    return folder


@pytest.fixture(scope="session")
def once_filled_on_server(
    once_indexed_on_server: Copied, tmp_path_factory: pytest.TempPathFactory
) -> Copied:
    """The same on a server."""
    source, folder = once_indexed_on_server, tmp_path_factory.mktemp("filled-on-server")
    shutil.copytree(source.folder, folder, dirs_exist_ok=True)
    shell = Shell(folder / "project", folder / "user" / "home")

    def fill_there(url: str) -> None:
        keep_on_server(shell.cwd, shell.home, url)
        fill(shell)

    source.databases.prepare("filled", fill_there, source=source.template)
    return Copied(folder, source.databases, "filled")


def fill(shell: Shell) -> None:
    shell.ok("mem", "learn", "check the password before the session", "--score", "0.9")
    plan = shell.cwd / "plan.txt"
    plan.write_text("The password plan for billing.", encoding="utf-8")
    shell.ok(
        *("mem", "add", str(plan), "--namespace", "billing", "--document-type", "plan"),
        *("--meta", "owner=ana"),
    )


@pytest.fixture
def searched(
    backend: str, shell: Shell, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shell]:
    if backend == "postgres":
        copied: Copied = request.getfixturevalue("once_filled_on_server")
        with copied.onto(shell, tmp_path):
            yield shell
    else:
        shutil.copytree(request.getfixturevalue("once_filled"), tmp_path, dirs_exist_ok=True)
        note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
        yield shell


def search(shell: Shell, *words: str) -> str:
    return shell.ok("mem", "search", *words)


@pytest.mark.parametrize(
    ("flag", "found"),
    [
        (("--type", "function"), {"function"}),
        (("--type", "Function,CLASS"), {"function", "class"}),
        (("--type", "reasoning", "--type", "knowledge"), {"reas", "know"}),
    ],
    ids=["one", "any-case", "twice"],
)
def test_a_type_is_matched_exactly(searched: Shell, flag: tuple[str, ...], found: set[str]) -> None:
    """FR-7.1 and 7.2: the words are in chunks of every kind."""
    kinds = column(search(searched, "password session user login", *flag, "--min-score", "0"), 1)
    assert set(kinds) == found


def test_a_type_that_is_none_names_the_valid_ones(searched: Shell) -> None:
    """FR-7.3, to the letter."""
    told = searched.fails("mem", "search", "password", "--type", "functon")
    assert told == f"Error: Invalid chunk type 'functon'. Valid types: {TYPES}\n"


def test_no_result_after_a_filter_is_said_and_is_no_failure(searched: Shell) -> None:
    """UT-FILTER-05 through the command line."""
    told = search(searched, "password", "--path", "nowhere/**")
    assert told.startswith("No relevant results found\n\nSuggestions:\n  - ask for more:")


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (("--namespace", "billing"), ["plan.txt"]),
        (("--document-type", "plan"), ["plan.txt"]),
        (("--meta", "owner=ana"), ["plan.txt"]),
        (("--meta", "owner=bob"), []),
        (("--path", "auth_manager.py", "--name", "authenticate*"), ["authenticate_user"]),
        (("--language", "py", "--type", "function"), ["authenticate_user"]),
        (("--since", "2999-01-01"), []),
        (("--until", "1999-01-01", "--type", "function"), []),
        (("--source", "document"), ["plan.txt"]),
        (("--source", "code,lesson", "--type", "function"), ["authenticate_user"]),
        (("--agent", "codex"), []),
        (("--session", "5e55", "--branch", "main"), []),
    ],
    ids=[
        "namespace",
        "document-type",
        "metadata",
        "other",
        "path-name",
        "language",
        "since",
        "until",
        "source",
        "sources",
        "agent",
        "session",
    ],
)
def test_every_filter_narrows_down(
    searched: Shell, flags: tuple[str, ...], names: list[str]
) -> None:
    assert column(search(searched, "password", "--mode", "keyword", *flags), 2) == names


def test_filters_can_stand_in_the_query(searched: Shell) -> None:
    assert column(search(searched, "password type:function", "--mode", "keyword"), 1) == [
        "function"
    ]
    assert "authenticate_user" not in search(searched, "password -user")
    assert column(search(searched, "type:class"), 2) == ["AuthManager"]


@pytest.mark.parametrize("fusion", ["weighted", "staged", "rrf", "cascade"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_every_mode_and_fusion_finds_the_definition(
    searched: Shell, mode: str, fusion: str
) -> None:
    """By flag; without a model meaning falls back to words."""
    table = search(searched, "authenticate_user", "--mode", mode, "--fusion", fusion)
    assert column(table, 2)[0] == "authenticate_user"


def test_fusion_and_mode_can_be_settings(searched: Shell) -> None:
    searched.environ["AURORA_SEARCH_FUSION"] = "staged"
    staged = search(searched, "check password")
    del searched.environ["AURORA_SEARCH_FUSION"]
    assert staged == search(searched, "check password", "--fusion", "staged")
    assert staged != search(searched, "check password")


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        (("--mode", "psychic"), "psychic"),
        (("--fusion", "cold"), "cold"),
        (("--meta", "owner"), "owner"),
        (("--since", "someday"), "someday"),
        (("--until", "someday"), "someday"),
        (("--source", "map"), "map"),
        (("--min-score", "2"), "2"),
        (("--limit", "0"), "0"),
    ],
)
def test_a_wrong_flag_is_named(searched: Shell, flags: tuple[str, ...], value: str) -> None:
    assert value in searched.fails("mem", "search", "password", *flags)


def test_a_typo_is_answered_with_the_nearest_names(searched: Shell) -> None:
    searched.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    told = search(searched, "logotu")
    assert told.startswith("No relevant results found")
    assert "  - did you mean logout?\n" in told


def test_what_is_found_by_meaning_alone_is_told_with_the_nearest_word(searched: Shell) -> None:
    done = searched.run("mem", "search", "logot disconnect client")
    assert "AuthManager.logout" in done.stdout
    assert done.stderr.splitlines() == [NO_KEYWORD, "Did you mean logout?"]


def test_without_embeddings_a_search_warns_when_that_was_chosen(searched: Shell) -> None:
    """Seed 003: `AURORA_EMBEDDING_PROVIDER=none` forces the fallback, and it is said."""
    quiet = searched.run("mem", "search", "password")
    searched.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    told = searched.run("mem", "search", "password")
    assert (quiet.stderr, told.stderr) == ("", f"Warning: {NO_PROVIDER}\n")
    assert "authenticate_user" in told.stdout
    assert searched.run("mem", "search", "password", "--mode", "keyword").stderr == ""


def test_who_asks_for_meaning_alone_hears_that_it_goes_by_words(indexed: Shell) -> None:
    indexed.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    done = indexed.run("mem", "search", "logout", "--mode", "semantic", "--json")
    (note,) = json.loads(done.stdout)["notes"]
    assert done.stderr == f"Warning: {note}\n"
    del indexed.environ["AURORA_EMBEDDING_PROVIDER"]
    assert indexed.run("mem", "search", "logout", "--mode", "semantic").stderr == ""
