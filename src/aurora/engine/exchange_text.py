"""The question and the answer of an exchange, as they are shown, and whether it explains something.

Most exchanges of a session are routine. What is worth telling again is trouble and its cause, a
decision, and why something is as it is. These have words of their own, which are English: of an
exchange in another language only its length is known.
"""

from __future__ import annotations

import re

from aurora.engine.error_match import tells_error
from aurora.indexing.session_chunks import tells_decision
from aurora.lazy_patterns import lazy_pattern
from aurora.text import is_stop_word, tokenize
from aurora.types import Chunk

_ANSWERED, _EDITED = "\n\nAnswered: ", "\n\nEdited: "
_QUESTION, _WORDS = 80, 150  # characters of the question, and of the answer
_STEP = 12  # words that an agent says before it uses a tool, at most
_LEAST_TOLD = 20  # words of an answer that explains something
_SAME = 0.6  # the share of words that the same request in other words has
_REASONS = 2  # words of reasons in it: one is often by chance

_TROUBLE = lazy_pattern(
    r"\b(?:bugs?|broken?|crash\w*|dead|deadlock\w*|die[sd]?|does ?n[o']t work|duplicate\w*|flaky"
    r"|hangs?|hung|leak\w*|lost|miss(?:es|ed)|not working|regression|slow\w*|stops?|stopped|stuck"
    r"|too (?:long|slow|many|much)|twice|wrong\w*)\b",
    re.IGNORECASE,
)
_REASON = lazy_pattern(
    r"\b(?:because|since|therefore|thus|hence|otherwise|causes?|caused|reasons?|due to|so that"
    r"|unless|until|although|though|only|without|cannot|no longer|not any more|measured|tried"
    r"|considered|rejected|said|wanted)\b|→",
    re.IGNORECASE,
)
# Programs that say by themselves what is wrong, and in which line.
_LINTER = lazy_pattern(
    r"\b(?:lint(?:er|s)?|format(?:ter)?|fmt|ruff|eslint|prettier|black|isort|flake8|clippy"
    r"|stylelint|rubocop|gofmt|ktlint|mypy|tsc)\b"
)


def has_question(chunk: Chunk) -> bool:
    """Whether it has the question of an exchange: the first piece, if there are several."""
    session = chunk.session
    is_exchange = session is not None and session.form == "exchange"
    return is_exchange and chunk.content.startswith("Asked: ")


def exchange_text(chunk: Chunk) -> str:
    """The beginnings of the question and of the answer, on one line."""
    asked, answered = question_in(chunk), answer_in(chunk)
    if answered and chunk.session and chunk.session.title == asked:
        return f"answered: {answered}"  # the title is the question
    return f"asked: {asked}; answered: {answered}" if answered else f"asked: {asked}"


def question_in(chunk: Chunk) -> str:
    """The beginning of the question."""
    return _start(_question(chunk), _QUESTION)


def answer_in(chunk: Chunk, most: int = _WORDS) -> str:
    """The beginning of the answer; empty if there was none."""
    return _start(_answer(chunk), most)


def asks_the_same(chunk: Chunk, prompt: str) -> bool:
    """Whether a question has most of the words of a prompt, and few others."""
    asked, wanted = (
        {token for token in tokenize(text) if not is_stop_word(token)}
        for text in (_question(chunk), prompt)
    )
    return len(asked & wanted) >= _SAME * len(asked | wanted)


def is_of_linter(text: str) -> bool:
    """Whether a command, or a question, is about a linter or a formatter."""
    return _LINTER.search(text) is not None


def tells_trouble(chunk: Chunk) -> bool:
    """Whether somebody asked about an error, or said that something is wrong."""
    question = _question(chunk)
    is_trouble = tells_error(question) or _TROUBLE.search(question) is not None
    return is_trouble and not is_of_linter(question)


def is_long(chunk: Chunk) -> bool:
    """Whether the answer is more than `Done.`"""
    return len(_answer(chunk).split()) >= _LEAST_TOLD


def explains(chunk: Chunk) -> bool:
    """Whether the answer gives reasons, or tells a decision."""
    answer = _answer(chunk)
    return is_long(chunk) and (
        len(_REASON.findall(answer)) >= _REASONS or tells_decision(f"{_question(chunk)}\n{answer}")
    )


def _question(chunk: Chunk) -> str:
    asked = chunk.content.partition(_ANSWERED)[0].partition(_EDITED)[0]
    return asked.removeprefix("Asked: ")


def _answer(chunk: Chunk) -> str:
    """Without the short paragraphs before it, which an agent says between its steps."""
    paragraphs = chunk.content.partition(_ANSWERED)[2].partition(_EDITED)[0].split("\n\n")
    tells = (at for at, part in enumerate(paragraphs) if len(part.split()) > _STEP)
    return "\n\n".join(paragraphs[next(tells, 0) :])


def _start(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[:most].rpartition(" ")[0] + " …"
