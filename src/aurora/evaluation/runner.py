"""Ways to search, and what one of them answers to a question: documents, the best first.

The documents of a set go into a memory, and what is found there goes back to them.

What has a path, or is code, becomes a file that our parsers cut; everything else is a document.

A set from beginning to end: fill, ask, score. A group is a memory of its own.
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
from aurora.evaluation.datasets import Asked, Item, LabelledSet
from aurora.evaluation.metrics import estimate, score
from aurora.parsers.languages import GRAMMARS, LANGUAGES
from aurora.text import pluralize
from aurora.types import (
    DEFAULT_LIMIT,
    METRICS,
    Chunk,
    Event,
    Listener,
    Measured,
    MeasuredSet,
    Mode,
    NewDocument,
    Note,
    Progress,
    SearchResults,
    ignore_events,
)

ITEM = "item"  # the metadata that says which document of the set a chunk is of
_FORBIDDEN = {".git", ".aurora"}  # git would do what they say, and we, too
_SHOWN = 3  # names of files that are left out
_ALSO = {"c++": "cpp", "c#": "csharp", "js": "javascript", "ts": "typescript", "shell": "bash"}
_SUFFIXES = {language: suffix for suffix, language in LANGUAGES.items()} | {
    grammar.language: suffix for suffix, grammar in list(GRAMMARS.items())[::-1]
}


@dataclass(frozen=True, slots=True)
class Troubles:
    """What could not be taken in, and so cannot be found."""

    empty: tuple[str, ...] = ()  # ids of documents
    unread: tuple[str, ...] = ()  # files that the indexer wants nothing of
    unembedded: int = 0  # chunks that are found by words alone

    def __add__(self, other: Troubles) -> Troubles:
        return Troubles(
            self.empty + other.empty,
            self.unread + other.unread,
            self.unembedded + other.unembedded,
        )

    def told(self) -> Iterator[str]:
        if self.empty:
            yield f"{pluralize(len(self.empty), 'document')} without text: {_some(self.empty)}"
        if self.unread:
            why = "empty, generated, minified, very large, or named like a secret"
            yield f"{pluralize(len(self.unread), 'file')} not indexed ({why}): {_some(self.unread)}"
        if self.unembedded:
            yield f"{pluralize(self.unembedded, 'chunk')} without a vector, found by words alone"


@dataclass(frozen=True, slots=True)
class Filled:
    """Which document a chunk is of."""

    files: Mapping[str, str]  # path → id
    are_cut: bool  # several chunks may be of one document
    troubles: Troubles

    def item_of(self, chunk: Chunk) -> str:
        item = chunk.metadata.get(ITEM)
        return item if isinstance(item, str) else self.files.get(chunk.path, "")


def fill(memory: Memory, items: Sequence[Item]) -> Filled:
    """Put all documents of a group into an empty memory."""
    root = memory.admin.root
    if root is None:
        raise ValueError("a memory to be filled has a folder of its own")
    files = _files(items)
    as_files = {item.id for item in files.values()}
    documents = [item for item in items if item.id not in as_files]
    added = memory.add_all(_document(item) for item in documents if _text(item).strip())
    troubles = Troubles(tuple(item.id for item in documents if not _text(item).strip()))
    if files:
        _write(root, files)
        troubles += _index(memory, root, list(files))
    are_cut = bool(files) or any(one.pieces > 1 for one in added)
    return Filled({path: item.id for path, item in files.items()}, are_cut, troubles)


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
    """The documents that become files. A name that we choose says nothing of the content."""
    files: dict[str, Item] = {}
    for number, item in enumerate(items):
        suffix = _SUFFIXES.get(_ALSO.get(item.language, item.language), "")
        if not (item.path or suffix):
            continue
        path = _inside(item) if item.path else f"{number:06}{suffix}"
        if path in files:
            raise SourceError(
                f"The documents {files[path].id!r} and {item.id!r} have the same path {path}",
                hint="give each its own, or another `group`: a group is a memory of its own",
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


def _index(memory: Memory, root: Path, paths: Sequence[str]) -> Troubles:
    """All that can be read. What an index of a folder passes over is named to it, file by file:
    hidden, ignored and vendored files are in the set because somebody wants them found."""
    failed = memory.index(root, git=False).embedded.failed
    unread = _unread(memory, paths)
    if unread:
        # The vectors of the first run that failed are tried again.
        failed = memory.index(*(root / path for path in unread), git=False).embedded.failed
        unread = _unread(memory, unread)
    return Troubles(unread=tuple(unread), unembedded=failed)


def _unread(memory: Memory, paths: Sequence[str]) -> list[str]:
    there = {chunk.path for chunk in memory.admin.chunks()}
    return [path for path in paths if path not in there]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


DEPTH = 100  # documents of an answer: recall is told up to here
_MORE = 3  # times as many chunks, where several are of one document
WARM_UP = ("the first search opens the index, the second one loads numpy", "neither is measured")


@dataclass(frozen=True, slots=True)
class System:
    """One way to search. `fusion` is empty where there is nothing to fuse."""

    mode: Mode
    fusion: str = ""

    @property
    def label(self) -> str:
        return f"{self.mode}/{self.fusion}" if self.fusion else str(self.mode)

    def search(self, memory: Memory, text: str, *, limit: int) -> SearchResults:
        return memory.search(text, limit=limit, mode=self.mode, fusion=self.fusion or None)


def make_systems(modes: Sequence[Mode], fusions: Sequence[str]) -> list[System]:
    """Each mode with each fusion, where it fuses; each once."""
    every = (
        System(mode, fusion)
        for mode in modes
        for fusion in (fusions if mode is Mode.HYBRID else [""])
    )
    return list(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class Answer:
    """The documents found, each once, where its best chunk is; and how long ten results took."""

    documents: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float


def warm_up(memory: Memory, system: System) -> None:
    """Searches that nobody times."""
    for words in WARM_UP:
        system.search(memory, words, limit=DEFAULT_LIMIT)


def ask(memory: Memory, filled: Filled, text: str, system: System) -> Answer:
    """Ten results against the clock, as people ask for; then as many as make 100 documents."""
    start = time.perf_counter()
    try:
        found = system.search(memory, text, limit=DEFAULT_LIMIT)
    except QueryError:  # nothing but quotes, say: somebody asked, and got no answer
        return Answer((), (), 1e3 * (time.perf_counter() - start))
    milliseconds = 1e3 * (time.perf_counter() - start)
    limit, best = DEFAULT_LIMIT, dict(_documents(found, filled))
    while len(found.results) == limit and len(best) < DEPTH:
        limit = limit * _MORE if limit >= DEPTH else DEPTH * (_MORE if filled.are_cut else 1)
        found = system.search(memory, text, limit=limit)
        best = dict(_documents(found, filled))
    return Answer(tuple(best)[:DEPTH], tuple(best.values())[:DEPTH], milliseconds)


def _documents(found: SearchResults, filled: Filled) -> Iterator[tuple[str, float]]:
    seen = set()
    for result in found.results:
        document = filled.item_of(result.chunk)
        if document and document not in seen:
            seen.add(document)
            yield document, result.score


def percentile(ordered: Sequence[float], share: int) -> float:
    """By nearest rank: one of the numbers, and no less than that share of them."""
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
    troubles: Troubles


def evaluate(
    labelled: LabelledSet,
    systems: Sequence[System],
    open_memory: Open,
    *,
    listen: Listener = ignore_events,
) -> Evaluated:
    """Ask every question of every system."""
    groups = list(labelled.by_group())
    news = _News(listen, total=len(labelled.questions) * len(systems), alone=len(groups) == 1)
    answers: dict[str, dict[str, Answer]] = {system.label: {} for system in systems}
    troubles, embedder = Troubles(), ""
    for group in groups:
        with open_memory(news) as memory:
            filled = fill(memory, group.items)
            for system in systems:
                warm_up(memory, system)
            for question, system in product(group.questions, systems):
                answers[system.label][question.id] = ask(memory, filled, question.text, system)
                news.asked()
            troubles += filled.troubles
            owner = memory.admin.vectors_of() if memory.exists else None
            embedder = owner.name if owner else embedder
    documents = sum(len(group.items) for group in groups)
    return Evaluated(labelled, len(groups), documents, embedder, answers, troubles)


class _News:
    """What is worth telling: a warning once, how far the asking is, and with one memory alone how
    far that is. What a search says of its question is for whoever asked it."""

    def __init__(self, listen: Listener, *, total: int, alone: bool) -> None:
        self._listen, self._total, self._alone = listen, total, alone
        self._done, self._said = 0, set[str]()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            if event.warning and event.text not in self._said:
                self._said.add(event.text)
                self._listen(event)
        elif self._alone:
            self._listen(event)

    def asked(self) -> None:
        self._done += 1
        self._listen(Progress("Asking", self._done, self._total))


def summarise(evaluated: Evaluated) -> MeasuredSet:
    """The numbers: of all questions, and by category where there are some."""
    questions = evaluated.labelled.questions
    named = sorted({one.category for one in questions} - {""})
    return MeasuredSet(
        evaluated.labelled.name,
        evaluated.documents,
        evaluated.groups,
        len(questions),
        evaluated.embedder,
        _measured(evaluated, questions),
        {
            category: _measured(evaluated, [one for one in questions if one.category == category])
            for category in named
        },
        warnings=(*evaluated.labelled.warnings, *evaluated.troubles.told()),
    )


def _measured(evaluated: Evaluated, questions: Sequence[Asked]) -> tuple[Measured, ...]:
    return tuple(
        _measure(system, [(one, answers[one.id]) for one in questions])
        for system, answers in evaluated.answers.items()
    )


def _measure(system: str, answered: Sequence[tuple[Asked, Answer]]) -> Measured:
    scores = [score(answer.documents, asked.grades) for asked, answer in answered]
    times = sorted(answer.milliseconds for _, answer in answered)
    return Measured(
        system,
        len(answered),
        dict(zip(METRICS, estimate(scores), strict=True)),
        percentile(times, 50),
        percentile(times, 95),
        sum(not answer.documents for _, answer in answered),
    )
