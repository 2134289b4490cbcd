"""A language model that remembers what it answered."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from aurora.errors import LlmError
from aurora.llm.cache import AnswerCache
from aurora.llm.chat import Chat

T = TypeVar("T")

RECIPE = 1  # of the questions; raise it when kept answers are no longer answers to them


class LanguageModel:
    """Asks the model of a chat, unless the cache knows what it would say."""

    def __init__(self, chat: Chat, cache: AnswerCache) -> None:
        self._chat, self._cache = chat, cache

    def answer(self, prompt: str, read: Callable[[str], T], *, most_tokens: int) -> T:
        """What `read` makes of the answer. Only what it can read is kept; else `LlmError`."""
        question = (RECIPE, self._chat.model, self._chat.address.url, prompt)
        kept = self._cache.get(question)
        if kept is not None:
            with suppress(LlmError):  # damaged
                return read(kept)
        said = self._chat.ask(prompt, most_tokens=most_tokens)
        found = read(said)
        self._cache.put(question, said)
        return found


def mark_of(*texts: str) -> str:
    """A word to set texts off with that none of them can have in it: it is made of all of them.

    So no text can end itself and go on as a word of ours. The same texts give the same mark.
    """
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return f"data-{digest.hexdigest()[:16]}"
