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


def test_a_budget_is_at_least_one_token(indexed: Shell) -> None:
    assert "--budget" in indexed.fails("recall", "--budget", "0")


def test_without_a_memory_it_says_how_to_make_one(shell: Shell) -> None:
    assert "There is no memory yet" in shell.fails("recall")
