"""What a day of work is told by recalls, and whether it is what a colleague would mention.

    python benchmarks/quality/day_of_work.py [--only shop] [--seed 1] [--wordy] [--wrong] [--missed]

The eight invented projects of day_zero.py have their sessions, and lessons and decisions of
benchmarks/questions/day_of_work, of which a start has room for a few. A day there has 200 prompts,
60 edits and 30 commands that fail. Most of them are routine. Each names what a colleague would
mention, or nothing; that was written before any recall. Each project has one session: its start,
then the situations of the day in an order that a seed draws, a command before it runs and after it
failed. As by a hook, nothing is given twice, and what was told before its time counts as given.

The routine answers of the histories are short. `--wordy` adds a sentence or two that say nothing,
as some agents do.

`silent` is the share of situations that are told nothing, `right` the share of recalls with at
least one right row, `rows right` that of all rows, `given` the share of situations with something
to mention where it was mentioned, then or before. Every second situation is held out: nothing was
tuned on it.

Without options, the numbers are written to benchmarks/results/day-of-work-<commit>.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent))
import day_zero
import generated_sessions
import record
from generated_sessions import Session, Yaml

from aurora import Memory, Moment, NewDocument, RecallItem, Situation

DAYS = day_zero.QUESTIONS / "day_of_work"
WORDY = (
    "I looked at the change once more and ran what belongs to it; nothing else in the repository "
    "is touched by it, and there is nothing that you have to do now.",
    "That is all for this step. If you want, I can go on with the next one, write it down in the "
    "notes, or have a look at the neighbouring files as well.",
    "I kept the change as small as possible and left everything around it alone, so that it is "
    "easy to review. Tell me if you had something else in mind.",
)


class Event(NamedTuple):
    """A situation of the day, and what a colleague would mention."""

    situation: Situation
    right: frozenset[str]
    is_held_out: bool


class Told(NamedTuple):
    """What a situation was told: a name for each row, and the tokens. `known` was told before."""

    event: Event
    project: str
    rows: Sequence[tuple[str, RecallItem]]
    known: frozenset[str]
    seconds: float

    @property
    def tokens(self) -> int:
        return sum(item.tokens for _, item in self.rows)

    @property
    def is_right(self) -> bool:
        return any(name in self.event.right for name, _ in self.rows)

    @property
    def is_given(self) -> bool:
        return self.is_right or not self.known.isdisjoint(self.event.right)


# The projects


def events_of(day: Yaml, random: Random) -> list[Event]:
    """The situations of a day after its start, in the order in which they happen."""
    steps = [
        [Event(_situation(given), frozenset(given.get("right", ())), bool(at % 2))]
        for kind in ("prompts", "edits", "runs")
        for at, given in enumerate(day[kind])
    ]
    for step, given in zip(steps[-len(day["runs"]) :], day["runs"], strict=True):
        before = Situation(Moment.COMMAND, command=given["command"])
        step.insert(0, Event(before, frozenset(given.get("before", ())), step[0].is_held_out))
    random.shuffle(steps)
    return [event for step in steps for event in step]


def _situation(given: Yaml) -> Situation:
    if "text" in given:
        return Situation(Moment.PROMPT, given["text"])
    if "file" in given:
        return Situation(Moment.EDIT, file=given["file"])
    return Situation(Moment.FAILURE, given["error"], command=given["command"])


def write_files(folder: Path, project: Yaml) -> None:
    """The files of a project: what the edits of its sessions left in them."""
    words = project["filler"]
    texts = {
        file: [f"{name}: {topic}"]
        for file, name, topic in zip(words["files"], words["names"], words["topics"], strict=True)
    }
    for session in project["sessions"]:
        for step in (step for matter in session["matters"] for step in matter["steps"]):
            if "edit" in step:
                texts.setdefault(step["edit"], []).append(step["new"])
    for file, lines in texts.items():
        (path := folder / file).parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", "utf-8")


def remember(memory: Memory, recorded: Yaml) -> dict[str, str]:
    """Store the lessons and decisions of a day; their names by id."""
    names = {}
    for given in recorded:
        if "lesson" in given:
            score, files = float(given.get("worked", True)), given.get("files", ())
            id_ = memory.learn(given["lesson"], score=score, files=files).id
        else:
            document = NewDocument(given["decision"], document_type="decision")
            id_ = memory.add_all([document])[0].id
        names[id_] = given["id"]
    return names


def with_more_words(session: Session) -> Session:
    """The session, with more said after each step of routine."""
    exchanges = [
        each if each.matter else replace(each, answered=f"{each.answered} {WORDY[at % len(WORDY)]}")
        for at, each in enumerate(session.exchanges)
    ]
    return replace(session, exchanges=exchanges)


# A day


def live(
    memory: Memory, name: str, events: Sequence[Event], names: Mapping[str, str],
    matters: Mapping[day_zero.Key, str],
) -> Iterator[Told]:  # fmt: skip
    """What a session is told at its start and in each situation of the day."""
    given, known = set[str](), set[str]()
    for event in (Event(Situation(), frozenset(), is_held_out=False), *events):
        started = time.process_time()
        items = memory.recall(event.situation, given=given).items
        seconds = time.process_time() - started
        rows = [(names.get(item.id) or _matter(memory, item.id, matters), item) for item in items]
        yield Told(event, name, rows, frozenset(known), seconds)
        given.update(item.id for item in items)
        known.update(name for name, _ in rows)


def _matter(memory: Memory, id_: str, matters: Mapping[day_zero.Key, str]) -> str:
    """The matter that a row of a session tells of; empty for routine and for files."""
    personal = memory.personal
    chunks = personal.admin.store.chunks.get_chunks([id_]) if personal else []
    for session in (chunk.session for chunk in chunks):
        if session and session.time:
            return matters.get((session.id, session.time), "")
    return ""


def live_all(home: Path, names: Sequence[str], seed: int, *, wordy: bool = False) -> list[Told]:
    sessions = day_zero.load(names, seed)[0]
    if wordy:
        sessions = [with_more_words(session) for session in sessions]
    projects = {
        file.stem: generated_sessions.read_yaml(file)
        for file in sorted((day_zero.QUESTIONS / "sessions").glob("*.yaml"))
        if file.stem in (names or [file.stem])
    }
    folders = {name: "/".join(Path(p["folder"]).parts[3:]) for name, p in projects.items()}
    for name, project in projects.items():
        write_files(home / folders[name], project)
    day_zero.import_all(home, sessions)
    matters = {(s.id, e.time): e.matter for s in sessions for e in s.exchanges}
    common = generated_sessions.read_yaml(DAYS / "common.yaml")
    told = list[Told]()
    for name, folder in folders.items():
        day = generated_sessions.read_yaml(DAYS / f"{name}.yaml")
        random = Random(f"{name} {seed}")  # noqa: S311 - not for secrets
        with day_zero.open_memory(home, folder) as memory:
            recorded = remember(memory, [*day["recorded"], *common])
            memory.index()
            told += live(memory, name, events_of(day, random), recorded, matters)
    return told


# Numbers


def numbers(told: Sequence[Told]) -> dict[str, float]:
    rows = [(each, name) for each in told for name, _ in each.rows]
    recalls = [each for each in told if each.rows]
    mentioned = [each for each in told if each.event.right]
    routine = [each for each in told if not each.event.right]
    return {
        "situations": len(told),
        "tokens": sum(each.tokens for each in told),
        "silent": _share(not each.rows for each in told),
        "routine silent": _share(not each.rows for each in routine),
        "right": _share(each.is_right for each in recalls),
        "rows": len(rows),
        "rows right": _share(name in each.event.right for each, name in rows),
        "given": _share(each.is_given for each in mentioned),
        "ms": round(1000 * median([each.seconds for each in told] or [0.0])),
    }


def _share(values: Iterator[bool]) -> float:
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 1) if listed else 0.0


def tables(told: Sequence[Told]) -> dict[str, dict[str, float]]:
    """The numbers of all, tuned and held out situations, and of each moment."""
    after = [each for each in told if each.event.situation.moment is not Moment.START]
    groups = {
        "all": after,
        "tuned": [each for each in after if not each.event.is_held_out],
        "held out": [each for each in after if each.event.is_held_out],
    }
    for moment in Moment:
        groups[str(moment)] = [each for each in told if each.event.situation.moment is moment]
    return {name: numbers(group) for name, group in groups.items()}


def show(table: Mapping[str, Mapping[str, float]]) -> None:
    names = list(next(iter(table.values())))
    print(f"{'':10}" + "".join(f"{name:>15}" for name in names))
    for group, values in table.items():
        print(f"{group:10}" + "".join(f"{values[name]:>15}" for name in names))


def show_rows(told: Sequence[Told], *, wrong: bool) -> None:
    """Recalls with a row that is wrong, or situations that were told nothing of what is right."""
    for each in told:
        event, situation = each.event, each.event.situation
        if situation.moment is Moment.START:
            continue
        bad = [item for name, item in each.rows if name not in event.right]
        if bad if wrong else event.right and not each.is_given:
            mark = "held out" if event.is_held_out else "tuned"
            words = " ".join((situation.text, situation.file, situation.command)).strip()
            print(f"{mark}, {situation.moment}: {words!r} {sorted(event.right)}")
            print("".join(f"    {item.line}\n" for item in (bad if wrong else ())), end="")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--seed", type=int, default=day_zero.SEED)
    options.add_argument("--wordy", action="store_true", help="say more after each step of routine")
    options.add_argument("--wrong", action="store_true", help="list rows that are wrong")
    options.add_argument("--missed", action="store_true", help="list what was not mentioned")
    given = options.parse_args()
    with TemporaryDirectory() as home:
        told = live_all(Path(home), given.only, given.seed, wordy=given.wordy)
    table = tables(told)
    show(table)
    for wrong in (True, False):
        if given.wrong if wrong else given.missed:
            show_rows(told, wrong=wrong)
    if not given.only and given.seed == day_zero.SEED:
        name = "day-of-work-wordy" if given.wordy else "day-of-work"
        record.save(name, {"tokens": sum(each.tokens for each in told), **table})


if __name__ == "__main__":
    main()
