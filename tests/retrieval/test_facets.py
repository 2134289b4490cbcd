"""What results have in common, and the filters of a query as they are written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from aurora.retrieval.facets import Facet, count_facets
from aurora.retrieval.query import WrittenFilter, list_filters, parse_query
from aurora.types import Chunk, ChunkHistory, Kind, SearchResult
from tests.builders import NOW, make_chunk, make_exchange


def found(chunk: Chunk, *, days: int | None = None, memory: str = "shop") -> SearchResult:
    commits = () if days is None else (int((NOW - timedelta(days=days)).timestamp()),)
    return SearchResult(chunk, 0.5, (), ChunkHistory(commits=commits), memory=memory)


def test_results_are_counted_by_what_they_have_in_common() -> None:
    results = [
        found(make_chunk(path="src/api/users.py"), days=0),
        found(make_chunk(path="src/api/v2/users.py"), days=3),
        found(make_chunk(path="src/web/cart.ts", language="typescript"), days=400),
        found(make_chunk(path="", kind=Kind.REASONING, language=""), memory="personal"),
    ]

    facets = count_facets(results, now=NOW)

    assert facets["layer"] == [Facet("shop", "shop", 3, ""), Facet("personal", "personal", 1, "")]
    assert facets["kind"] == [
        Facet("function", "function", 3, "type:function"),
        Facet("reasoning", "reasoning", 1, "type:reasoning"),
    ]
    assert facets["language"] == [
        Facet("python", "python", 2, "lang:python"),
        Facet("typescript", "typescript", 1, "lang:typescript"),
    ]
    assert facets["folder"] == [
        Facet("src/api/", "src/api/", 2, "path:src/api/"),
        Facet("src/web/", "src/web/", 1, "path:src/web/"),
    ]
    assert facets["time"] == [
        Facet("1d", "last day", 1, "since:1d"),
        Facet("7d", "last 7 days", 2, "since:7d"),
        Facet("30d", "last 30 days", 2, "since:30d"),
        Facet("1y", "last year", 2, "since:1y"),
    ]
    assert facets["agent"] == []


def test_sessions_are_counted_by_agent() -> None:
    results = [found(chunk) for chunk in make_exchange(agent="codex")]

    assert count_facets(results, now=NOW)["agent"] == [
        Facet("codex", "codex", len(results), "agent:codex")
    ]


def test_a_folder_with_spaces_is_quoted() -> None:
    chunk = make_chunk(path="my notes/a.md")
    [folder] = count_facets([found(chunk), found(make_chunk(path="b.md"))], now=NOW)["folder"]

    assert folder.filter == 'path:"my notes/"'
    assert parse_query(f"x {folder.filter}", now=NOW).criteria.paths == ("my notes/",)


def test_files_of_several_repositories() -> None:
    """Those of another one have absolute paths."""
    paths = ("a.py", "src/b.py", "/home/ana/other/c.py", "/home/ana/other/d/e.py")
    results = [found(make_chunk(path=path)) for path in paths]

    mixed = count_facets(results, now=NOW)["folder"]
    assert [facet.value for facet in mixed] == ["src/", "/home/ana/other/", "/home/ana/other/d/"]
    outside = count_facets(results[2:], now=NOW)["folder"]
    assert [facet.value for facet in outside] == ["/home/ana/other/", "/home/ana/other/d/"]


def test_nothing_has_no_facets() -> None:
    assert set(map(len, count_facets([], now=NOW).values())) == {0}


def test_filters_come_as_they_are_written() -> None:
    query = 'retry "exact words" -test lang:py,go since:7d type:banana path:"my notes/**"'

    assert list_filters(query, now=NOW) == [
        WrittenFilter('"exact words"', "phrase", '"exact words"'),
        WrittenFilter("-test", "without", "test"),
        WrittenFilter("lang:py,go", "lang", "py,go"),
        WrittenFilter("since:7d", "since", "7d"),
        WrittenFilter('path:"my notes/**"', "path", '"my notes/**"'),
    ]


def test_without_a_filter_s_text_the_query_has_one_less() -> None:
    query = "retry type:function since:7d"
    removed = list_filters(query, now=NOW)[0]

    rest = parse_query(query.replace(removed.text, ""), now=NOW)

    assert rest.words == "retry"
    assert rest.criteria == replace(parse_query(query, now=NOW).criteria, kinds=())


def test_plain_words_are_no_filters() -> None:
    assert list_filters("-test", now=NOW) == []
    assert list_filters("std::vector 12:30", now=NOW) == []
