"""A fixed set of questions to a memory, and what becomes of them when its files are damaged."""

from __future__ import annotations

import io
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from aurora import Memory
from aurora.errors import AuroraError
from aurora.types import IndexCheck, IndexState, Note
from tests.faults.children import Children
from tests.faults.damage import Damage
from tests.faults.world import OPENED, World
from tests.rewriting import seal

_ANY = IndexCheck(IndexState.CURRENT)  # how an index file is may be told
_WORDS = ("login session password", "SOAROrchestrator", "invoices due", "认证", "retry a timeout")


class Fate(StrEnum):
    """What became of one question. The last two are forbidden."""

    SAME = "same"
    ERROR = "error"  # an AuroraError
    TOLD = "told"  # another answer, with a warning
    SILENT = "silently wrong"
    RAW = "raw"  # an exception that is no AuroraError


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered, as a comparable value, or which error came; and what was warned of."""

    answer: object
    error: str = ""
    warnings: tuple[str, ...] = ()
    raw: str = ""

    def fate(self, whole: Reply) -> Fate:
        if self.raw:
            return Fate.RAW
        if self.error:
            return Fate.ERROR
        if self.answer == whole.answer:
            return Fate.SAME
        return Fate.TOLD if self.warnings else Fate.SILENT


def _search(memory: Memory, mode: str) -> object:
    """Warnings are told in the answer itself, too: an agent is told nothing else."""
    found = [memory.search(words, mode=mode) for words in _WORDS]
    told = {note.text for results in found for note in results.notes if note.warning}
    assert not memory.admin.store.maintenance.damage() or told
    return [(results.results, results.nearest) for results in found]


def _export(memory: Memory) -> object:
    stream = io.BytesIO()
    memory.export(stream)
    return stream.getvalue()


def _index(memory: Memory) -> object:
    """Nothing has changed, so nothing is to be done."""
    project = memory.places.project
    assert project
    report = memory.index(project)
    if report.errors:
        raise AuroraError(f"{report.errors}")
    return replace(report, embedded=None), _export(memory)


def _forget(memory: Memory) -> object:
    ids = memory.admin.find_to_forget("src/atlas/auth")
    return memory.forget(ids), _export(memory)


READING: dict[str, Callable[[Memory], object]] = {
    "hybrid": lambda memory: _search(memory, "hybrid"),
    "keyword": lambda memory: _search(memory, "keyword"),
    "semantic": lambda memory: _search(memory, "semantic"),
    "get": lambda memory: [memory.get(chunk_id) for chunk_id in OPENED],
    "stats": lambda memory: replace(memory.stats(), bytes=0, index_bytes=0, index=_ANY),
    "export": _export,
}
WRITING: dict[str, Callable[[Memory], object]] = {"index": _index, "forget": _forget}
CHECKING: dict[str, Callable[[Memory], object]] = {"check": lambda memory: memory.admin.check()}
_ALL = READING | WRITING | CHECKING


def ask(world: World, question: str) -> Reply:
    """One question to the memory as it lies there, in a process that has not opened it yet."""
    told: list[Note] = []
    try:
        with world.memory(told.append) as memory:
            answer = _ALL[question](memory)
    except AuroraError as exc:
        return Reply(None, str(exc), tuple(note.text for note in told))
    except Exception:
        return Reply(None, raw=traceback.format_exc())
    return Reply(answer, "", tuple(note.text for note in told))


def ask_damaged(
    world: World,
    questions: Iterable[str],
    file: str = "",
    damage: Damage | None = None,
    *,
    keep_indexes: bool = True,
    unnoticed: bool = False,
) -> dict[str, Reply]:
    """Each question to a memory that was whole but for this damage. `unnoticed`: it came below the
    file system, where no seal is broken."""
    replies = {}
    for question in questions:
        world.restore()
        if not keep_indexes:
            shutil.rmtree(world.memory_folder / "indexes")
        if damage is not None:
            damage.inflict(world.memory_folder / file)
        if unnoticed:
            seal(world.database)
        replies[question] = ask(world, question)
    return replies


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a memory with one damage, and what became of it."""

    damage: Damage
    question: str
    fate: Fate
    reply: Reply

    def __str__(self) -> str:
        told = self.reply.raw[-600:] or self.reply.error or " ".join(self.reply.warnings)
        return f"{self.damage.kind} at {self.damage.at}, {self.question}: {self.fate} {told}"


def ruin(
    children: Children,
    world: World,
    file: str,
    damages: Iterable[Damage],
    questions: Sequence[str],
    **how: bool,
) -> list[Case]:
    """What becomes of every question after each damage. A crash or a hang is raised."""
    ask = partial(children.run, ask_damaged, world, questions)
    whole = ask(**how)
    assert not [reply for reply in whole.values() if reply.error or reply.raw]
    cases = []
    for damage in damages:
        for question, reply in ask(file, damage, **how).items():
            cases.append(Case(damage, question, reply.fate(whole[question]), reply))
    return cases


def summed_up(cases: Iterable[Case]) -> str:
    """How often each fate came, for people."""
    return ", ".join(
        f"{n} {fate}" for fate, n in Counter(case.fate for case in cases).most_common()
    )
