"""Somebody who uses a memory at random, and knows what it was told: what is there, what is gone.

Every hand writes documents of its own, so that it knows of each what must be read, whatever others
do. Each version of a document holds a word in every section that no other text has.
"""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

from tests.concurrency.doors import Door, Refused

# What a door may say when others are in the way. Anything else is a fault of the product.
IN_THE_WAY = (
    "is in use by another process",
    "is being indexed by another process",
)
# What a chore may say besides. Who rebuilds while others write is told that it was not exact; of an
# index that meets another model, `test_changing_models` has what is wrong.
MAY_SAY = {
    "rebuild": "another process is writing",
    "index": "This memory holds vectors of",
}
WRITES = ("keep", "keep", "keep", "replace", "replace", "learn", "forget", "forget")
FILLER = "Much is to be said of it, and some of that twice.\n" * 30  # three are over 4,000 letters
READS = ("read", "read", "read", "find", "find", "find", "read gone", "find gone")


@dataclass
class Known:
    """What was acknowledged: the word that each piece ends with, and what is gone for good."""

    kept: dict[str, list[str]] = field(default_factory=dict)  # id → one word for each piece
    gone: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)  # words of writes that were refused midway


@dataclass
class Hand:
    """Does deeds through one door until it is told to stop."""

    name: str
    door: Door
    chance: random.Random
    done: Callable[[str, str], None]  # told of every deed that ended, and how
    known: Known = field(default_factory=Known)
    names: dict[str, str] = field(default_factory=dict)  # id → name of the document
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def work(self, is_over: Callable[[], bool]) -> None:
        """Rounds of everything in an order drawn by lot, the first of them always whole; until the
        first fault."""
        for number, deeds in enumerate(self._rounds()):
            for deed in deeds:
                if self.faults or (number and is_over()):
                    return
                self._do(deed)

    def _rounds(self) -> Iterator[Sequence[str]]:
        while True:
            deeds = [*WRITES, *READS, *self.door.chores]
            yield self.chance.sample(deeds, len(deeds))

    def _do(self, deed: str) -> None:
        outcome = "done"
        try:
            self._deed(deed)
        except Refused as exc:
            outcome = "refused"
            if not is_clear(deed, str(exc)):
                self.faults.append(f"{self.name}, {deed}: {exc}")
        except Exception:  # told at the end, with the others
            self.faults.append(f"{self.name}, {deed}:\n{traceback.format_exc()}")
        self.counts[f"{deed}, {outcome}"] += 1
        self.done(deed, outcome)

    def _deed(self, deed: str) -> None:
        if deed in self.door.chores:
            self.door.chores[deed]()
        elif deed in ("keep", "learn"):
            self._write(deed)
        elif deed == "replace":
            self._write("keep", replacing=self._one_of(self.names))
        elif deed == "forget":
            self._forget(self._one_of(self.known.kept))
        elif deed == "read":
            self._read(self._one_of(self.known.kept))
        elif deed == "find":
            self._find(self._one_of(self.known.kept))
        elif gone := self._one_of(self.known.gone):
            self._miss(gone, by_words=deed == "find gone")

    def _one_of(self, ids: Mapping[str, object]) -> str:
        return self.chance.choice(list(ids)) if ids else ""

    def _write(self, deed: str, replacing: str = "") -> None:
        word = "".join(self.chance.choices(ascii_lowercase, k=14))
        name = self.names.get(replacing) if self.door.can_replace else None
        doubtful = {word, *(self.known.kept.pop(replacing, []) if name else [])}
        self.known.unsure |= doubtful  # until it is answered
        if deed == "learn":
            id_, pieces = self.door.learn(f"It worked with {word}"), 1
        else:
            name = name or f"{self.name}-{self.counts.total()}"
            pieces = self.door.sections
            id_ = self.door.keep(name, make_document(name, word, pieces))
            self.names[id_] = name
        self.known.unsure -= doubtful
        self.known.kept[id_] = [word] * pieces

    def _forget(self, id_: str) -> None:
        if not id_:
            return
        word = self.known.kept.pop(id_)[0]
        self.names.pop(id_, None)
        self.known.unsure.add(word)
        self.door.forget(id_)
        self.known.unsure.discard(word)
        self.known.gone[id_] = word

    def _read(self, id_: str) -> None:
        if not id_:
            return
        text, words = self.door.read(id_), self.known.kept[id_]
        assert text is not None, f"{id_} was kept, and is not there"
        assert text.count(words[0]) == len(words), f"{id_} is not as it was kept {words}:\n{text}"

    def _find(self, id_: str) -> None:
        if id_:
            found = self.door.find(self.known.kept[id_][0])
            assert id_ in {one.partition("@")[0] for one in found}, f"{id_} not among {found}"

    def _miss(self, id_: str, *, by_words: bool) -> None:
        if by_words:
            found = self.door.find(self.known.gone[id_])
            assert id_ not in found, f"{id_} is forgotten, and was found"
        else:
            assert self.door.read(id_) is None, f"{id_} is forgotten, and can be read"


def is_clear(deed: str, told: str) -> bool:
    """Whether it says what is in the way, and what to do."""
    if deed in MAY_SAY and MAY_SAY[deed] in told:
        return True
    return "hint: " in told and any(words in told for words in IN_THE_WAY)


def make_document(name: str, word: str, pieces: int) -> str:
    """Markdown of so many sections that end with the word; a long text is cut at its headings."""
    if pieces == 1:
        return f"# {name}\n\nThis is about {word}\n"
    more = [f"## Part {number} of {name}\n\n{FILLER}{word}\n" for number in range(2, pieces + 1)]
    return "\n".join([f"# {name}\n\n{FILLER}{word}\n", *more])
