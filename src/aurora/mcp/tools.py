"""All tools of the MCP server: the methods of `Tools`.

To change a tool's description, edit the docstring of its method; a parameter's description is in
`parameters`, the fields of its answer are in `answers`. Then run `python -m tests.mcp.test_schemas`
and `make docs`. What a finished call has written is stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from aurora.display.snippet import snippet
from aurora.engine import Memory
from aurora.engine.own_lines import read_chunk_text
from aurora.errors import AuroraError, ChunkNotFoundError, NoMemoryError
from aurora.indexing.replacing import DOCUMENT
from aurora.mcp import parameters as take
from aurora.mcp.answers import (
    Cursor,
    Forgotten,
    Found,
    IndexAge,
    Indexed,
    Ingested,
    Learned,
    MemoryStatus,
    Retrieved,
    SearchAnswer,
    Status,
    WeakMatch,
    chunk_fields,
    cut,
    fitting,
    read_cursor,
    retrieved_text,
    search_text,
    symbol_fields,
    token_cost,
    uri_of,
    with_notes,
)
from aurora.mcp.checked_tool import ADDS, COUNTS, READS, REMOVES, answer, tool
from aurora.mcp.pool import IndexRun, IndexRuns, MemoryPool, collect_notes
from aurora.retrieval.query import read_criteria
from aurora.text import pluralize, printable
from aurora.types import Criteria, Kind, Mode, Rerank, SearchResult

_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)
_NO_LLM = "No language model was asked: the user's settings name none (`llm.endpoint`, `llm.model`)"
_SEARCH_TOKENS = 4_000  # of an answer: ten snippets with their reasons
_RETRIEVE_TOKENS = 8_000
_CONTEXT = 3  # lines around the best match
_FIRST_LINE = 200  # characters
_DIGITS = 4  # of a score
_DEEPEST = 1_000  # results that pages go down to
_SHARE, _LEAST = 4, 100  # a whole chunk may take a quarter of the answer, at least so many tokens
_IDS = 20  # named in the answer of aurora_forget
_WAIT = 50.0  # seconds: most clients end a call after 60
_POLL = 0.1  # seconds between two looks at the progress of a run
_WARNINGS = 20  # repeated in the answer of aurora_index
_NAMESPACES = 50  # named in the answer of aurora_status, the largest first


class Tools:
    """The tools over the memories of a pool."""

    def __init__(self, pool: MemoryPool, *, read_only: bool = False) -> None:
        self._pool, self._runs, self._read_only = pool, IndexRuns(pool), read_only

    @tool("Search the memory", READS)
    def aurora_search(
        self,
        *,
        query: take.Text,
        namespace: take.Namespace = None,
        document_type: take.DocumentType = None,
        types: take.Kinds = None,
        limit: take.Limit = 10,
        threshold: take.Threshold = None,
        metadata_filters: take.Filters = None,
        use_hybrid: take.UseHybrid = True,
        expand_query: take.ExpandQuery = None,
        rerank: take.RerankBy = None,
        path: take.PathGlob = None,
        since: take.Since = None,
        full_text: take.FullText = False,
        max_tokens: take.Tokens = _SEARCH_TOKENS,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search everything remembered: code, notes, documents, conversations and lessons learned.
        Use it first, before you read files or start a task, with the words you would tell a
        colleague. Answers snippets with the reasons for their rank; aurora_retrieve gives the whole
        text of one. For code alone, search_code is narrower."""
        criteria = read_criteria(
            now=datetime.now(UTC),
            types=types or (),
            paths=_given(path),
            namespaces=_given(namespace),
            document_types=_given(document_type),
            metadata=_as_text(metadata_filters),
            since=since,
        )
        mode = None if use_hybrid else Mode.SEMANTIC
        request = _Request(query, mode, criteria, threshold, expand_query, rerank)
        return self._search(memory, request, _Page(limit, cursor, max_tokens, full_text))

    @tool("Search code", READS)
    def search_code(
        self,
        *,
        query: take.Text,
        search_mode: take.SearchMode = "hybrid",
        limit: take.Limit = 10,
        language: take.Language = None,
        path: take.PathGlob = None,
        rerank: take.RerankBy = None,
        full_text: take.FullText = False,
        max_tokens: take.Tokens = _SEARCH_TOKENS,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Find code: a definition by its name, or functions, methods and classes by what they do.
        Use it instead of grep when you do not know the exact spelling or the file. search_mode
        keyword is for exact identifiers and error texts, semantic for descriptions without the
        code's own words; hybrid does both."""
        criteria = read_criteria(
            now=datetime.now(UTC), types=_CODE, paths=_given(path), languages=_given(language)
        )
        request = _Request(query, Mode(search_mode), criteria, rerank=rerank)
        return self._search(memory, request, _Page(limit, cursor, max_tokens, full_text))

    @tool("Read one chunk", COUNTS)
    def aurora_retrieve(
        self,
        *,
        id: take.ChunkId,  # noqa: A002 - the name that agents know
        max_tokens: take.Tokens = _RETRIEVE_TOKENS,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Retrieved]:
        """Read one chunk in full by the id that a search or an ingest gave you, or as FILE:LINE:
        the smallest chunk around that line. Gives the lines of the file as it is now, a class with
        all of its methods; the id of a document gives all of its pieces. Counts as a use, which
        searches prefer from then on: so retrieve what you work with, and search to look around."""
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            holder, first = warm_memory.locate(id, is_use=not cursor)  # a further page is no use
            pieces = holder.admin.pieces(first)
            text, note, whole = read_chunk_text(holder, first)
        if len(pieces) > 1:  # of a document
            text = "\n\n".join(piece.content for piece in pieces)
        identity = (first.id, text)  # a cursor is invalid once the text has changed
        begin = read_cursor(cursor, identity, deepest=len(text))
        value = Retrieved(
            uri=uri_of(first.id, memory),
            memory=memory or self._pool.names[0],
            **chunk_fields(replace(first, lines=whole or first.lines)),
            pieces=len(pieces) if len(pieces) > 1 else None,
            content="",
            notes=[*notes, *filter(None, [note])] or None,
        )
        value.content, is_cut = cut(text[begin.offset :], max_tokens - token_cost(value))
        if is_cut:
            value.next_cursor = Cursor(begin.offset + len(value.content)).encode(identity)
        return answer(value, retrieved_text(value))

    @tool("Keep a document", ADDS, writes=True)
    def aurora_ingest(
        self,
        *,
        content: take.Content,
        document_type: take.DocumentLabel = DOCUMENT,
        source: take.Source = "",
        namespace: take.Group = "",
        metadata: take.Metadata = None,
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Ingested]:
        """Keep a document for later sessions and other agents: a plan, a decision, meeting notes, a
        summary of what you found. Give it a heading: that is its title. The same text is kept once.
        For files of the project use aurora_index; for a lesson in a sentence or two,
        aurora_learn."""
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            added = warm_memory.add(
                content,
                namespace=namespace,
                document_type=document_type,
                source=source,
                metadata=metadata,
            )
        value = Ingested(
            id=added.id,
            uri=uri_of(added.id, memory),
            memory=memory or self._pool.names[0],
            title=added.title,
            pieces=added.pieces,
            outcome=str(added.outcome),
            notes=notes or None,
        )
        text = f"{value.outcome.capitalize()} in {pluralize(value.pieces, 'piece')}: {value.title}"
        return answer(value, with_notes(f"{text}, id {value.id}", notes))

    @tool("Remember a lesson", COUNTS, writes=True)
    def aurora_learn(
        self,
        *,
        text: take.Pattern,
        pattern_type: take.PatternType = "pattern",
        score: take.Score = 1.0,
        context: take.Context = "",
        team: take.Team = False,
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Learned]:
        """Remember a lesson: what worked, or what did not, in a sentence or two. Use it when you
        solved something that cost time, so that it need not be found out again. Learned again, it
        counts as used again, and its score becomes the mean."""
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            chunk = warm_memory.learn(
                text, pattern_type=pattern_type, score=score, context=context, team=team
            ).chunk
            is_found = warm_memory.admin.is_found(chunk.id)
        value = Learned(
            id=chunk.id,
            uri=uri_of(chunk.id, memory),
            memory=memory or self._pool.names[0],
            searchable=is_found,
            notes=notes or None,
        )
        kept = "" if value.searchable else ", kept but not found by searches"
        return answer(value, with_notes(f"Learned: {chunk.name}, id {value.id}{kept}", notes))

    @tool("Forget", REMOVES, writes=True)
    def aurora_forget(
        self, *, what: take.What, several: take.Several = False, memory: take.MemoryName = ""
    ) -> Annotated[CallToolResult, Forgotten]:
        """Remove something from the memory for good: what is wrong, outdated or was stored by
        mistake. The files themselves stay, and what is indexed from a file that is still there
        comes back with the next index."""
        with self._pool.turn(memory) as warm_memory:
            for holder in warm_memory.layers().values():
                if ids := holder.admin.find_to_forget(what):
                    break
            else:
                raise ChunkNotFoundError(
                    f"Nothing is remembered of {what!r}",
                    hint="name an id from a result, a file or folder, or namespace:NAME",
                )
            agreed = several or len(ids) == 1 or ids[0] == what
            gone = holder.forget(ids, scrub=False) if agreed else 0
        if agreed:  # outside of the turn: concurrent calls share one scrub
            holder.admin.scrub()
        value = Forgotten(
            memory=memory or self._pool.names[0],
            what=what,
            forgotten=gone,
            would_forget=None if agreed else len(ids),
            ids=ids[:_IDS],
        )
        if agreed:
            return answer(value, f"Forgot {pluralize(gone, 'chunk')}")
        meant = f"{what} stands for {pluralize(len(ids), 'chunk')}: {', '.join(value.ids)}"
        return answer(value, f"Nothing forgotten yet. {meant}. If you mean them all: several=true")

    @tool("Index files", ADDS, writes=True)
    async def aurora_index(
        self,
        *,
        ctx: Context,
        path: take.IndexPath = "",
        git: take.Git = True,
        wait_seconds: take.Wait = _WAIT,
        memory: take.MemoryName = "",
    ) -> Annotated[CallToolResult, Indexed]:
        """Bring the memory up to date with the project's files, after they changed or before the
        first search. Only what changed is read, so it is quick to call again. A long run continues
        when you stop waiting: aurora_status shows its progress."""
        name = memory or self._pool.names[0]
        run = await anyio.to_thread.run_sync(
            lambda: self._runs.join(name, self._pool.resolve(name, path), git=git)
        )
        until, reported = monotonic() + wait_seconds, 0
        while not run.over.is_set() and monotonic() < until:
            await anyio.sleep(_POLL)
            if run.steps > reported:
                reported = run.steps
                await ctx.report_progress(reported, None, run.progress_text)
        if isinstance(run.error, AuroraError):
            raise run.error
        if run.error is not None:
            raise ToolError("The run failed; the log says why")
        value = _indexed(name, run)
        return answer(value, _indexed_text(value))

    @tool("Look at the memory", READS)
    def aurora_status(self) -> Annotated[CallToolResult, Status]:
        """Tell which memories there are, what they hold, how fresh they are and whether an index
        run is going on. Use it when a search finds nothing, or to learn names of memories and
        namespaces."""
        memories = [self._status(name) for name in self._pool.names]
        value = Status(version=program_version(), read_only=self._read_only, memories=memories)
        return answer(value, "\n".join(map(_status_text, memories)))

    def _search(self, name: str, request: _Request, page: _Page) -> CallToolResult:
        """One page of results, as many as fit into its tokens."""
        everywhere = name == take.ALL
        memory = self._pool.memory("" if everywhere else name)
        refused = [] if memory.admin.has_llm or not request.needs_llm else [_NO_LLM]
        begin = read_cursor(page.cursor, request.identity, deepest=_DEEPEST)
        results = memory.search(
            request.query,
            limit=begin.offset + page.limit + 1,  # one more shows whether there is a next page
            mode=request.mode,
            criteria=request.criteria,
            min_score=request.threshold,
            rerank=None if refused and request.rerank == Rerank.LLM else request.rerank,
            expand=None if refused else request.expand,
            workspace=everywhere,
        )
        age = index_age(memory)
        value = SearchAnswer(
            query=request.query,
            memory=name or self._pool.names[0],
            search_type=str(results.mode),
            fusion=results.fusion,
            signals=list(results.signals),
            total_found=0,
            documents=[],
            nearest=list(results.nearest) or None,
            weak=_weak(results.weak),
            index=age,
        )
        notes = [*refused, *(note.text for note in results.notes)]
        if begin.generation and begin.generation != age.generation:
            notes.append(
                "The memory changed since the page before: results may repeat or be missing"
            )
        entries = [
            _entry(result, rank, page, "" if everywhere else name, memory.label)
            for rank, result in enumerate(results.results[begin.offset :], start=begin.offset + 1)
        ]
        shown = fitting(entries[: page.limit], page.tokens - token_cost(value))
        value.documents, value.total_found, value.notes = shown, len(shown), notes or None
        if len(shown) < len(entries):
            next_page = Cursor(begin.offset + len(shown), age.generation)
            value.next_cursor = next_page.encode(request.identity)
        return answer(value, search_text(value))

    def _status(self, name: str) -> MemoryStatus:
        memory = self._pool.memory(name)
        status = MemoryStatus(
            name=name,
            folder=str(memory.root or self._pool.folders[name]),
            exists=True,
            indexing=self._runs.progress_text(name),
        )
        try:
            with collect_notes() as notes:
                stats = memory.stats()
        except NoMemoryError:
            status.exists = False
            return status
        largest = sorted(stats.namespaces.items(), key=lambda item: (-item[1], item[0]))
        status.database = str(stats.name)
        status.chunks = sum(stats.chunks.values())
        status.kinds = {str(kind): count for kind, count in stats.chunks.items()}
        status.files = stats.files
        status.namespaces = dict(largest[:_NAMESPACES])
        status.embedder = stats.embedder.name if stats.embedder else None
        status.embedded = stats.embedded
        status.keyword_index = str(stats.index.state)
        status.index = index_age(memory)
        status.notes = notes or None
        return status


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of one search."""

    query: str
    mode: Mode | None
    criteria: Criteria
    threshold: float | None = None
    expand: bool | None = None
    rerank: str | None = None

    @property
    def needs_llm(self) -> bool:
        return bool(self.expand) or self.rerank == Rerank.LLM

    @property
    def identity(self) -> _Request:
        """What a cursor belongs to, without `since`: `7d` is another moment on every page."""
        return replace(self, criteria=replace(self.criteria, since=None))


@dataclass(frozen=True, slots=True)
class _Page:
    """Which part of the results is wanted, and how much of each."""

    limit: int
    cursor: str
    tokens: int
    full: bool


def _given(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


def _as_text(filters: Mapping[str, take.Scalar] | None) -> dict[str, str] | None:
    """Metadata values as text, as the store compares them."""
    if filters is None:
        return None
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in filters.items()
    }


def _entry(result: SearchResult, rank: int, page: _Page, memory: str, label: str) -> Found:
    room = max(page.tokens // _SHARE, _LEAST)
    text, is_cut = cut(result.content, room) if page.full else (_snippet(result), False)
    return Found(
        rank=rank,
        uri=uri_of(result.chunk_id, memory),
        **chunk_fields(result.chunk),
        symbol=symbol_fields(result),
        more=result.more or None,
        memory=result.memory if result.memory != label else None,
        outline=result.chunk.is_outline or None,
        similarity_score=round(result.score, _DIGITS),
        embedding_score=round(result.semantic_score, _DIGITS),
        keyword_score=round(result.bm25_score or result.normalised("fulltext"), _DIGITS),
        contributions={part.signal: round(part.value, _DIGITS) for part in result.contributions},
        terms=list(result.terms) or None,
        snippet=None if page.full else text,
        content=text if page.full else None,
        truncated=is_cut or None,
    )


def _weak(result: SearchResult | None) -> WeakMatch | None:
    if result is None:
        return None
    return WeakMatch(
        id=result.chunk_id,
        name=result.name,
        path=result.chunk.path or None,
        line=result.lines.start if result.lines else None,
        similarity_score=round(result.score, _DIGITS),
    )


def _snippet(result: SearchResult) -> str:
    """The first line of the chunk, and the lines around the symbol or the best match."""
    chunk, terms = result.chunk, result.terms
    shown = snippet(chunk, terms, context=_CONTEXT, symbol=result.symbol)
    lines = [line.text for line in shown]
    first = printable(result.content.partition("\n")[0].strip()[:_FIRST_LINE])
    if first and not any(line.strip().startswith(first) for line in lines):
        lines = [first, "…", *lines]
    return "\n".join(lines)


def _indexed(name: str, run: IndexRun) -> Indexed:
    report = run.report
    if report is None:
        return Indexed(memory=name, state="running", progress=run.progress_text)
    return Indexed(
        memory=name,
        state="done",
        scanned=report.scanned,
        parsed=report.parsed,
        unchanged=report.unchanged,
        removed=report.removed,
        chunks=run.chunks,
        skipped=dict(report.skipped) or None,
        warnings=list(report.warnings[:_WARNINGS]) or None,
        errors=list(report.errors[:_WARNINGS]) or None,
    )


def _indexed_text(value: Indexed) -> str:
    if value.state == "running":
        return f"The run continues ({value.progress}). aurora_status shows when it ends."
    counts = f"{value.parsed} read, {value.unchanged} unchanged, {value.removed} gone"
    return with_notes(
        f"{value.scanned} files ({counts}); {value.chunks} chunks in {value.memory}",
        [*(value.errors or ()), *(value.warnings or ())],
    )


def _status_text(status: MemoryStatus) -> str:
    if not status.exists:
        text = "nothing indexed yet: call aurora_index"
    else:
        age = status.index.age_seconds if status.index else None
        fresh = "files never indexed" if age is None else f"files indexed {age} s ago"
        meaning = f"meaning by {status.embedder}" if status.embedder else "by words alone"
        text = f"{status.chunks} chunks of {status.files} files, {fresh}, {meaning}"
    running = f"; indexing now: {status.indexing}" if status.indexing else ""
    return with_notes(f"{status.name} ({status.folder}): {text}{running}", status.notes or [])


def index_age(memory: Memory) -> IndexAge:
    if not memory.exists:
        return IndexAge(generation=0, indexed_at=None, age_seconds=None)
    at = memory.indexed_at
    age = None if at is None else max(round((datetime.now(UTC) - at).total_seconds()), 0)
    return IndexAge(
        generation=memory.admin.generation,
        indexed_at=at.isoformat() if at else None,
        age_seconds=age,
    )


def program_version() -> str:
    try:
        return version("aurora-memory")
    except PackageNotFoundError:  # run from a folder
        return "unknown"
