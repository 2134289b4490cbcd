"""Evaluate search on a labelled set: fill a memory, ask every question, score the answers.

An item with a path or a programming language becomes a file for our parsers; any other item is
added as a document. Each group of the set gets its own memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePosixPath

from aurora.engine import Memory
from aurora.errors import QueryError, SourceError
from aurora.evaluation.datasets import Item, LabelledSet, Question
from aurora.evaluation.metrics import estimate, score
from aurora.parsers.languages import GRAMMARS, PLAIN_LANGUAGES
from aurora.report_types import METRICS, Measured, MeasuredSet
from aurora.text import pluralize
from aurora.types import (
    DEFAULT_LIMIT,
    Chunk,
    Event,
    Listener,
    Mode,
    NewDocument,
    Note,
    Progress,
    SearchResults,
    ignore_events,
)

ITEM = "item"  # metadata key: the id of a chunk's item
_FORBIDDEN = {".git", ".aurora"}  # their content would configure git and Aurora
_SHOWN = 3  # names in a warning
_ALSO = {"c++": "cpp", "c#": "csharp", "js": "javascript", "ts": "typescript", "shell": "bash"}
_SUFFIXES = {language: suffix for suffix, language in PLAIN_LANGUAGES.items()} | {
    grammar.language: suffix for suffix, grammar in list(GRAMMARS.items())[::-1]
}


@dataclass(frozen=True, slots=True)
class Problems:
    """Items that cannot be found, or only by words."""

    empty: tuple[str, ...] = ()  # ids of items
    unread: tuple[str, ...] = ()  # files that the indexer leaves out
    unembedded: int = 0  # chunks without a vector

    def __add__(self, other: Problems) -> Problems:
        return Problems(
            self.empty + other.empty, self.unread + other.unread, self.unembedded + other.unembedded
        )

    def messages(self) -> Iterator[str]:
        if self.empty:
            yield f"{pluralize(len(self.empty), 'document')} without text: {_some(self.empty)}"
        if self.unread:
            why = "empty, generated, minified, very large, or named like a secret"
            yield f"{pluralize(len(self.unread), 'file')} not indexed ({why}): {_some(self.unread)}"
        if self.unembedded:
            yield f"{pluralize(self.unembedded, 'chunk')} without a vector, found by words alone"


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled memory: finds the item of a chunk."""

    files: Mapping[str, str]  # path → id
    are_cut: bool  # an item may have several chunks
    problems: Problems

    def item_of(self, chunk: Chunk) -> str:
        item = chunk.metadata.get(ITEM)
        return item if isinstance(item, str) else self.files.get(chunk.path, "")


def fill(memory: Memory, items: Sequence[Item]) -> Filled:
    """Put all items of a group into an empty memory."""
    root = memory.root
    if root is None:
        raise ValueError("a memory to fill needs a folder")
    files = _files(items)
    as_files = {item.id for item in files.values()}
    documents = [item for item in items if item.id not in as_files]
    added = memory.add_all(_document(item) for item in documents if _text(item).strip())
    problems = Problems(tuple(item.id for item in documents if not _text(item).strip()))
    if files:
        _write(root, files)
        problems += _index(memory, root, list(files))
    are_cut = bool(files) or any(document.pieces > 1 for document in added)
    return Filled({path: item.id for path, item in files.items()}, are_cut, problems)


def _document(item: Item) -> NewDocument:
    return NewDocument(
        _text(item),
        title=item.title,
        key=item.id,
        metadata={ITEM: item.id, **item.about},
        created_at=item.date,
    )


def _text(item: Item) -> str:
    return item.text if item.text.strip() else item.title


def _files(items: Sequence[Item]) -> dict[str, Item]:
    """The items that become files. Without a path, a file gets a number as its name."""
    files: dict[str, Item] = {}
    for number, item in enumerate(items):
        suffix = _SUFFIXES.get(_ALSO.get(item.language, item.language), "")
        if not (item.path or suffix):
            continue
        path = _inside(item) if item.path else f"{number:06}{suffix}"
        if path in files:
            raise SourceError(
                f"The documents {files[path].id!r} and {item.id!r} have the same path {path}",
                hint="give each its own path or `group`: each group has its own memory",
            )
        files[path] = item
    return files


