"""`aur recall`: what an agent is told, with tokens and reasons, and what was left out."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_each_line_has_its_tokens_and_its_reason(indexed: Shell) -> None:
    lesson = indexed.ok("mem", "learn", "Hash a password with salt", "--context", "auth_manager.py")
    told = indexed.ok("recall").splitlines()
    assert told[0].split(maxsplit=1)[1].startswith("- lesson: Hash a password with salt auth_")
    assert lesson.strip() in told[0]
    tokens = int(told[0].split()[0])
    assert told[1:] == [f"{tokens:>5}  of 400 tokens"]
    assert json.loads(indexed.ok("recall", "--json"))["tokens"] == tokens


def test_what_has_no_room_is_told(indexed: Shell) -> None:
    indexed.ok("mem", "learn", "Hash a password with salt")
    told = indexed.ok("recall", "--budget", "5")
    assert told.startswith(
        "Nothing is recalled\n\nLeft out:\n  Hash a password with salt: no room: "
    )


def test_a_prompt_that_nothing_fits_has_no_lines(indexed: Shell) -> None:
    told = json.loads(indexed.ok("recall", "--json", "bake", "bread", "in", "an", "oven"))
    assert (told["moment"], told["prompt"]) == ("prompt", "bake bread in an oven")
    assert (told["items"], told["text"], told["tokens"]) == ([], "", 0)


def test_a_prompt_that_says_too_little_is_told_so(indexed: Shell) -> None:
    told = indexed.ok("recall", "run the tests")
    assert told == "Nothing is recalled\nThe prompt says too little to look for\n"


def test_a_budget_is_at_least_one_token(indexed: Shell) -> None:
    assert "--budget" in indexed.fails("recall", "--budget", "0")


def test_without_a_memory_it_says_how_to_make_one(shell: Shell) -> None:
    assert "There is no memory yet" in shell.fails("recall")


def test_what_is_told_before_an_edit_and_a_command_and_after_a_failure(indexed: Shell) -> None:
    lesson = indexed.ok(
        "mem", "learn", "make hash fails with ValueError: invalid salt: see auth_manager.py"
    ).strip()
    error = "ValueError: invalid salt"
    for words, moment in (
        (("--file", "auth_manager.py"), "edit"),
        (("--command", "make hash"), "command"),
        (("--error", error, "--command", "make all"), "failure"),
    ):
        told = json.loads(indexed.ok("recall", "--json", *words))
        assert [item["id"] for item in told["items"]] == [lesson]
        assert (told["moment"], told["prompt"]) == (moment, None)
    assert indexed.ok("recall", "--command", "make all") == "Nothing is recalled\n"
    assert (told["error"], told["command"], told["file"]) == (error, "make all", None)


def test_one_situation_is_shown_at_a_time(indexed: Shell) -> None:
    assert "not several" in indexed.fails("recall", "--file", "a.py", "--command", "make")
    assert "not several" in indexed.fails("recall", "--error", "a", "why", "so")
