"""`aur mem learn` and `aur mem forget`, as a person uses them."""

from __future__ import annotations

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