def _inside(item: Item) -> str:
    path = PurePosixPath(item.path)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in item.path:
        raise SourceError(
            f"The document {item.id!r} has the path {item.path!r}, which leads out of its folder",
            hint="write paths relative to the folder of the set's own files, such as src/app.py",
        )
    if not _FORBIDDEN.isdisjoint(part.lower() for part in path.parts):
        raise SourceError(
            f"The document {item.id!r} has the path {item.path!r}, which no document may have",
            hint="leave out what lies in .git and .aurora",
        )
    return path.as_posix()


def _write(root: Path, files: Mapping[str, Item]) -> None:
    for path, item in files.items():
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(item.text.encode())
        except OSError as exc:
            raise SourceError(
                f"The document {item.id!r} cannot be written to {path}: {exc.strerror}",
                hint="give it another `path`, or see whether the disk is full",
            ) from exc


def _index(memory: Memory, root: Path, paths: Sequence[str]) -> Problems:
    """Index the files. Hidden, ignored and vendored files are part of the set, so files that an
    index of the folder leaves out are indexed by name."""
    failed = memory.index(root, git=False).embedded.failed
    unread = _unread(memory, paths)
    if unread:
        # This also retries the vectors that failed.
        failed = memory.index(*(root / path for path in unread), git=False).embedded.failed
        unread = _unread(memory, unread)
    return Problems(unread=tuple(unread), unembedded=failed)


def _unread(memory: Memory, paths: Sequence[str]) -> list[str]:
    indexed = {chunk.path for chunk in memory.admin.chunks()}
    return [path for path in paths if path not in indexed]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


DEPTH = 100  # documents of an answer, for R@100
_MORE = 3  # times as many chunks if items are cut into several
WARM_UP = ("the first search opens the index, the second one loads numpy", "neither is measured")


@dataclass(frozen=True, slots=True)
class System:
    """One way to search. `fusion` is empty for modes that fuse nothing."""

    mode: Mode
    fusion: str = ""

    @property
    def label(self) -> str:
        return f"{self.mode}/{self.fusion}" if self.fusion else str(self.mode)

    def search(self, memory: Memory, text: str, *, limit: int) -> SearchResults:
        return memory.search(text, limit=limit, mode=self.mode, fusion=self.fusion or None)


def make_systems(modes: Sequence[Mode], fusions: Sequence[str]) -> list[System]:
    """Each mode, and the hybrid mode with each fusion; without duplicates."""
    systems = (
        System(mode, fusion)
        for mode in modes
        for fusion in (fusions if mode is Mode.HYBRID else [""])
    )
    return list(dict.fromkeys(systems))


@dataclass(frozen=True, slots=True)
class Answer:
    """The found documents at the place of their best chunk, and the time of ten results."""

    documents: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float


def warm_up(memory: Memory, system: System) -> None:
    """Run searches that are not timed."""
    for words in WARM_UP:
        system.search(memory, words, limit=DEFAULT_LIMIT)


def ask(memory: Memory, filled: Filled, text: str, system: System) -> Answer:
    """Search for ten results with timing, then for as many as make 100 documents."""
    start = time.perf_counter()
    try:
        results = system.search(memory, text, limit=DEFAULT_LIMIT)
    except QueryError:  # such as a question of quotes only: it counts as unanswered
        return Answer((), (), 1e3 * (time.perf_counter() - start))
    milliseconds = 1e3 * (time.perf_counter() - start)
    limit, best = DEFAULT_LIMIT, _best_scores(results, filled)
    while len(results.results) == limit and len(best) < DEPTH:
        limit = limit * _MORE if limit >= DEPTH else DEPTH * (_MORE if filled.are_cut else 1)
        results = system.search(memory, text, limit=limit)
        best = _best_scores(results, filled)
    return Answer(tuple(best)[:DEPTH], tuple(best.values())[:DEPTH], milliseconds)


