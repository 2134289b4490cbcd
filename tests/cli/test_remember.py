"""`aur mem learn` and `aur mem forget`, as a person uses them."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_learn_prints_the_id_and_search_finds_it(indexed: Shell) -> None:
    id_ = indexed.ok("mem", "learn", "retry", "with backoff", "--type", "recovery").strip()
    assert id_.startswith("reasoning-retry-with-backoff-")
    row = indexed.ok("mem", "search", "backoff").splitlines()[2].split(" | ")
    assert [cell.strip() for cell in row][:4] == [id_, "reas", "retry with backoff", "-"]
    assert indexed.ok("mem", "get", id_) == "retry with backoff\n"


def test_learning_starts_a_memory(shell: Shell) -> None:
    shell.ok("init")
    shell.ok("mem", "learn", "write it down")
    assert "write it down" in shell.ok("mem", "search", "write")


def test_forget_asks_and_in_a_pipe_wants_yes(indexed: Shell) -> None:
    refusal = indexed.fails("mem", "forget", "auth_manager.py")
    assert "auth_manager.py:authenticate_user" in refusal
    assert "hint: confirm with --yes" in refusal
    assert "AuthManager" in indexed.ok("mem", "search", "AuthManager")


def test_forget_by_file_and_by_id(indexed: Shell) -> None:
    gone = indexed.ok("mem", "forget", "--yes", "auth_manager.py", "settings.py:module")
    assert gone == "Forgot 5 chunks\n"
    assert "auth_manager" not in indexed.ok("mem", "search", "AuthManager")


def test_forget_everything_below_the_working_directory(indexed: Shell) -> None:
    indexed.ok("mem", "learn", "patience helps")
    assert indexed.ok("mem", "forget", "--yes", ".") == "Forgot 7 chunks\n"
    assert "patience" in indexed.ok("mem", "search", "patience")
    indexed.ok("mem", "index")
    assert "AuthManager" in indexed.ok("mem", "search", "AuthManager")


def test_forgetting_what_is_not_there(indexed: Shell) -> None:
    assert "Nothing is remembered of nobody" in indexed.fails("mem", "forget", "-y", "nobody")


def test_an_impossible_score_is_a_usage_error(indexed: Shell) -> None:
    assert "--score" in indexed.fails("mem", "learn", "x", "--score", "2")


def test_a_lesson_that_may_contradict_is_named_and_can_be_replaced(indexed: Shell) -> None:
    old = indexed.ok("mem", "learn", "retry uploads three times before giving up").strip()
    words = "never retry uploads: a second attempt creates duplicates"
    done = indexed.run("mem", "learn", words)
    new = done.stdout.strip()
    told = f"may contradict: {old} retry uploads three times before giving up; to replace it: "
    assert done.stderr == f"{told}aur mem learn … --replaces {old}\n"
    done = indexed.run("mem", "learn", words, "--replaces", old, "--agent", "claude")
    assert (done.stdout.strip(), done.stderr) == (new, f"replaces: {old}\n")
    assert old not in indexed.ok("mem", "search", "retry uploads")
    got = indexed.run("mem", "get", old)
    assert got.stdout == "retry uploads three times before giving up\n"
    assert f"  replaced by {new}\n" in got.stderr
    assert f"no '{old[:-1]}' to replace" in indexed.fails(
        "mem", "learn", "x", "--replaces", old[:-1]
    )


def test_the_history_of_a_document(indexed: Shell) -> None:
    first, second = _two_versions(indexed)
    lines = indexed.ok("mem", "history", first).splitlines()
    assert lines[:2] == [f"{second}  Plan", "  current"]
    assert lines[2].endswith(", about settings.py")
    assert lines[3:6] == ["    # Plan", "    ", "    The new one."]
    assert lines[7:9] == [f"{first}  Plan", f"  replaced by {second}"]
    versions = json.loads(indexed.ok("mem", "history", second, "--json"))["versions"]
    assert [(version["id"], version["state"]) for version in versions] == [
        (second, "current"), (first, "replaced"),
    ]  # fmt: skip
    assert versions[0]["provenance"]["files"] == ["settings.py"]
    assert "no document or lesson" in indexed.fails("mem", "history", "nothing")


def _two_versions(shell: Shell) -> tuple[str, str]:
    ids = []
    for word in ("old", "new"):
        (shell.cwd / f"{word}.md").write_text(f"# Plan\n\nThe {word} one.\n")
        replaces = ("--replaces", ids[0]) if ids else ()
        ids.append(
            shell.ok("mem", "add", f"{word}.md", "--about", "settings.py", *replaces).strip()
        )
    return ids[0], ids[1]
