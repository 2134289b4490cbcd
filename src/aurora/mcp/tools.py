"""All tools of the MCP server: the methods of `Tools`.

To change a tool's description, edit the docstring of its method; a parameter's description is in
`parameters`, the fields of its answer are in `answers`. Then run `python -m tests.mcp.test_schemas`
and `make docs`. What a finished call has written is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from time import monotonic

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from aurora.display.snippet import Line, numbered_lines, snippet
from aurora.engine import Memory
from aurora.engine.own_lines import number_outline, read_chunk_text, read_lines
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
    brief_answer,
    brief_cost,
    chunk_fields,
    cut,
    fitting,
    full_answer,
    full_cost,
    read_cursor,
    symbol_fields,
    uri_of,
)
from aurora.mcp.brief import SentLines, fill, line_key, make_row
from aurora.mcp.checked_tool import ADDS, READS, REMOVES, offered_methods, tool
from aurora.mcp.pool import IndexRun, IndexRuns, MemoryPool, collect_notes
from aurora.mcp.wording import for_agents
from aurora.retrieval.query import read_criteria
from aurora.text import printable
from aurora.types import (
    Chunk,
    Criteria,
    Kind,
    Lines,
    Mode,
    Rerank,
    SearchResult,
    SearchResults,
)

_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)
_NO_LLM = "No language model was asked: the user's settings name none (`llm.endpoint`, `llm.model`)"
_BRIEF_TOKENS = 850  # of an answer: ten places with their best lines
_FULL_TOKENS = 4_000  # ten snippets with the reasons for their rank
_FEW, _MORE, _ROOMY = 10, 15, 2_000  # results, and those of a brief answer of so many tokens
_RETRIEVE_TOKENS = 8_000
_LONGEST_NAME = 100  # characters
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

    def __init__(self, pool: MemoryPool, *, sent: SentLines | None = None) -> None:
        """`sent` is what the one client of this server has been sent; nothing is sent twice."""
        self._pool, self._runs, self._sent = pool, IndexRuns(pool), sent
        methods = offered_methods(self, read_only=pool.read_only)
        self._offered = [method.__name__ for method in methods]

    def _told(self, notes: Iterable[str]) -> list[str]:
        """Notes in the words of an agent."""
        return [for_agents(note, self._offered) for note in notes]

    @tool(READS)
    def search_code(
        self,
        *,
        query: take.Text,
        mode: take.SearchMode = "hybrid",
        search_mode: take.OldMode = None,
        limit: take.Limit = None,
        language: take.Language = None,
        path: take.PathGlob = None,
        rerank: take.RerankBy = None,
        detail: take.Detail = "brief",
        full_text: take.FullText = False,
        max_tokens: take.Tokens = None,
        repeat: take.Repeat = False,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Find code by name or by what it does. Use it before grep and reading files; for prose use
        aurora_search. Answers path:lines, kind, name, confidence and the best lines. Then open
        path:line; do not search again for the same."""
        criteria = read_criteria(
            now=datetime.now(UTC), types=_CODE, paths=_given(path), languages=_given(language)
        )
        request = _Request(query, Mode(search_mode or mode), criteria, rerank=rerank)
        page = _Page(limit, cursor, max_tokens, detail, full_text, repeat)
        return self._search(memory, request, page)

    @tool(READS)
    def aurora_search(
        self,
        *,
        query: take.Text,
        mode: take.SearchMode = "hybrid",
        namespace: take.Namespace = None,
        document_type: take.DocumentType = None,
        types: take.Kinds = None,
        limit: take.Limit = None,
        threshold: take.Threshold = None,
        metadata_filters: take.Filters = None,
        use_hybrid: take.UseHybrid = True,
        expand_query: take.ExpandQuery = None,
        rerank: take.RerankBy = None,
        path: take.PathGlob = None,
        since: take.Since = None,
        detail: take.Detail = "brief",
        full_text: take.FullText = False,
        max_tokens: take.Tokens = None,
        repeat: take.Repeat = False,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Find decisions, lessons, documents, past sessions and code. Use it before a task and for
        why and how; for code alone use search_code. Then open path:line, or aurora_retrieve the
        id."""
        criteria = read_criteria(
            now=datetime.now(UTC),
            types=types or (),
            paths=_given(path),
            namespaces=_given(namespace),
            document_types=_given(document_type),
            metadata=_as_text(metadata_filters),
            since=since,
        )
        wanted = Mode(mode) if use_hybrid else Mode.SEMANTIC
        request = _Request(query, wanted, criteria, threshold, expand_query, rerank)
        page = _Page(limit, cursor, max_tokens, detail, full_text, repeat)
        return self._search(memory, request, page)

    @tool(ADDS)
    def aurora_retrieve(
        self,
        *,
        id: take.ChunkId,  # noqa: A002 - the name that agents know
        detail: take.Detail = "brief",
        max_tokens: take.Tokens = None,
        repeat: take.Repeat = False,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Read a whole document, lesson or definition that a search named. Not for whole files.
        Counts as a use: what is used ranks higher."""
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
            notes=self._told([*notes, *filter(None, [note])]) or None,
        )
        tokens = max_tokens or _RETRIEVE_TOKENS
        if detail == "full":
            value.content, is_cut = cut(text[begin.offset :], tokens - full_cost(value))
            if is_cut:
                value.next_cursor = Cursor(begin.offset + len(value.content)).encode(identity)
            return full_answer(value)
        place = _place(first, whole or first.lines)
        title = f"{place} {first.kind} {_line(first.qualified_name or first.name)}"
        head = "\n".join([title, *_note_lines(value.notes)])
        keys = [hash((first.id, begin.offset, text))]
        if self._sent and self._sent.of(keys) and not repeat:
            return brief_answer(f"{head} (sent before)", "repeat=true sends it again")
        room = tokens - brief_cost(head, _more(Cursor(len(text)).encode(identity)))
        content, is_cut = cut(text[begin.offset :], room)
        if self._sent:
            lines = enumerate(content.split("\n"), start=first.lines.start if first.lines else 0)
            place = first.path if first.lines else first.id
            self._sent.add([*keys, *(line_key(place, *line) for line in lines)])
        end = Cursor(begin.offset + len(content)).encode(identity)
        return brief_answer(f"{head}\n{content}", *([_more(end)] if is_cut else []))

    @tool(ADDS, writes=True)
    def aurora_ingest(
        self,
        *,
        content: take.Content,
        document_type: take.DocumentLabel = DOCUMENT,
        source: take.Source = "",
        namespace: take.Group = "",
        metadata: take.Metadata = None,
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Keep a document for later sessions and other agents: a decision, a plan, findings. Its
        heading is its title. Not for files of the project (aurora_index) or a lesson of a sentence
        (aurora_learn)."""
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
            notes=self._told(notes) or None,
        )
        return full_answer(value)

    @tool(ADDS, writes=True)
    def aurora_learn(
        self,
        *,
        text: take.Pattern,
        pattern_type: take.PatternType = "pattern",
        score: take.Score = 1.0,
        context: take.Context = "",
        team: take.Team = False,
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Remember in a sentence or two what worked, or what did not, after solving something that
        cost time. Not for what the code says. Learned again, it counts as tried again."""
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
            notes=self._told(notes) or None,
        )
        return full_answer(value)

    @tool(REMOVES, writes=True)
    def aurora_forget(
        self, *, what: take.What, several: take.Several = False, memory: take.MemoryName = ""
    ) -> CallToolResult:
        """Remove for good what was stored by mistake. What is outdated, replace. Files stay, and
        come back with the next index."""
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
        if not agreed:
            value.next_step = "Nothing is forgotten yet. If you mean them all: several=true"
        return full_answer(value)

    @tool(ADDS, writes=True)
    async def aurora_index(
        self,
        *,
        ctx: Context,
        path: take.IndexPath = "",
        git: take.Git = True,
        wait_seconds: take.Wait = _WAIT,
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Read the project's files before the first search, or after many changed. Searches read a
        few changed files by themselves. A long run continues: see aurora_status."""
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
        value.warnings = self._told(value.warnings or ()) or None
        value.errors = self._told(value.errors or ()) or None
        return full_answer(value)

    @tool(READS)
    def aurora_status(self) -> CallToolResult:
        """What the memories hold, how fresh they are, and progress of an index run. Use it when a
        search finds nothing, or for the names of memories and namespaces."""
        memories = [self._status(name) for name in self._pool.names]
        return full_answer(
            Status(version=program_version(), read_only=self._pool.read_only, memories=memories)
        )

    def _search(self, name: str, request: _Request, page: _Page) -> CallToolResult:
        """One page of results, as much of them as fits into its tokens."""
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
        generation = memory.admin.generation if memory.exists else 0
        notes = self._told([*refused, *(note.text for note in results.notes)])
        if begin.offset and not begin.is_of(generation):
            notes.append(
                "The memory changed since the page before: results may repeat or be missing"
            )
        shown = results.results[begin.offset : begin.offset + page.limit]
        is_last = len(results.results) <= begin.offset + page.limit

        def cursor_after(count: int) -> str | None:
            if count == len(shown) and is_last:
                return None
            return Cursor(begin.offset + count, generation).encode(request.identity)

        if page.is_full:
            entries = [
                _entry(result, rank, page, "" if everywhere else name, memory.label)
                for rank, result in enumerate(shown, start=begin.offset + 1)
            ]
            value = _search_answer(name or self._pool.names[0], results, index_age(memory))
            value.notes = notes or None
            kept = fitting(entries, page.tokens - full_cost(value))
            value.documents, value.total_found = kept, len(kept)
            value.next_cursor = cursor_after(len(kept))
            return full_answer(value)
        rows = [
            make_row(result, _head(result, rank, memory.label), _outline(memory, result))
            for rank, result in enumerate(shown, start=begin.offset + 1)
        ]
        said = [*_note_lines(notes), *([] if shown else _nothing_found(results))]
        after = _more(cursor_after(0) or "")
        keys = {row.key(at) for row in rows for at in range(len(row.lines))}
        sent = self._sent.of(keys) if self._sent and not page.repeat else set()
        room = page.tokens - brief_cost("\n".join(said), after)
        rows = fill(rows, room, sent, lambda result: read_lines(memory, result.chunk))
        if self._sent:
            self._sent.add(row.key(at) for row in rows for at in row.shown)
        more = cursor_after(len(rows))
        text = "\n".join([*(row.text() for row in rows), *said])
        return brief_answer(text, *([_more(more)] if more else []))

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
        status.notes = self._told(notes) or None
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

    wanted: int | None  # results
    cursor: str
    max_tokens: int | None
    detail: str
    full_text: bool
    repeat: bool

    @property
    def is_full(self) -> bool:
        return self.detail == "full" or self.full_text

    @property
    def limit(self) -> int:
        return self.wanted or (_MORE if self.tokens >= _ROOMY and not self.is_full else _FEW)

    @property
    def tokens(self) -> int:
        return self.max_tokens or (_FULL_TOKENS if self.is_full else _BRIEF_TOKENS)


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


def _search_answer(name: str, results: SearchResults, age: IndexAge) -> SearchAnswer:
    return SearchAnswer(
        query=results.query.text,
        memory=name,
        search_type=str(results.mode),
        fusion=results.fusion,
        signals=list(results.signals),
        total_found=0,
        documents=[],
        nearest=list(results.nearest) or None,
        weak=_weak(results.weak),
        index=age,
    )


def _head(result: SearchResult, rank: int, label: str) -> str:
    """Such as `1. src/app.py:12-30 method App.run 93%`; what has no file has its id."""
    chunk, symbol = result.chunk, result.symbol
    name = symbol.name if symbol else chunk.qualified_name or chunk.name
    elsewhere = f" in memory {result.memory}" if result.memory not in ("", label) else ""
    head = f"{_place(chunk, result.lines)} {symbol.kind if symbol else chunk.kind}"
    return f"{rank}. {head} {_line(name)} {result.score:.0%}{_line(elsewhere)}"


def _outline(memory: Memory, result: SearchResult) -> list[Line]:
    """The lines of an outline without ellipses, which look like stubs; none for other chunks."""
    chunk = result.chunk
    if not chunk.is_outline:
        return []
    texts = [line.text for line in numbered_lines(result)[0]]
    numbers = number_outline(memory, chunk, texts)
    shown = [text.rstrip().removesuffix("...").rstrip() for text in texts]
    return [Line(text, numbers.get(at), ()) for at, text in enumerate(shown)]


def _place(chunk: Chunk, lines: Lines | None) -> str:
    if not chunk.path or lines is None:
        return printable(chunk.id)
    start, end = lines
    return printable(f"{chunk.path}:{start}" + (f"-{end}" if end > start else ""))


def _line(name: str) -> str:
    return printable(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


def _note_lines(notes: Sequence[str] | None) -> list[str]:
    return [f"note: {printable(note)}" for note in notes or ()]


def _nothing_found(results: SearchResults) -> list[str]:
    weak = results.weak
    lines = ["Nothing relevant found."]
    if weak:
        place = f"{_place(weak.chunk, weak.lines)} {_line(weak.name)} {weak.score:.0%}"
        lines.append(f"Best weak match: {place}")
    if results.nearest:
        lines.append(f"Names like it: {printable(', '.join(results.nearest))}")
    return lines


def _more(cursor: str) -> str:
    return f"more: cursor={cursor}"


def _entry(result: SearchResult, rank: int, page: _Page, memory: str, label: str) -> Found:
    room = max(page.tokens // _SHARE, _LEAST)
    text, is_cut = cut(result.content, room) if page.full_text else (_snippet(result), False)
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
        snippet=None if page.full_text else text,
        content=text if page.full_text else None,
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
