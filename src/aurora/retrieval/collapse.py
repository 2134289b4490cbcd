"""One row for one thing: pieces of a definition, overloads, translations, copies, and
exchanges about the same matter in several sessions collapse."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Set

from aurora.retrieval.dialogue import Said, is_same_matter, read_exchange
from aurora.session_facts import SESSION
from aurora.types import Chunk

_ALIKE = 0.9  # share of words that near-identical texts have in common
_FEWEST = 8  # words of a text that can be compared
_LOCALE = re.compile(
    r"(?<=[/._-])(?:ar|az|be|bg|bn|ca|cs|da|de|el|en|es|et|fa|fi|fr|he|hi|hu|id|it|ja|ko|lt|lv|nb|nl"
    r"|no|pl|pt|ro|ru|sk|sl|sr|sv|th|tr|uk|ur|uz|vi|yo|zh)"
    r"(?:[-_](?:[A-Za-z]{2}|[Hh]an[st]|[Ll]atn|[Cc]yrl))?[/.]"
)
_UNNAMED = frozenset(("anonymous", "init", "module"))
# Scripts of languages that are not written in Latin letters.
_SCRIPTS = {
    "ja": "[\u3040-\u30ff]", "ko": "[\uac00-\ud7a3]", "zh": "[\u4e00-\u9fff]",
    "ru uk bg sr be": "[\u0400-\u04ff]", "ar fa ur": "[\u0600-\u06ff]", "he": "[\u0590-\u05ff]",
    "el": "[\u0370-\u03ff]", "hi": "[\u0900-\u097f]", "bn": "[\u0980-\u09ff]",
    "th": "[\u0e00-\u0e7f]",
}  # fmt: skip
# Small words of other languages in Latin letters that are not English or code.
_LATIN = frozenset(
    """auf aus comment como das dans del der des eine einen est fonctionne ich ist los mit nicht
    oder para pas pour por quando que sie sont sur und una uma une wie wird zu""".split()  # noqa: SIM905
)


class Collapse:
    """Recognises rows that show what an earlier row has shown."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, int] = {}
        self._pages: dict[str, tuple[str, int]] = {}  # page → language and place of its first row
        self._words: list[tuple[int, Set[str]]] = []
        self._talk: list[tuple[int, Said, bool]] = []  # row, words, whether the row shows them

    def owner(self, chunk: Chunk, place: int, *, memory: str = "") -> int:
        """The place of the earlier row of the same thing, or its own place. Files of two memories
        are never the same."""
        written = chunk.content.split()
        keys, words = [*_keys(chunk, memory), " ".join(written)], frozenset(written)
        page, locale = f"{memory}\0{_LOCALE.sub('', chunk.path)}", find_locale(chunk.path)
        language, owner = self._pages.get(page, (locale, place))
        if language != locale and chunk.kind.is_prose:
            return owner
        for key in keys:
            if key in self._owners:
                return self._owners[key]
        for other, known in self._words:
            if _are_alike(words, known):
                return other
        said = read_exchange(chunk)
        if said is not None and (owner := self._matter(said, place)) != place:
            return owner
        if chunk.path and chunk.kind.is_prose:
            self._pages.setdefault(page, (locale, place))
        self._owners.update(dict.fromkeys(keys, place))
        self._words.append((place, words))
        return place

    def _matter(self, said: Said, place: int) -> int:
        """The row of the same matter, or the own place. Compared are the exchange that a row shows
        and those like it: a longer chain would end at another matter."""
        for owner, known, is_shown in self._talk:
            if is_same_matter(said, known):
                if is_shown:
                    self._talk.append((owner, said, False))
                return owner
        self._talk.append((place, said, True))
        return place


def _keys(chunk: Chunk, memory: str) -> Iterator[Hashable]:
    if chunk.qualified_name and not chunk.kind.is_prose and chunk.name not in _UNNAMED:
        yield memory, chunk.path, chunk.qualified_name
    if chunk.session:
        yield memory, SESSION, chunk.session.exchange


def _are_alike(one: Set[str], other: Set[str]) -> bool:
    if min(len(one), len(other)) < _ALIKE * max(len(one), len(other)):
        return False  # at once: a search compares thousands of pairs
    shared = len(one & other)
    return shared >= _FEWEST and shared >= _ALIKE * len(one | other)


def find_locale(path: str) -> str:
    """The language that a path names: `de` in docs/de/index.md and in README.de.md."""
    match = _LOCALE.search(path)
    return match[0][:2] if match else ""


def is_translation(path: str, question: str) -> bool:
    """Whether a page is in another language than the question."""
    locale = find_locale(path)
    return bool(locale) and not _may_be_in(locale, question)


def _may_be_in(locale: str, question: str) -> bool:
    if question.isascii():
        is_foreign = len(_LATIN.intersection(question.lower().split())) > 1
        return is_foreign or locale == "en"
    scripts = [names for names, letters in _SCRIPTS.items() if re.search(letters, question)]
    return locale in " ".join(scripts) if scripts else locale != "en"
