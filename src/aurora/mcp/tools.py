"""All tools of the MCP server: the methods of `Tools`.

To change a tool's description, edit the docstring of its method; a parameter's description is in
`parameters`, the fields of its answer are in `answers`. Then run `python -m tests.mcp.test_schemas`
and `make docs`. What a finished call has written is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from time import monotonic

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from aurora.display.trails import render_fixes, render_how, render_why
from aurora.engine import Memory
from aurora.engine.own_lines import read_chunk_text, read_lines
from aurora.engine.remarks import remarks_of
from aurora.errors import AuroraError, ChunkNotFoundError, NoMemoryError, QueryError
from aurora.indexing.provenance import provenance_of
from aurora.indexing.replacing import DOCUMENT
from aurora.mcp import parameters as take
from aurora.mcp.answers import (
    Cursor,
    Forgotten,
    IndexAge,
    Ingested,
    Learned,
    MemoryStatus,
    Retrieved,
    Status,
    brief_answer,
    brief_cost,
    chunk_fields,
    cut,
    fitting,
    found_entry,
    full_answer,
    full_cost,
    indexed_answer,
    read_cursor,
    search_answer,
    similar_entries,
    uri_of,
)
from aurora.mcp.brief import (
    SentLines,
    fill,
    head_line,
    line_key,
    make_row,
    more_line,
    note_lines,
    nothing_found,
    one_line,
    outline_lines,
    place_of,
    session_words,
    version_text,
)
from aurora.mcp.checked_tool import ADDS, READS, REMOVES, offered_methods, tool
from aurora.mcp.wording import for_agents
from aurora.retrieval.query import read_criteria
from aurora.serving.pool import IndexRuns, MemoryPool, collect_notes
from aurora.text import printable
from aurora.types import (
    AT_START,
    RECALL_BUDGET,
    Criteria,
    Kind,
    Mode,
    Moment,
    Rerank,
    SearchResult,
    Situation,
)

_CODE = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS, Kind.CODE)
_NO_LLM = "No language model was asked: the user's settings name none (`llm.endpoint`, `llm.model`)"
_BRIEF_TOKENS = 850  # of an answer: ten places with their best lines
_FULL_TOKENS = 4_000  # ten snippets with the reasons for their rank
_FEW, _MORE, _ROOMY = 10, 15, 2_000  # results, and those of a brief answer of so many tokens
_RETRIEVE_TOKENS = 8_000
_DEEPEST = 1_000  # results that pages go down to
_IDS = 20  # named in the answer of aurora_forget
_WAIT = 50.0  # seconds: most clients end a call after 60
_POLL = 0.1  # seconds between two looks at the progress of a run
_NAMESPACES = 50  # named in the answer of aurora_status, the largest first


class Tools:
    """The tools over the memories of a pool."""

    def __init__(self, pool: MemoryPool, *, sent: SentLines | None = None) -> None:
        """`sent` is what the one client of this server has been sent; nothing is sent twice."""
        self._pool, self._runs, self._sent = pool, IndexRuns(pool), sent
        methods = offered_methods(self, read_only=pool.read_only)
        self._offered = [method.__name__ for method in methods]

    def is_indexing(self) -> bool:
        """Whether an index run goes on, also when nobody waits for it any more."""
        return self._runs.is_any_running()

    def _told(self, notes: Iterable[str]) -> list[str]:
        """Notes in the words of an agent."""
        return [for_agents(note, self._offered) for note in notes]

    @tool(READS, apart=True)
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
        aurora_search. Answers places and their best lines. Then open
        path:line; do not search again for the same."""
        criteria = read_criteria(
            now=datetime.now(UTC), types=_CODE, paths=_given(path), languages=_given(language)
        )
        request = _Request(query, Mode(search_mode or mode), criteria, rerank=rerank)
        page = _Page(limit, cursor, max_tokens, detail, full_text, repeat)
        return self._search(memory, request, page)

    @tool(READS, apart=True)
    def aurora_search(
        self,
        *,
        query: take.AnyText,
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
        """Find decisions, lessons, documents, past sessions and code. Use it before a task; for
        code alone use search_code. Then open path:line, or aurora_retrieve the id."""
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
        history: take.History = False,
        detail: take.Detail = "brief",
        max_tokens: take.Tokens = None,
        repeat: take.Repeat = False,
        cursor: take.CursorWord = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Read a whole document, lesson or definition that a search named; not whole files. What is
        read ranks higher."""
        if history:
            versions = self._pool.memory(memory).history(id)
            text, is_cut = cut(
                "\n\n".join(map(version_text, versions)), max_tokens or _RETRIEVE_TOKENS
            )
            return brief_answer(text, *(["max_tokens shows more"] if is_cut else []))
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            holder, first = warm_memory.locate(id, is_use=not cursor)  # a further page is no use
            pieces = holder.admin.pieces(first)
            text, note, whole = read_chunk_text(holder, first)
            remarks = remarks_of(holder, first)
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
        value.remarks = list(remarks) or None
        if detail == "full":
            value.content, is_cut = cut(text[begin.offset :], tokens - full_cost(value))
            if is_cut:
                value.next_cursor = Cursor(begin.offset + len(value.content)).encode(identity)
            return full_answer(value)
        place = place_of(first, whole or first.lines)
        title = f"{place} {first.kind} {one_line(first.qualified_name or first.name)}"
        written = session_words(first) or provenance_of(first).words
        facts = "; ".join(filter(None, [written, *remarks]))
        about = [f"({printable(facts)})"] if facts else []
        head = "\n".join([title, *about, *note_lines(value.notes)])
        keys = [hash((first.id, begin.offset, text))]
        if self._sent and self._sent.of(keys) and not repeat:
            return brief_answer(f"{head} (sent before)", "repeat=true sends it again")
        room = tokens - brief_cost(head, more_line(Cursor(len(text)).encode(identity)))
        content, is_cut = cut(text[begin.offset :], room)
        if self._sent:
            lines = enumerate(content.split("\n"), start=first.lines.start if first.lines else 0)
            place = first.path if first.lines else first.id
            self._sent.add([*keys, *(line_key(place, *line) for line in lines)])
        end = Cursor(begin.offset + len(content)).encode(identity)
        return brief_answer(f"{head}\n{content}", *([more_line(end)] if is_cut else []))

    @tool(READS, apart=True)
    def aurora_recall(
        self,
        *,
        prompt: take.Prompt = "",
        max_tokens: take.Tokens = None,
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """What a session should know: recent decisions, lessons, open plans. Use it once, before
        the first task; with a prompt, only what surely fits. Not for questions."""
        situation = Situation(Moment.PROMPT, prompt) if prompt else AT_START
        recalled = self._pool.memory(memory).recall(situation, max_tokens or RECALL_BUDGET)
        notes = note_lines(self._told(note.text for note in recalled.notes))
        return brief_answer("\n".join([recalled.text or "Nothing to recall.", *notes]))

    @tool(READS, apart=True)
    def aurora_why(
        self,
        *,
        file: take.WhyFile = "",
        command: take.Command = "",
        error: take.ErrorText = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """The commits, sessions and decisions behind a file; or when a command last worked; or what
        mended an error. Give one. Use it before changing old code, and after a failure."""
        if sum(map(bool, (file, command, error))) != 1:
            raise QueryError("Give one of file, command and error", hint="ask for the others apart")
        with collect_notes() as heard:
            trail = self._pool.memory(memory).trail
            if file:
                answer, text = (why := trail.why(file)).notes, render_why(why)
            elif command:
                answer, text = (how := trail.how(command)).notes, render_how(how)
            else:
                answer, text = (fixes := trail.fix(error)).notes, render_fixes(fixes)
        notes = note_lines(self._told([*heard, *(note.text for note in answer)]))
        shown, _ = cut(text, _RETRIEVE_TOKENS)
        return brief_answer("\n".join([shown, *notes]))

    @tool(ADDS, writes=True)
    def aurora_ingest(
        self,
        *,
        ctx: Context,
        content: take.Content,
        document_type: take.DocumentLabel = DOCUMENT,
        source: take.Source = "",
        namespace: take.Group = "",
        metadata: take.Metadata = None,
        replaces: take.Replaces = "",
        files: take.About = (),
        model: take.Model = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Keep a decision, plan or findings for later sessions. The heading is the title; the same
        title replaces it. Not for project files or lessons (aurora_learn). Then replace what the
        answer names as contradicting."""
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            added = warm_memory.add(
                content,
                namespace=namespace,
                document_type=document_type,
                source=source,
                metadata=metadata,
                agent=_agent(ctx),
                model=model,
                files=files,
                replaces=replaces,
            )
        value = Ingested(
            id=added.id,
            uri=uri_of(added.id, memory),
            memory=memory or self._pool.names[0],
            title=added.title,
            pieces=added.pieces,
            outcome=str(added.outcome),
            replaces=list(added.replaces) or None,
            similar=similar_entries(added.similar),
            notes=self._told(notes) or None,
        )
        return full_answer(value)

    @tool(ADDS, writes=True)
    def aurora_learn(
        self,
        *,
        ctx: Context,
        text: take.Pattern,
        pattern_type: take.PatternType = "pattern",
        score: take.Score = 1.0,
        context: take.Context = "",
        team: take.Team = False,
        replaces: take.Replaces = "",
        files: take.About = (),
        model: take.Model = "",
        memory: take.MemoryName = "",
    ) -> CallToolResult:
        """Remember in a sentence or two what worked or did not, after solving what cost time. Not
        what the code says. Then replace what the answer names as contradicting."""
        with collect_notes() as notes, self._pool.turn(memory) as warm_memory:
            learned = warm_memory.learn(
                text,
                pattern_type=pattern_type,
                score=score,
                context=context,
                team=team,
                agent=_agent(ctx),
                model=model,
                files=files,
                replaces=replaces,
            )
            is_found = warm_memory.admin.is_found(learned.id)
        value = Learned(
            id=learned.id,
            uri=uri_of(learned.id, memory),
            memory=memory or self._pool.names[0],
            searchable=is_found,
            replaces=list(learned.replaces) or None,
            similar=similar_entries(learned.similar),
            notes=self._told(notes) or None,
        )
        return full_answer(value)

    @tool(REMOVES, writes=True)
    def aurora_forget(
        self, *, what: take.What, several: take.Several = False, memory: take.MemoryName = ""
    ) -> CallToolResult:
        """Remove for good what was stored by mistake; replace what is outdated. Files come back
        with the next index."""
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
        """Read the project's files before the first search, or after many changed: a search reads
        only a few. A long run continues: see aurora_status."""
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
        value = indexed_answer(name, run)
        value.warnings = self._told(value.warnings or ()) or None
        value.errors = self._told(value.errors or ()) or None
        return full_answer(value)

    @tool(READS)
    def aurora_status(self) -> CallToolResult:
        """What the memories hold, how fresh they are, progress of an index run. Use it when a
        search finds nothing, or for names of memories and namespaces."""
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
        ranked = list(enumerate(shown, start=begin.offset + 1))
        is_last = len(results.results) <= begin.offset + page.limit

        def cursor_after(count: int) -> str | None:
            if count == len(shown) and is_last:
                return None
            return Cursor(begin.offset + count, generation).encode(request.identity)

        if not page.is_full:
            said = [*note_lines(notes), *([] if shown else nothing_found(results))]
            return self._brief_page(memory, ranked, page, said, cursor_after)
        entries = [
            found_entry(
                result,
                rank,
                memory="" if everywhere else name,
                label=memory.label,
                whole_tokens=page.tokens if page.full_text else 0,
            )
            for rank, result in ranked
        ]
        value = search_answer(name or self._pool.names[0], results, index_age(memory))
        value.notes = notes or None
        kept = fitting(entries, page.tokens - full_cost(value))
        value.documents, value.total_found = kept, len(kept)
        value.next_cursor = cursor_after(len(kept))
        return full_answer(value)

    def _brief_page(
        self,
        memory: Memory,
        ranked: Sequence[tuple[int, SearchResult]],
        page: _Page,
        said: Sequence[str],
        cursor_after: Callable[[int], str | None],
    ) -> CallToolResult:
        """Results with their ranks in the brief form, and what is said besides."""
        rows = [
            make_row(result, head_line(result, rank, memory.label), outline_lines(memory, result))
            for rank, result in ranked
        ]
        after = more_line(cursor_after(0) or "")
        keys = {row.key(at) for row in rows for at in range(len(row.lines))}
        sent = self._sent.of(keys) if self._sent and not page.repeat else set()
        room = page.tokens - brief_cost("\n".join(said), after)
        rows = fill(rows, room, sent, lambda result: read_lines(memory, result.chunk))
        if self._sent:
            self._sent.add(row.key(at) for row in rows for at in row.shown)
        more = cursor_after(len(rows))
        text = "\n".join([*(row.text() for row in rows), *said])
        return brief_answer(text, *([more_line(more)] if more else []))

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
        status.indexing = status.indexing or (stats.run.ready_part if stats.run else None)
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
        """What a cursor belongs to, without dates: `7d` is another moment on every page."""
        return replace(self, criteria=replace(self.criteria, since=None, until=None))


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


def _agent(ctx: Context) -> str:
    """The name that the client gives itself."""
    parameters = ctx.request_context.session.client_params
    return parameters.client_info.name if parameters else ""


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
