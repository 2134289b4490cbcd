"""Answers of a language model on disk: the same question is asked once.

Names are digests of the questions, so that nobody reads those here. Whatever is wrong with a file
or the folder, the worst that comes of it is that the model is asked again.

A language model that remembers what it answered.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from aurora.errors import LlmError
from aurora.files import make_folder, open_file, replacing
from aurora.llm.chat import Chat

logger = logging.getLogger(__name__)


MOST = 1_000  # answers
_LONGEST = 65_536  # bytes
_OURS = re.compile(r"[0-9a-f]{64}((\.[0-9]+){1,2}\.tmp)?")  # the folder may be a link to anywhere


class AnswerCache:
    """A folder with a small file for each answer, which only its owner may read."""

    def __init__(self, folder: Path, *, most: int = MOST) -> None:
        self._folder, self._most = folder, most

    def get(self, question: Sequence[object]) -> str | None:
        try:
            with open_file(self._file(question)) as file:
                return file.read(_LONGEST).decode("utf-8")
        except (OSError, ValueError):  # not there, not ours, not text
            return None

    def put(self, question: Sequence[object], answer: str) -> None:
        file = self._file(question)
        try:
            make_folder(self._folder)
            with replacing(file) as out:
                out.write(answer.encode("utf-8", "replace"))
            self._let_go()
        except OSError as exc:
            logger.info("an answer could not be kept in %s: %s", self._folder, exc.strerror)

    def clear(self) -> None:
        """Forget all answers: they may speak of texts that are gone."""
        for answer in self._folder.glob("*"):
            if _OURS.fullmatch(answer.name):
                with suppress(OSError):
                    answer.unlink()

    def _file(self, question: Sequence[object]) -> Path:
        asked = json.dumps(question).encode()
        return self._folder / hashlib.sha256(asked).hexdigest()

    def _let_go(self) -> None:
        """Of the oldest, so many that there are not too many."""
        ours = [entry for entry in os.scandir(self._folder) if _OURS.fullmatch(entry.name)]
        if len(ours) > self._most:
            ours.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
            for entry in ours[: -self._most]:
                with suppress(FileNotFoundError):  # another process was faster
                    Path(entry.path).unlink()


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
