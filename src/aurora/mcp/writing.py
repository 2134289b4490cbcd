"""The tools that change the memory: `aurora_ingest`, `aurora_learn` and `aurora_forget`.

A call that was answered is stored. Writers of this server come one after the other, and another
process that indexes lets them in between its batches.
"""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import Field

from aurora.errors import ChunkNotFoundError
from aurora.indexing.labels import DOCUMENT
from aurora.mcp import parameters as take
from aurora.mcp.chunks import uri_of
from aurora.mcp.desk import Desk, hearing
from aurora.mcp.shapes import Forgotten, Ingested, Learned
from aurora.mcp.tooling import ADDS, COUNTS, REMOVES, answer, make_tool, telling
from aurora.mcp.wording import said
from aurora.text import many

_NAMED = 20  # ids told of what is forgotten


def writing_tools(desk: Desk) -> list[Tool]:
    return [_ingest(desk), _learn(desk), _forget(desk)]


def _ingest(desk: Desk) -> Tool:
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
        words = f"{made.outcome.capitalize()} in {many(made.pieces, 'piece')}: {made.title}"
        return answer(made, said(f"{words}, id {made.id}", told))

    return make_tool(aurora_ingest, "Keep a document", ADDS)


def _learn(desk: Desk) -> Tool:
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
            is_found = here.is_found(learned.id)
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


def _forget(desk: Desk) -> Tool:
    @telling
    def aurora_forget(
        *, what: take.What, several: take.Several = False, memory: take.MemoryName = ""
    ) -> Annotated[CallToolResult, Forgotten]:
        """Remove something from the memory for good: what is wrong, outdated or was stored by
        mistake. The files themselves stay, and what is indexed from a file that is still there
        comes back with the next index."""
        here = desk.memory(memory)
        with desk.turn(here):
            found = here.find_to_forget(what)
            if not found:
                raise ChunkNotFoundError(
                    f"Nothing is remembered of {what!r}",
                    hint="name an id from a result, a file or folder, or namespace:NAME",
                )
            agreed = several or len(found) == 1 or found[0] == what
            gone = here.forget(found, scrub=False) if agreed else 0
        if agreed:  # outside of its turn: who forgets at the same time shares it
            here.scrub()
        made = Forgotten(
            memory=memory or desk.names[0],
            what=what,
            forgotten=gone,
            would_forget=None if agreed else len(found),
            ids=found[:_NAMED],
        )
        if agreed:
            return answer(made, f"Forgot {many(gone, 'chunk')}")
        names = ", ".join(made.ids)
        told = f"{what} stands for {many(len(found), 'chunk')}: {names}"
        return answer(made, f"Nothing forgotten yet. {told}. If you mean them all: several=true")

    return make_tool(aurora_forget, "Forget", REMOVES)
