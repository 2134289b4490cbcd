"""`aur mem add`, as a person uses it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from aurora import Memory, Places
from tests.backends import in_a_file, without_memory
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.test_bad_input import error_and_hint

LONG = "# Handbook\n\nRead me.\n\n" + "".join(
    f"## Rule {n}\n\n{'always test ' * 60}\n\n" for n in range(9)
)


def pipe(shell: Shell, content: bytes, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `aur mem add` with a text on its standard input."""
    file = write_tree(shell.home.parent, {"typed": content}) / "typed"
    with file.open("rb") as stdin:
        return shell.run("mem", "add", *words, stdin=stdin)


def rows(shell: Shell, query: str) -> list[list[str]]:
    """The results that contain a word of the query."""
    lines = shell.ok("mem", "search", query, "--mode", "keyword").splitlines()[2:]
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


@pytest.fixture
def started(shell: Shell) -> Shell:
    """A project with an empty memory and two documents beside its code."""
    write_tree(shell.cwd, {"docs/spec.md": "# Billing\n\nInvoices have numbers.\n"})
    write_tree(shell.cwd, {"docs/handbook.md": LONG})
    shell.ok("init")
    return shell


def test_a_file_is_added_and_its_id_printed(started: Shell) -> None:
    done = started.run("mem", "add", "docs/spec.md", "--namespace", "billing")
    id_ = done.stdout.removesuffix("\n")

    assert (done.returncode, done.stderr) == (0, "Added: Billing (1 piece)\n")
    assert id_.startswith("doc-spec-")
    assert rows(started, "invoices")[0][:4] == [id_, "know", "Billing (docs/spec.md)", "1-3"]
    assert started.ok("mem", "get", id_) == "# Billing\n\nInvoices have numbers.\n"
    assert "\n  knowledge    1  " in started.ok("mem", "stats")


def test_a_long_document_comes_in_pieces(started: Shell) -> None:
    done = started.run("mem", "add", "docs/handbook.md")
    id_ = done.stdout.strip()
    assert done.stderr == "Added: Handbook (10 pieces)\n"

    assert rows(started, "rule 7")[0][:3] == [
        f"{id_}@9", "know", "Handbook > Rule 7 (docs/handbook.md)",
    ]  # fmt: skip
    got = started.run("mem", "get", f"{id_}@9")
    assert got.stdout.startswith("## Rule 7\n")
    title, origin = got.stderr.splitlines()
    assert title == f"{id_}@9 (knowledge, lines 33-35, piece 9 of 10)"
    assert re.fullmatch(r"  \d{4}-\d\d-\d\d by .+, master", origin)
    assert started.ok("mem", "forget", "--yes", id_) == "Forgot 10 chunks\n"


def test_added_again_it_is_replaced_or_left_alone(started: Shell) -> None:
    seen = []
    for text in ("Old.", "Old.", "# New\n\nNews."):
        write_tree(started.cwd, {"docs/spec.md": text})
        seen.append(started.run("mem", "add", "docs/spec.md"))
    assert [done.stderr for done in seen] == [
        "Added: spec.md (1 piece)\n", "Unchanged: spec.md (1 piece)\n", "Replaced: New (1 piece)\n",
    ]  # fmt: skip
    assert len({done.stdout for done in seen}) == 1


def test_the_index_and_a_document_leave_each_other_alone(started: Shell) -> None:
    id_ = started.ok("mem", "add", "docs/spec.md").strip()
    for _ in range(2):
        started.ok("mem", "index", ".")
        found = json.loads(started.ok("mem", "search", "invoices", "--json"))["results"][0]
        assert found["id"] in (id_, "docs/spec.md:Billing")
        assert found["more"] == 1  # the same text is one row
        for each in (id_, "docs/spec.md:Billing"):
            assert "Invoices have numbers." in started.ok("mem", "get", each)
    (started.cwd / "docs" / "spec.md").unlink()
    started.ok("mem", "index", ".")
    assert [row[0] for row in rows(started, "invoices")] == [id_]
    assert "docs/spec.md:Billing" in started.fails("mem", "get", "docs/spec.md:Billing")


def test_text_from_a_pipe(started: Shell) -> None:
    content = "Decision: use SQLite 走る\n".encode()
    done = pipe(started, content, "-", "--source", "meeting", "--document-type", "decision")
    assert re.fullmatch("doc-decision-use-sqlite-走る-[0-9a-f]{12}\n", done.stdout)
    assert rows(started, "sqlite")[0][2:4] == ["Decision: use SQLite 走る (meeting)", "-"]
    assert pipe(started, content, "-", "--source", "meeting").stdout != done.stdout


@in_a_file
def test_a_document_in_a_folder_without_a_memory(shell: Shell) -> None:
    """As with `learn`: inside a repository it goes to the project, which is made."""
    id_ = shell.ok("mem", "add", "notes.md").strip()
    assert "How authentication works here." in shell.ok("mem", "get", id_)
    assert (shell.cwd / ".aurora" / "memory.db").exists()
    assert not (shell.home / "memory.db").exists()


@in_a_file
def test_a_private_document_stays_with_the_person(shell: Shell) -> None:
    id_ = shell.ok("mem", "add", "notes.md", "--private").strip()
    assert "How authentication works here." in shell.ok("mem", "get", id_)
    assert (shell.home / "memory.db").exists()
    assert not (shell.cwd / ".aurora").exists()


