"""What a session should know for a prompt: what surely fits it, and is in no file.

It is a search, of which only sure rows count. Code is left out: an agent finds and reads it by
itself. So are prompts and exchanges that say too little, such as "run the tests" and "All pass".
"""

from __future__ import annotations

from collections.abc import Callable

from aurora.engine.exchange_text import (
    asks_the_same,
    explains,
    has_question,
    is_long,
    tells_trouble,
)
from aurora.engine.recall_rows import make_exchange_item, title_of
from aurora.retrieval.query import without_filters
from aurora.text import is_stop_word, tokenize
from aurora.types import LESSON, Chunk, LeftOut, Note, RecallItem, SearchResult, SearchResults

_SURE = 0.5  # confidence of a row for a prompt: more likely right than wrong
# 24 % of the questions about a lesson find it with as much, and 5 % of those about other things
# find any (benchmarks/quality/lessons.py).
_SURE_LESSON = 0.25
_SURE_ROUTINE = 0.7  # of an exchange without trouble, decision and reasons
_TOO_LITTLE = Note("The prompt says too little to look for")
_BEGINNING, _END = 800, 400  # characters of a prompt that are looked for: 1,000 words take 0.3 s
_FEWEST_WORDS = 3  # of a prompt that says what it is about


def recall_prompt(
    prompt: str, search: Callable[[str], SearchResults]
) -> tuple[list[RecallItem], tuple[LeftOut, ...], tuple[Note, ...]]:
    """The rows that surely fit, those that do not, and the notes of the search."""
    text = without_filters(_ends(prompt))
    words = {token for token in tokenize(text) if not is_stop_word(token)}
    if len(words) < _FEWEST_WORDS:
        return [], (), (_TOO_LITTLE,) if text.strip() else ()
    found = search(text)
    items, left_out = [], []
    for result in found.results:
        chunk, confidence = result.chunk, _own_confidence(result)
        if why := _left_out(chunk, confidence, text):
            left_out.append(LeftOut(chunk.id, title_of(chunk), why))
        else:
            reason = f"fits the prompt, {confidence:.2f}"
            items.append(make_exchange_item(chunk, result.memory, reason))
    return items, tuple(left_out), found.notes


def _ends(prompt: str) -> str:
    """A long prompt without its middle: people ask before or after what they paste."""
    if len(prompt) <= _BEGINNING + _END:
        return prompt
    return f"{prompt[:_BEGINNING]}\n{prompt[-_END:]}"


def _own_confidence(result: SearchResult) -> float:
    """The score without what the place of a lesson adds to it."""
    return result.score - sum(part.value for part in result.contributions if part.signal == LESSON)


def _left_out(chunk: Chunk, confidence: float, prompt: str) -> str:
    """Why a row is not given; empty if it is."""
    is_routine = has_question(chunk) and not (explains(chunk) or tells_trouble(chunk))
    least = _SURE_LESSON if chunk.is_recorded else _SURE_ROUTINE if is_routine else _SURE
    if confidence < least:
        return f"not sure enough: {confidence:.2f} of {least:.2f}"
    if not (chunk.is_recorded or chunk.is_talk):
        return "an agent reads files by itself"
    if is_routine and asks_the_same(chunk, prompt):
        return "the same request"
    return "" if _tells(chunk) else "says too little"


def _tells(chunk: Chunk) -> bool:
    """Whether a row of a session says more than that something was done."""
    form = chunk.session.form if chunk.session else ""
    return is_long(chunk) if has_question(chunk) else form != "command"