def _best_scores(results: SearchResults, filled: Filled) -> dict[str, float]:
    """The score of each document's best chunk, the best first."""
    scores: dict[str, float] = {}
    for result in results.results:
        if document := filled.item_of(result.chunk):
            scores.setdefault(document, result.score)
    return scores


def percentile(ordered: Sequence[float], share: int) -> float:
    """The percentile of sorted numbers, by nearest rank."""
    return ordered[-(-len(ordered) * share // 100) - 1]


Open = Callable[[Listener], AbstractContextManager[Memory]]  # an empty memory for each call


@dataclass(frozen=True, slots=True)
class Evaluated:
    """All answers, by the system's label and the question's id."""

    labelled: LabelledSet
    groups: int
    documents: int
    embedder: str
    answers: Mapping[str, Mapping[str, Answer]]
    problems: Problems


def evaluate(
    labelled: LabelledSet,
    systems: Sequence[System],
    open_memory: Open,
    *,
    listen: Listener = ignore_events,
) -> Evaluated:
    """Ask every question of every system."""
    groups = list(labelled.by_group())
    events = _Events(listen, total=len(labelled.questions) * len(systems), alone=len(groups) == 1)
    answers: dict[str, dict[str, Answer]] = {system.label: {} for system in systems}
    problems, embedder = Problems(), ""
    for group in groups:
        with open_memory(events) as memory:
            filled = fill(memory, group.items)
            for system in systems:
                warm_up(memory, system)
            for question, system in product(group.questions, systems):
                answers[system.label][question.id] = ask(memory, filled, question.text, system)
                events.count_question()
            problems += filled.problems
            owner = memory.admin.vectors_of() if memory.exists else None
            embedder = owner.name if owner else embedder
    documents = sum(len(group.items) for group in groups)
    return Evaluated(labelled, len(groups), documents, embedder, answers, problems)


class _Events:
    """Passes on each warning once, and the progress of asking; of a single memory also its own.

    Other notes are about a question that no person typed.
    """

    def __init__(self, listen: Listener, *, total: int, alone: bool) -> None:
        self._listen, self._total, self._alone = listen, total, alone
        self._done, self._warnings = 0, set[str]()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            if event.warning and event.text not in self._warnings:
                self._warnings.add(event.text)
                self._listen(event)
        elif self._alone:
            self._listen(event)

    def count_question(self) -> None:
        self._done += 1
        self._listen(Progress("Asking", self._done, self._total))


def summarise(evaluated: Evaluated) -> MeasuredSet:
    """The numbers of all questions, and of each category."""
    questions = evaluated.labelled.questions
    categories = sorted({question.category for question in questions} - {""})
    return MeasuredSet(
        evaluated.labelled.name,
        evaluated.documents,
        evaluated.groups,
        len(questions),
        evaluated.embedder,
        _measured(evaluated, questions),
        {
            category: _measured(evaluated, [q for q in questions if q.category == category])
            for category in categories
        },
        warnings=(*evaluated.labelled.warnings, *evaluated.problems.messages()),
    )


def _measured(evaluated: Evaluated, questions: Sequence[Question]) -> tuple[Measured, ...]:
    return tuple(
        _measure(system, [(question, answers[question.id]) for question in questions])
        for system, answers in evaluated.answers.items()
    )


def _measure(system: str, answered: Sequence[tuple[Question, Answer]]) -> Measured:
    scores = [score(answer.documents, question.grades) for question, answer in answered]
    times = sorted(answer.milliseconds for _, answer in answered)
    return Measured(
        system,
        len(answered),
        dict(zip(METRICS, estimate(scores), strict=True)),
        percentile(times, 50),
        percentile(times, 95),
        sum(not answer.documents for _, answer in answered),
    )
