"""Two people with a branch each index into one server."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.backends import keep_on_server
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.postgres.binaries import find_account
from tests.sources.repository import git, make_repository

ROUNDS = int(os.environ.get("AURORA_ROUNDS", "6"))  # `make stress` has 20
LOG = "# Conversation: keys\nDate: 2025-12-15\nQuery: how\n\n## Phase 1: Plan\n{}\n"


def person(name: str, origin: Path, url: str) -> Shell:
    """A clone with a branch of its own, private notes and logs, and a home."""
    folder = origin.parent / name
    git(origin.parent, "clone", "--quiet", str(origin), f"{name}/web")
    root = folder / "web"
    git(root, "checkout", "--quiet", "-b", name)
    write_tree(root, {f"{name}.py": f"def brush_{name}():\n    return '{name}'\n"})
    shell = Shell(root, folder / "home" / ".aurora", {"LOGNAME": name})
    logs = shell.home / "logs" / "conversations" / "2025" / "12"
    write_tree(logs, {f"keys-{name}-2025-12-15.md": LOG.format(f"Quokkas of {name} are secret.")})
    keep_on_server(root, shell.home, url)
    shell.ok("mem", "learn", "--private", f"the wombats of {name} are secret")
    return shell


def found(shell: Shell, *words: str) -> dict[str, str]:
    done = json.loads(shell.ok("mem", "search", *words, "--json"))
    return {result["id"]: result["memory"] for result in done["results"]}


@pytest.fixture
def people(tmp_path: Path, postgres_url: str) -> tuple[Shell, Shell]:
    files = {"app.py": "def parse_quokka(text):\n    return text.split()\n"}
    origin = make_repository(tmp_path / "origin", files)
    return person("ada", origin, postgres_url), person("bob", origin, postgres_url)


def test_each_finds_what_both_have_and_the_own_version_first(people: tuple[Shell, Shell]) -> None:
    ada, bob = people
    bob_has = "def parse_quokka(text):\n    return list(text)\n"
    write_tree(bob.cwd, {"app.py": bob_has})
    ada.ok("mem", "index")
    bob.ok("mem", "index")
    ada.ok("mem", "index")  # removes nothing of Bob's
    assert "text.split()" in ada.ok("mem", "get", "app.py:parse_quokka")
    assert "list(text)" in bob.ok("mem", "get", "app.py:parse_quokka")
    for who in people:
        ids = [id_ for id_ in found(who, "parse_quokka") if "parse_quokka" in id_]
        assert len(ids) == 1
    [memory] = [m for id_, m in found(ada, "brush_bob").items() if id_ == "bob.py:brush_bob"]
    assert memory.startswith("bob@")
    assert memory.endswith(" bob")
    (bob.cwd / "bob.py").unlink()
    bob.ok("mem", "index")
    assert "bob.py:brush_bob" not in found(ada, "brush_bob")


def test_a_checkout_is_listed_and_can_be_forgotten(people: tuple[Shell, Shell]) -> None:
    ada, bob = people
    ada.ok("mem", "index")
    bob.ok("mem", "index")
    listed = json.loads(ada.ok("db", "checkouts", "--json"))["checkouts"]
    assert [each["here"] for each in listed] == [True, False]
    name = listed[1]["name"]
    assert name == f"bob@{socket.gethostname()} bob"
    assert f"{name}\n" in ada.ok("db", "checkouts")
    assert "There is no checkout 'carl'" in ada.fails("db", "checkouts", "--forget", "carl")
    done = ada.ok("db", "checkouts", "--forget", name)
    assert done == f"Forgot {name}: 1 chunk that no other checkout has\n"
    assert "bob.py:brush_bob" not in found(ada, "brush_bob")
    bob.ok("mem", "index")
    assert "bob.py:brush_bob" in found(ada, "brush_bob")


def test_a_lesson_is_shared_and_a_private_one_is_not(people: tuple[Shell, Shell]) -> None:
    ada, bob = people
    lesson = ada.ok("mem", "learn", "feed quokkas at noon").strip()
    assert lesson in found(bob, "feed quokkas")
    assert not any("ada" in id_ for id_ in found(bob, "wombats of ada"))


def test_rounds_of_both_at_once_lose_no_file_and_publish_nothing_private(
    people: tuple[Shell, Shell], postgres_url: str, tmp_path: Path
) -> None:
    def work(round_: int, who: Shell) -> None:
        name = who.cwd.parent.name
        text = f"def count_{name}_{round_}():\n    return {round_}\n"
        if round_ % 3:
            text += f"\n\ndef shared_{round_}():\n    return 0\n"
        write_tree(who.cwd, {"app.py": text, f"{name}_{round_}.py": text})
        (who.cwd / f"{name}_{round_ - 2}.py").unlink(missing_ok=True)
        who.ok("mem", "index")

    for round_ in range(ROUNDS):
        with ThreadPoolExecutor(2) as both:
            for done in [both.submit(work, round_, who) for who in people]:
                done.result()
        for who in people:
            name = who.cwd.parent.name
            for kept in (round_, max(round_ - 1, 0)):
                wanted = f"{name}_{kept}.py:count_{name}_{kept}"
                assert wanted in found(who, f"count_{name}_{kept}"), (round_, name)
            assert f"count_{name}_{round_}" in who.ok("mem", "get", "app.py:1")
    dump = find_account().run("pg_dump", "--inserts", postgres_url, folder=tmp_path)
    assert f"count_ada_{ROUNDS - 1}" in dump
    assert "are secret" not in dump
    assert str(tmp_path) not in dump
