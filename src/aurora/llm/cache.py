"""A language model that keeps its answers on disk, so that the same prompt is sent once.

File names are digests of the prompts, which stay private. Any problem with a file or the folder
only means that the model is asked again.
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

T = TypeVar("T")

MOST = 1_000  # answers
RECIPE = 1  # of the prompts; raise it when cached answers no longer fit them
_LONGEST = 65_536  # bytes
_OURS = re.compile(r"[0-9a-f]{64}((\.[0-9]+){1,2}\.tmp)?")  # the folder may be a link to anywhere


class AnswerCache:
    """A folder with a small file per answer, which only its owner may read."""

    def __init__(self, folder: Path, *, most: int = MOST) -> None:
        """`most`: kept on disk; with 0, nothing is written."""
        self._folder, self._most = folder, most

    def get(self, key: Sequence[object]) -> str | None:
        try:
            with open_file(self._file(key)) as file:
                return file.read(_LONGEST).decode("utf-8")
        except (OSError, ValueError):  # no file, another owner's file, or no text
            return None

    def put(self, key: Sequence[object], answer: str) -> None:
        if not self._most:
            return
        try:
            make_folder(self._folder)
            with replacing(self._file(key)) as out:
                out.write(answer.encode("utf-8", "replace"))
            self._remove_oldest()
        except OSError as exc:
            logger.info("an answer could not be kept in %s: %s", self._folder, exc.strerror)

    def clear(self) -> None:
        """Delete all answers: they may quote texts that are gone."""
        for answer in self._folder.glob("*"):
            if _OURS.fullmatch(answer.name):
                with suppress(OSError):
                    answer.unlink()

    def _file(self, key: Sequence[object]) -> Path:
        return self._folder / hashlib.sha256(json.dumps(key).encode()).hexdigest()

    def _remove_oldest(self) -> None:
        ours = [entry for entry in os.scandir(self._folder) if _OURS.fullmatch(entry.name)]
        if len(ours) > self._most:
            ours.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
            for entry in ours[: -self._most]:
                with suppress(FileNotFoundError):  # another process was faster
                    Path(entry.path).unlink()


class LanguageModel:
    """Asks the model of a chat, unless the cache has its answer."""

    def __init__(self, chat: Chat, cache: AnswerCache) -> None:
        self._chat, self._cache = chat, cache

    def answer(self, prompt: str, read: Callable[[str], T], *, most_tokens: int) -> T:
        """The result of `read` for the answer; only answers that it accepts are cached.

        Raises `LlmError` where there is no answer, or `read` raises it.
        """
        key = (RECIPE, self._chat.model, self._chat.address.url, prompt)
        cached = self._cache.get(key)
        if cached is not None:
            with suppress(LlmError):  # a damaged file
                return read(cached)
        answer = self._chat.ask(prompt, most_tokens=most_tokens)
        result = read(answer)
        self._cache.put(key, answer)
        return result


def mark_of(*texts: str) -> str:
    """A word that delimits texts in a prompt and that none of them contains.

    It is a digest of all of them, so no text can end itself and continue as instructions. The same
    texts give the same mark.
    """
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return f"data-{digest.hexdigest()[:16]}"
