"""Which exchanges tell trouble or explain something, and which are routine."""

from __future__ import annotations

import pytest

from aurora.engine.exchange_text import (
    answer_in,
    asks_the_same,
    explains,
    is_long,
    is_of_linter,
    tells_trouble,
)
from tests.builders import make_exchange

WORDS = "I looked at the change once more and ran all that belongs to it; there is nothing to do. "


@pytest.mark.parametrize(
    ("question", "is_trouble"),
    [
        ("TypeError: x is not a function", True),
        ('PDO::__construct(): "SQLSTATE[HY000] [1040]" during sync', True),
        ("battery shows 100% until it dies", True),
        ("The consumer misses bookings", True),
        ("rename it, and add a test", False),
        ("explain the stopwatch to a colleague", False),
        ("the linter complains: line too long", False),
    ],
)
def test_a_question_about_trouble_is_recognised(question: str, *, is_trouble: bool) -> None:
    assert tells_trouble(make_exchange(question)[0]) is is_trouble


@pytest.mark.parametrize(
    ("answer", "is_explained"),
    [
        (f"{WORDS}The pool was full because each line kept its connection until the end.", True),
        (f"{WORDS}We use one pool instead of three.", True),
        (f"{WORDS}Tell me if you had something else in mind.", False),
        ("It failed because the pool was full until noon.", False),
        ("", False),
    ],
)
def test_an_explanation_has_reasons_or_a_decision(answer: str, *, is_explained: bool) -> None:
    exchange = make_exchange("and the pool?", answer)[0]
    assert explains(exchange) is is_explained
    assert is_long(exchange) is answer.startswith(WORDS)


def test_what_an_agent_says_between_its_steps_is_not_shown() -> None:
    [chunk] = make_exchange("Why?", f"Let me look at it.\n\nNow I run it.\n\n{WORDS}\n\nDone.")
    assert answer_in(chunk, 1000) == f"{WORDS}Done."
    assert answer_in(make_exchange("Why?", "Let me look.\n\nDone.")[0]) == "Let me look. Done."


def test_a_request_is_the_same_in_nearly_the_same_words() -> None:
    chunk = make_exchange("bump the version and write the changelog")[0]
    assert asks_the_same(chunk, "please bump the version, write the changelog")
    assert not asks_the_same(chunk, "which version of the parser has the bug")


def test_linters_are_known_by_their_names() -> None:
    assert all(map(is_of_linter, ("npm run lint", "ruff check .", "cargo clippy", "make format")))
    assert not any(map(is_of_linter, ("make load", "npm run build", "cargo test formatting")))
