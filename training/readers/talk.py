"""Makes training pairs from dialogue: questions about what was said, and the turns that tell it.

    python -m training.readers.talk talk.jsonl.gz [--archives ARCHIVES] [--pairs 170000] [--seed 1]

The conversations come from the grammar in `talk.json`: facts of daily life, told by a person about
herself or about somebody near her, wrapped in small talk; asked for in other words, by others or by
the person herself, who talks to an assistant. Similar facts of different people make each other's
hard negatives. With archives, the question-and-answer lists of chatterbot-corpus are added.
"""

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from training.corpus import Pair, write_pairs
from training.readers.book_readers import flat
from training.readers.talk_grammar import (
    SELF_ASKED,
    SELF_TOLD,
    SLOT,
    Person,
    asked_words,
    asks_about,
    capitals,
    fill_asked,
    fill_told,
    may_ask,
    recalled,
    told_words,
)
from training.readers.texts import make_pair
from training.sources.carriers import read_members

GRAMMAR = Path(__file__).with_name("talk.json")
SOURCE = "talk-grammar-1"
CHINESE_SHARE = 8  # one pair of so many is a note in Chinese
TELLER = re.compile(r"\{(I|my|me|Im|Ive)\^?\}")
FIRST_DAY, DAYS = date(2019, 1, 1), 2400


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that somebody tells, and how it may be asked for."""

    topic: str
    group: str
    sentence: str
    questions: tuple[str, ...]  # by others
    own_questions: tuple[str, ...]  # by the speaker
    about: str


class Talk:
    """Draws facts and wraps them; everything random comes from one generator."""

    def __init__(self, seed: int, grammar: Path = GRAMMAR) -> None:
        self.words = json.loads(grammar.read_text("utf-8"))
        self.random = random.Random(seed)  # noqa: S311 - no secret

    def pairs(self) -> Iterator[Pair]:
        """Pairs without end."""
        while True:
            name, gender = self._name()
            other, _ = self._name()
            if name == other:
                continue
            fact = self.fact(name, gender)
            talks = self.random.random() < 0.7
            pair = self.dialogue_pair(fact, name, other) if talks else self.chat_pair(fact)
            if pair is not None:
                yield pair

    def fact(self, name: str, gender: str) -> Fact:
        topic = self.random.choice(self.words["topics"])
        say = self.random.choice(topic["say"])
        person = self._person(name, gender, names_nobody=not TELLER.search(say))
        slots = {key: self._draw(key) for key in self._slots_in(topic)}
        asks = [ask for ask in asks_about(topic, topic["say"].index(say)) if may_ask(say, ask)]
        return Fact(
            topic["topic"],
            topic["group"],
            fill_told(say, person.told, slots),
            tuple(fill_asked(ask, person.asked, slots) for ask in asks),
            tuple(fill_asked(ask, person.recalled, slots) for ask in asks),
            self._about(say, topic["topic"], slots),
        )

    def dialogue_pair(self, fact: Fact, name: str, other: str) -> Pair | None:
        """Two people talk, a third one asks."""
        turn = f"{name}: {self._wrapped(fact.sentence, other)}"
        chance = self.random.random()
        if chance < 0.15:
            turn = f"{self._line('before', name, other)}\n{turn}"
        elif chance < 0.25:
            turn = f"{turn}\n{self._line('after', name, other)}"
        elif chance < 0.35:
            turn = (
                f"{self._line('before', name, other)}\n{turn}\n{self._line('after', name, other)}"
            )
        if fact.questions and self.random.random() < 0.9:
            question = self._asked(self.random.choice(fact.questions))
        else:
            question = self._choice("about_other").format(who=name, t=fact.about)
        question, turn = self._dated(question, turn)
        return make_pair(question, turn, kind="talk", source=SOURCE)

    def chat_pair(self, fact: Fact) -> Pair | None:
        """Somebody tells an assistant and asks for it later."""
        told = f"user: {capitals(fact.sentence)} {self._choice('requests')}"
        answer = f"assistant: {self._advice(fact)}"
        chance = self.random.random()
        if chance < 0.25:
            question = self._choice("suggested").format(t=fact.about)
            return make_pair(question, answer, kind="talk", source=SOURCE)
        if fact.own_questions and chance < 0.8:
            question = recalled(self._choice("recalled"), self.random.choice(fact.own_questions))
        else:
            question = self._choice("about").format(t=fact.about)
        passage = f"{told}\n{answer}" if self.random.random() < 0.4 else told
        return make_pair(question, passage, kind="talk", source=SOURCE)

    def _advice(self, fact: Fact) -> str:
        tips = self.random.sample(self.words["tips"][fact.group], 3 + (self.random.random() < 0.5))
        steps = " ".join(f"{number}. {tip}" for number, tip in enumerate(tips, 1))
        return (
            f"{self._choice('answers').format(t=fact.about)} {steps} {self._choice('ends')}".strip()
        )

    def _wrapped(self, sentence: str, other: str) -> str:
        """The fact in small talk."""
        parts = (self._choice("openers").format(other=other), sentence, self._choice("closers"))
        return capitals(" ".join(filter(None, parts)))

    def _dated(self, question: str, turn: str) -> tuple[str, str]:
        """At times the day stands before the turn, and in the question."""
        if self.random.random() > 0.25:
            return question, turn
        day = FIRST_DAY + timedelta(self.random.randrange(DAYS))
        shown = self.random.choice(
            (f"[{day.isoformat()}]", f"{day.day} {day:%B %Y},", f"({day:%B} {day.day}, {day.year})")
        )
        if (
            self.random.random() < 0.4
            and question.endswith("?")
            and not re.search(r"[Ww]hen|\bin\?|\bup\?", question)
        ):
            named = self.random.choice(
                (f"in {day:%B %Y}", f"on {day.day} {day:%B %Y}", f"in {day:%B}")
            )
            question = f"{question[:-1]} {named}?"
        return question, f"{shown} {turn}"

    def _asked(self, question: str) -> str:
        if self.random.random() < 0.12:
            return question.lower().rstrip("?")  # as typed in a hurry
        return question

    def _about(self, say: str, topic: str, slots: dict[str, str]) -> str:
        """What a fact is about: its topic, or a thing that it names."""
        things = [
            slots[key].partition("|")[0]
            for key in re.findall(r"\{(\w+)\^?\}", say)
            if key in self.words["things"]
        ]
        return self.random.choice(things) if things and self.random.random() < 0.6 else topic

    def _person(self, name: str, gender: str, *, names_nobody: bool) -> Person:
        if names_nobody or self.random.random() < 0.75:
            return Person(SELF_TOLD, asked_words(name, gender), SELF_ASKED)
        kind = self.random.choice("fm")
        relation = self.random.choice(self.words["relations"][kind])
        return Person(
            told_words(relation, kind),
            asked_words(f"{name}'s {relation}", kind),
            asked_words(f"my {relation}", kind),
        )

    def _name(self) -> tuple[str, str]:
        gender = self.random.choice("fm")
        return self.random.choice(self.words["names"][gender]), gender

    def _draw(self, slot: str) -> str:
        if slot == "friend":
            return self._name()[0]
        return str(self.random.choice(self.words["slots"][slot.rstrip("2")]))

    def _slots_in(self, topic: dict[str, list[str]]) -> list[str]:
        named = SLOT.findall(" ".join(topic["say"] + topic["ask"]))
        drawn = {*self.words["slots"], "friend"}
        return list(dict.fromkeys(key for key, _ in named if key.rstrip("2") in drawn))

    def _choice(self, key: str) -> str:
        return str(self.random.choice(self.words[key]))

    def _line(self, key: str, name: str, other: str) -> str:
        return self._choice(key).format(name=name, other=other)


def chinese_pairs(seed: int, grammar: Path = GRAMMAR) -> Iterator[Pair]:
    """Short notes in Chinese about people, things and plans, without end."""
    words = json.loads(grammar.read_text("utf-8"))["zh"]
    drawn = random.Random(seed)  # noqa: S311 - no secret
    while True:
        says, asks = drawn.choice(words["topics"])
        near, known = f"我{drawn.choice(words['relations'])}", drawn.choice(words["names"])
        who = drawn.choice(("我", near, known))
        slots = {key: drawn.choice(values) for key, values in words["slots"].items()}
        slots |= {"friend": drawn.choice(words["names"]), "I": who, "who": who}
        say = drawn.choice(says)
        held = {*SLOT.findall(say), ("who", "")}
        answered = [ask for ask in asks if {*SLOT.findall(ask)} <= held]
        if not answered or slots["friend"] == who:
            continue
        question = drawn.choice(words["asked"]).format(q=drawn.choice(answered).format(**slots))
        yield Pair(question, drawn.choice(words["openers"]) + say.format(**slots), "talk", SOURCE)


def listed_answers(text: str) -> Iterator[tuple[str, str]]:
    """(said, answered) of a file of chatterbot-corpus."""
    for talk in re.split(r"^- - ", text, flags=re.M)[1:]:
        turns = [turn.strip().strip("'\"") for turn in re.split(r"^  - ", talk, flags=re.M)]
        yield from ((turns[0], answer) for answer in turns[1:])


def real_pairs(archives: Path) -> Iterator[Pair]:
    for archive in sorted((archives / "pypi").glob("chatterbot-corpus-*")):
        for _, content in read_members(archive, r"data/english/[^/]+\.yml$"):
            for said, answered in listed_answers(content.decode("utf-8")):
                source = archive.name.rsplit(".tar", 1)[0]
                pair = make_pair(flat(said), flat(answered), kind="talk", source=source)
                if pair is not None:
                    yield pair


def distinct(pairs: Iterable[Pair], count: int) -> Iterator[Pair]:
    """The first `count` pairs, or all, none of them twice."""
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if len(seen) == count:
            return
        if (pair.a, pair.b) not in seen:
            seen.add((pair.a, pair.b))
            yield pair


def all_pairs(count: int, seed: int, archives: Path | None = None) -> Iterator[Pair]:
    if archives is not None:
        yield from distinct(real_pairs(archives), count)
    yield from distinct(Talk(seed).pairs(), count - count // CHINESE_SHARE)
    yield from distinct(chinese_pairs(seed), count // CHINESE_SHARE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--pairs", type=int, default=170_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_pairs(options.output, all_pairs(options.pairs, options.seed, options.archives))


if __name__ == "__main__":
    main()
