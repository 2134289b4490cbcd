"""The tools that change the memory: `aurora_ingest`, `aurora_learn` and `aurora_forget`.

A call that was answered is stored. Writers of this server come one after the other, and another
process that indexes lets them in between its batches.

`aurora_index`: read files into the memory, with progress, for longer than any client waits.

A run belongs to the server, not to the call that began it: a client that stops waiting, or whose
connection ends, finds the run going on, and a second call for the same path joins it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from aurora.engine import Memory
from aurora.errors import AuroraError, ChunkNotFoundError
from aurora.indexing.documents import DOCUMENT
from aurora.indexing.indexer import IndexReport
from aurora.mcp import parameters as take
from aurora.mcp.answers import Forgotten, Indexed, Ingested, Learned, said, uri_of
from aurora.mcp.pool import MemoryPool, hearing
from aurora.mcp.tools import ADDS, COUNTS, REMOVES, answer, in_words, make_tool, telling
from aurora.text import pluralize
from aurora.types import Event, Note, Progress

logger = logging.getLogger(__name__)


_NAMED = 20  # ids told of what is forgotten


def writing_tools(desk: MemoryPool) -> list[Tool]:
    return [_ingest(desk), _learn(desk), _forget(desk)]


def _ingest(desk: MemoryPool) -> Tool:
    @telling
    def aurora_ingest(
        *,
        content: take.Content,
        document_type: Annotated[
            take.Label, Field(description="What it is: plan, decision, …")
        ] = DOCUMENT,
        source: Annotated[
            take.Label, Field(description="Where it comes from: who or what wrote it.")
        ] = "",
        namespace: Annotated[take.Label, Field(description="A name that a group shares.")] = "",
        metadata: take.Metadata = None,
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Ingested]:
        """Keep a document for later sessions and other agents: a plan, a decision, meeting notes, a
        summary of what you found. Give it a heading: that is its title. The same text is kept once.
        For files of the project use aurora_index; for a lesson in a sentence or two,
        aurora_learn."""
        here = desk.memory(memory)
        with hearing() as told, desk.turn(here):
            added = here.add(
                content,
                namespace=namespace,
                document_type=document_type,
                source=source,
                metadata=metadata,
            )
        made = Ingested(
            id=added.id,
            uri=uri_of(added.id, memory),
            memory=memory or desk.names[0],
            title=added.title,
            pieces=added.pieces,
            outcome=str(added.outcome),
            notes=told or None,
        )
        words = f"{made.outcome.capitalize()} in {pluralize(made.pieces, 'piece')}: {made.title}"
        return answer(made, said(f"{words}, id {made.id}", told))

    return make_tool(aurora_ingest, "Keep a document", ADDS)


def _learn(desk: MemoryPool) -> Tool:
    @telling
    def aurora_learn(
        *,
        text: take.Pattern,
        pattern_type: Annotated[
            take.Label, Field(description="What kind: debugging, recovery, workflow, …")
        ] = "pattern",
        score: take.Score = 1.0,
        context: take.Context = "",
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Learned]:
        """Remember a lesson: what worked, or what did not, in a sentence or two. Use it when you
        solved something that cost time, so that nobody has to find it out again. Learned again, it
        counts as used again, and its score becomes the mean."""
        here = desk.memory(memory)
        with hearing() as told, desk.turn(here):
            learned = here.learn(text, pattern_type=pattern_type, score=score, context=context)
            is_found = here.admin.is_found(learned.id)
        made = Learned(
            id=learned.id,
            uri=uri_of(learned.id, memory),
            memory=memory or desk.names[0],
            searchable=is_found,
            notes=told or None,
        )
        kept = "" if made.searchable else ", kept but not found by searches"
        return answer(made, said(f"Learned: {learned.name}, id {made.id}{kept}", told))

    return make_tool(aurora_learn, "Remember a lesson", COUNTS)


def _forget(desk: MemoryPool) -> Tool:
    @telling
    def aurora_forget(
        *, what: take.What, several: take.Several = False, memory: take.MemoryName = ""
    ) -> Annotated[CallToolResult, Forgotten]:
        """Remove something from the memory for good: what is wrong, outdated or was stored by
        mistake. The files themselves stay, and what is indexed from a file that is still there
        comes back with the next index."""
        here = desk.memory(memory)
        with desk.turn(here):
            found = here.admin.find_to_forget(what)
            if not found:
                raise ChunkNotFoundError(
                    f"Nothing is remembered of {what!r}",
                    hint="name an id from a result, a file or folder, or namespace:NAME",
                )
            agreed = several or len(found) == 1 or found[0] == what
            gone = here.forget(found, scrub=False) if agreed else 0
        if agreed:  # outside of its turn: who forgets at the same time shares it
            here.admin.scrub()
        made = Forgotten(
            memory=memory or desk.names[0],
            what=what,
            forgotten=gone,
            would_forget=None if agreed else len(found),
            ids=found[:_NAMED],
        )
        if agreed:
            return answer(made, f"Forgot {pluralize(gone, 'chunk')}")
        names = ", ".join(made.ids)
        told = f"{what} stands for {pluralize(len(found), 'chunk')}: {names}"
        return answer(made, f"Nothing forgotten yet. {told}. If you mean them all: several=true")

    return make_tool(aurora_forget, "Forget", REMOVES)


_WAIT = 50.0  # seconds: most clients give up on a call after 60
_LOOK = 0.1  # seconds between two looks at a run's progress
_TOLD = 20  # warnings that an answer repeats


@dataclass(slots=True)
class Run:
    """One run of indexing, in a thread of its own."""

    report: IndexReport | None = None
    error: Exception | None = None
    chunks: int = 0
    steps: int = 0  # done in all tasks together: progress only grows
    latest: Progress | None = None
    notes: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _before: int = 0  # steps of the tasks before the latest

    def hear(self, event: Event) -> None:
        if isinstance(event, Note):
            self.notes.append(event.text)
            return
        if self.latest is not None and event.task != self.latest.task:
            self._before = self.steps
        self.latest = event
        self.steps = max(self.steps, self._before + event.done)

    @property
    def words(self) -> str:
        if self.latest is None:
            return self.notes[-1] if self.notes else "starting"
        task, done, total = self.latest
        return f"{task}: {done}/{total}" if total else f"{task}: {done}"

    def work(self, memory: Memory, path: Path, *, git: bool) -> None:
        try:
            with memory:
                self.report = memory.index(path, git=git)
                self.chunks = sum(memory.stats().chunks.values())
        except Exception as exc:  # told to whoever asks
            logger.exception("an index run failed")
            self.error = exc
        finally:
            self.over.set()


class Runs:
    """All runs of one server that are not over."""

    def __init__(self, desk: MemoryPool) -> None:
        self._desk = desk
        self._going: dict[tuple[str, Path, bool], Run] = {}
        self._lock = threading.Lock()

    def join(self, name: str, path: Path, *, git: bool) -> Run:
        """The run for a path: the one that goes on, or a new one."""
        key = (name, path, git)
        with self._lock:
            going = self._going.get(key)
            if going is not None and not going.over.is_set():
                return going
            run = Run()
            memory = self._desk.memory_to_index(name, run.hear)
            self._going[key] = run
        # Not waited for when the server ends: a run may stop anywhere, and the next one goes on.
        threading.Thread(
            target=run.work, args=(memory, path), kwargs={"git": git}, daemon=True
        ).start()
        return run

    def words(self, name: str) -> str | None:
        """How far the runs of a memory are."""
        with self._lock:
            going = [run for key, run in self._going.items() if key[0] == name]
        return "; ".join(run.words for run in going if not run.over.is_set()) or None


def indexing_tool(desk: MemoryPool, runs: Runs, clock: Callable[[], float] = monotonic) -> Tool:
    async def aurora_index(
        *,
        ctx: Context,
        path: take.IndexPath = "",
        git: take.Git = True,
        wait_seconds: take.Wait = _WAIT,
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Indexed]:
        """Bring the memory up to date with the project's files, after they changed or before the
        first search. Only what changed is read, so it is quick to call again. A long run goes on
        when you stop waiting: aurora_status tells how far it is."""
        name = memory or desk.names[0]
        try:
            run = await anyio.to_thread.run_sync(
                lambda: runs.join(name, desk.inside(name, path), git=git)
            )
        except AuroraError as exc:
            raise ToolError(in_words(exc)) from exc
        until, told = clock() + wait_seconds, 0
        while not run.over.is_set() and clock() < until:
            await anyio.sleep(_LOOK)
            if run.steps > told:
                told = run.steps
                await ctx.report_progress(told, None, run.words)
        if run.error is not None:
            raise ToolError(_why(run.error))
        made = _made(name, run)
        return answer(made, _words(made))

    return make_tool(aurora_index, "Index files", ADDS)


def _why(error: Exception) -> str:
    return in_words(error) if isinstance(error, AuroraError) else "The run failed; the log says why"


def _made(name: str, run: Run) -> Indexed:
    report = run.report
    if report is None:
        return Indexed(memory=name, state="running", progress=run.words)
    return Indexed(
        memory=name,
        state="done",
        scanned=report.scanned,
        parsed=report.parsed,
        unchanged=report.unchanged,
        removed=report.removed,
        chunks=run.chunks,
        skipped=dict(report.skipped) or None,
        warnings=list(report.warnings[:_TOLD]) or None,
        errors=list(report.errors[:_TOLD]) or None,
    )


def _words(made: Indexed) -> str:
    if made.state == "running":
        return f"The run goes on ({made.progress}). aurora_status tells when it is over."
    counts = f"{made.parsed} read, {made.unchanged} unchanged, {made.removed} gone"
    return said(
        f"{made.scanned} files ({counts}); {made.chunks} chunks in {made.memory}",
        [*(made.errors or ()), *(made.warnings or ())],
    )