def test_metadata_is_kept_and_the_last_value_of_a_key_counts(started: Shell) -> None:
    """As with `aur -c`."""
    id_ = started.ok(
        "mem", "add", "docs/spec.md", "--meta", "a=1", "--meta", "b=x=y", "--meta", "a=",
    ).strip()  # fmt: skip
    with Memory(Places(started.home, started.cwd)) as memory:
        metadata = memory.get(id_).metadata
        assert {key: metadata[key] for key in metadata if key != "provenance"} == {
            "source": "document", "origin": "docs/spec.md", "title": "Billing",
            "part": 1, "parts": 1, "a": "", "b": "x=y",
        }  # fmt: skip


def test_several_files_with_a_bad_one(started: Shell) -> None:
    done = started.run("mem", "add", "docs/spec.md", "nowhere.md", "docs", "docs/handbook.md")
    assert done.returncode == 1
    assert [line[:8] for line in done.stdout.splitlines()] == ["doc-spec", "doc-hand"]
    assert done.stderr == (
        "Added: Billing (1 piece)\n"
        "Warning: There is no file nowhere.md (name an existing file, or - for standard input)\n"
        "Warning: docs is a folder (`aur mem index docs` reads all the files in it)\n"
        "Added: Handbook (10 pieces)\n"
    )
    assert "Chunks         11\n" in started.ok("mem", "stats")


@without_memory
def test_several_files_of_which_none_can_be_added(shell: Shell) -> None:
    stderr = shell.fails("mem", "add", "nowhere.md", "nothing.md")
    assert stderr.count("Warning: There is no file") == 2
    error, _ = error_and_hint(stderr[stderr.index("Error: ") :])
    assert error == "Error: None of the 2 documents could be added"
    assert not (shell.home / "memory.db").exists()


def test_standard_input_among_files_and_only_once(started: Shell) -> None:
    done = pipe(started, b"from a pipe", "docs/spec.md", "-")
    assert [line[:8] for line in done.stdout.splitlines()] == ["doc-spec", "doc-from"]
    assert "only once" in started.fails("mem", "add", "-", "docs/spec.md", "-")


@without_memory
@pytest.mark.parametrize(
    ("words", "message", "step"),
    [
        (("nowhere.md",), "There is no file nowhere.md", "existing file"),
        (("docs",), "docs is a folder", "aur mem index docs"),
        ((".env",), ".env looks like a secret", "aur mem add - < .env"),
        (("blank.md",), "blank.md is empty", "something to find"),
        (("picture.png",), "picture.png is binary", "only text"),
        (("latin.txt",), "latin.txt is not UTF-8", "iconv"),
        (("-",), "The text is empty", "something to find"),
        (("settings.py", "--meta", "status"), "--meta 'status' has no value", "KEY=VALUE"),
        (("settings.py", "--meta", "=x"), "A metadata key cannot be empty", "leave it out"),
        (("settings.py", "--meta", "part=1"), "cannot be called 'part'", "origin, part, parts"),
        (("settings.py", "--namespace", "a\nb"), "cannot be a namespace", "one line"),
        (("settings.py", "--document-type", "\x1b"), "cannot be a document type", "one line"),
        (("settings.py", "--source", "\udcff"), "cannot be a source", "one line"),
        (("nowhere.md", "settings.py", "--namespace", "\x07"), "cannot be a namespace", "one line"),
    ],
)  # fmt: skip
def test_what_cannot_be_added(
    started: Shell, words: tuple[str, ...], message: str, step: str
) -> None:
    write_tree(started.cwd, {".env": "TOKEN=1", "blank.md": "\n \n"})
    write_tree(started.cwd, {"picture.png": b"\x89PNG\0", "latin.txt": b"caf\xe9"})
    error, hint = error_and_hint(started.fails("mem", "add", *words))
    assert message in error
    assert step in hint
    assert not (started.cwd / ".aurora" / "memory.db").exists()


def test_the_way_round_for_what_looks_like_a_secret(started: Shell) -> None:
    assert pipe(started, b"TOKEN=1\n", "-").returncode == 0


@without_memory
@pytest.mark.parametrize(
    ("content", "message"), [(b"\x89PNG\0", "is binary"), (b"caf\xe9", "is not UTF-8")]
)
def test_a_pipe_of_something_else(started: Shell, content: bytes, message: str) -> None:
    done = pipe(started, content, "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert error_and_hint(done.stderr)[0] == f"Error: Standard input {message}"


@without_memory
def test_a_file_name_that_is_not_utf_8(started: Shell) -> None:
    path = os.fsencode(started.cwd) + b"/caf\xe9.md"
    Path(os.fsdecode(path)).write_text("coffee", encoding="utf-8")
    error, _ = error_and_hint(started.fails("mem", "add", "caf\udce9.md"))
    assert error == "Error: caf�.md is not UTF-8"


@without_memory
def test_a_closed_standard_input(started: Shell) -> None:
    environment = os.environ | {"AURORA_HOME": str(started.home)}
    done = subprocess.run(
        ["sh", "-c", f"{AUR} mem add - <&-"], cwd=started.cwd, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert error_and_hint(done.stderr)[0] == "Error: Standard input is closed"


def test_a_reader_that_goes_away_stops_no_document(started: Shell) -> None:
    environment = os.environ | {"AURORA_HOME": str(started.home)}
    command = f"{AUR} mem add docs/spec.md docs/handbook.md | true"
    subprocess.run(["sh", "-c", command], cwd=started.cwd, env=environment, check=True)
    assert "Chunks         11\n" in started.ok("mem", "stats")


@without_memory
def test_no_file_at_all_is_a_usage_error(shell: Shell) -> None:
    assert "Usage: aur mem add" in shell.fails("mem", "add")
