"""Views of searches and of single results."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter
from typing import cast

from aurora.display.records import Source, chunk_text_record, search_record
from aurora.engine.own_lines import as_whole, read_chunk_text
from aurora.engine.remarks import remarks_of
from aurora.retrieval.facets import count_facets
from aurora.retrieval.query import list_filters, parse_query
from aurora.types import Json
from aurora.web.door import Door

_FACETED = 100  # results that facets are counted over: more take longer than a keystroke
_MOST = 500  # results of one answer
_CONTEXT = 2  # lines around the best one: a row of the page shows three


def search(
    door: Door,
    *,
    q: str,
    limit: int = 20,
    mode: str = "",
    memory: str = "",
    workspace: bool = False,
    facets: bool = True,
) -> dict[str, Json]:
    """The best results for a query, its filters, and facets of the first 100 results.

    Without `facets` it takes a fraction of the time, and names no similar names, either.
    The object of `aur mem search --json`, with `parsed`, `facets`, `generation`, `milliseconds`,
    and a `confidence` in each result.
    """
    began, opened, now = perf_counter(), door.memory, door.now
    limit = max(1, min(limit, _MOST))
    answer = opened.search(
        q,
        limit=max(limit, _FACETED) if facets else limit,
        mode=mode or None,
        suggest=facets,  # of half a million chunks, similar names take a second
        workspace=workspace,
        memories=[memory] if memory else (),
    )
    counted = count_facets(answer.results[:_FACETED], now=now) if facets else {}
    shown = replace(
        answer, query=replace(answer.query, limit=limit), results=answer.results[:limit]
    )
    source = Source(opened.name, opened.root, opened.indexed_at if opened.exists else None)
    record = search_record(shown, source, now=now, context=_CONTEXT)
    rows = zip(cast("list[dict[str, Json]]", record["results"]), shown.results, strict=True)
    return {
        **record,
        "results": [{**row, "confidence": result.relevance} for row, result in rows],
        "parsed": {
            "words": parse_query(q, now=now).words,
            "filters": [dict(each._asdict()) for each in list_filters(q, now=now)],
        },
        "facets": {name: [asdict(facet) for facet in listed] for name, listed in counted.items()},
        "generation": opened.admin.generation if opened.exists else 0,
        "milliseconds": round((perf_counter() - began) * 1000, 1),
    }


def chunk(door: Door, *, id_: str, memory: str = "", use: bool = True) -> dict[str, Json]:
    """A chunk with its text, as `aur mem get --json` prints it. A use, but for `use=0`."""
    holder, found = door.chunk(id_, memory, is_use=use)
    text, note, whole = read_chunk_text(holder, found)
    record = chunk_text_record(as_whole(found, whole), text, note, remarks_of(holder, found))
    return {**record, "memory": holder.label}
