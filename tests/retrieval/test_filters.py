"""Which chunks may be results: seed 000's UT-FILTER-01 to 06, and every other filter.

FR-7.4: a filter leaves chunks out and changes nothing about the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from aurora import Memory, Places
from aurora.errors import QueryError
from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import FUSIONS
from aurora.retrieval.query import read_criteria, read_kinds
from aurora.types import Chunk, ChunkHistory, Criteria, Kind, SearchResults
from tests.builders import NOW, make_chunk, make_exchange, write_tree
from tests.retrieval.meaning import WordProvider

every_fusion = pytest.mark.parametrize("fusion", FUSIONS)

QUESTION = "retry with backoff"
OF_EACH_KIND = [
    make_chunk(f"retry {kind} with backoff", name=f"a_{kind}", path=f"{kind}.py", kind=kind)
    for kind in Kind
]
VARIED = [
    make_chunk("retry with backoff", name="get_page", path="src/net/http.py"),
    make_chunk("retry after a pause with backoff", name="get_row", path="src/db.py"),
    make_chunk("backoff, then retry with care", name="fetch", path="web/app.ts",
               language="typescript"),
    make_chunk("retry on Mondays with backoff", name="plan", path="notes/plan.md",
               kind=Kind.KNOWLEDGE, language="markdown", namespace="team",
               document_type="runbook", metadata={"owner": "ana", "tags": ["ops", "net"]},
               created_at=NOW - timedelta(days=2)),
    make_chunk("we used to retry with backoff", name="old", path="notes/old.md",
               kind=Kind.KNOWLEDGE, language="markdown", namespace="archive",
               document_type="letter", metadata={"owner": "ben"},
               created_at=NOW - timedelta(days=200)),
]  # fmt: skip


@pytest.fixture
def memory(places: Places) -> Iterator[Memory]:
    with Memory(places, now=lambda: NOW, embedder=WordProvider()) as memory:
        memory.admin.create()
        yield memory


def put(memory: Memory, chunks: list[Chunk]) -> None:
    memory.admin.store.chunks.put_chunks(chunks)
    embed_missing(memory.admin.store, WordProvider())


def names(answer: SearchResults) -> set[str]:
    return {result.chunk.name for result in answer.results}


def scores(answer: SearchResults) -> dict[str, float]:
    return {result.chunk_id: result.score for result in answer.results}


def of_types(*types: str) -> Criteria:
    return read_criteria(now=NOW, types=types)


def test_ut_filter_01_single_type_exact_match(memory: Memory) -> None:
    """--type function returns only FunctionChunk; a class's methods are not of type class."""
    put(memory, OF_EACH_KIND)
    for kind in Kind:
        found = memory.search(QUESTION, criteria=of_types(kind.value)).results
        assert [result.chunk.kind for result in found] == [kind]


def test_ut_filter_02_multiple_types(memory: Memory) -> None:
    """--type function,class returns union."""
    put(memory, OF_EACH_KIND)
    for types in (["function,class"], ["function", "class"], [" class , function ,"]):
        found = memory.search(QUESTION, criteria=of_types(*types))
        assert names(found) == {"a_function", "a_class"}


@pytest.mark.parametrize("types", ["functon", "function,functon"])
def test_ut_filter_03_invalid_type_error(types: str) -> None:
    """--type invalid raises clear error, in the words of FR-7.3."""
    with pytest.raises(QueryError) as caught:
        read_kinds([types])
    assert str(caught.value) == (
        "Invalid chunk type 'functon'. "
        "Valid types: function, method, class, code, reasoning, knowledge"
    )


@pytest.mark.parametrize("types", ["Function", "FUNCTION", "function,Function"])
def test_ut_filter_04_case_insensitive(memory: Memory, types: str) -> None:
    """--type Function works (case insensitive)."""
    put(memory, OF_EACH_KIND)
    assert read_kinds([types]) == (Kind.FUNCTION,)
    assert names(memory.search(QUESTION, criteria=of_types(types))) == {"a_function"}


@every_fusion
def test_ut_filter_05_no_results_after_filter(memory: Memory, fusion: str) -> None:
    """Type filter removes all results gracefully."""
    put(memory, [chunk for chunk in OF_EACH_KIND if chunk.kind is not Kind.REASONING])
    found = memory.search(QUESTION, fusion=fusion, criteria=of_types("reasoning"))
    assert found.results == ()


def test_ut_filter_06_reasoning_and_knowledge_types(memory: Memory) -> None:
    """--type reasoning,knowledge works."""
    put(memory, OF_EACH_KIND)
    found = memory.search(QUESTION, criteria=of_types("reasoning,knowledge"))
    assert {result.chunk.kind for result in found.results} == {Kind.REASONING, Kind.KNOWLEDGE}


@every_fusion
def test_a_rare_kind_fills_the_limit_with_the_scores_it_has_anyway(
    memory: Memory, fusion: str, backend: str
) -> None:
    """FR-7.4: five of 505, and all the others match better."""
    better = [make_chunk(f"retry backoff {n}", name=f"f{n}", path=f"{n}.py") for n in range(500)]
    rare = [
        make_chunk(
            f"retry {'and wait a while ' * 10 * (5 - n)}backoff",
            id=f"lesson{n}", name="lesson", path="", kind=Kind.REASONING, language="",
        )
        for n in range(5)
    ]  # fmt: skip
    put(memory, [*better, *rare])
    everything = memory.search("retry backoff", limit=600, fusion=fusion, min_score=0.0)
    rare_kind = of_types("reasoning")
    found = memory.search(
        "retry backoff", limit=5, fusion=fusion, criteria=rare_kind, min_score=0.0
    )
    assert [r.chunk for r in found.results] == rare[::-1]  # the shorter, the better
    if (backend, fusion) == ("postgres", "rrf"):
        return  # as below: the order is known, the ranks are not
    assert_measured_alike(found, everything)


@every_fusion
def test_what_a_filter_brings_in_is_measured_like_all_others(
    memory: Memory, fusion: str, backend: str
) -> None:
    """Not by the few chunks it comes with, though it is far below the candidates."""
    write_tree(memory.places.home, {"config.yml": "search: {hybrid: {stage1_top_k: 10}}\n"})
    chunks = [
        make_chunk("retry " * (40 - n) + "wait " * n, name=f"f{n}", path=f"{n}.py")
        for n in range(40)
    ]
    put(memory, chunks)
    for number in (0, 5, 30, 31, 35):
        memory.get(f"{number}.py:f{number}")
    everything = memory.search("retry", limit=50, fusion=fusion, min_score=0.0)
    wanted = Criteria(names=("f5", "f30", "f35"))
    found = memory.search("retry", fusion=fusion, criteria=wanted, min_score=0.0)
    assert names(found) == {"f5", "f30", "f35"}
    if (backend, fusion) == ("postgres", "rrf"):
        # A server ranks no deeper than it is asked to: beyond, the order is known, no rank is.
        assert list(scores(found)) == [one for one in scores(everything) if one in scores(found)]
        return
    assert_measured_alike(found, everything)
    assert scores(found)["5.py:f5"] == scores(everything)["5.py:f5"]


def assert_measured_alike(found: SearchResults, everything: SearchResults) -> None:
    """The same order, and the same numbers of all signals.

    Confidence counts the places before a chunk. A filter reads fewer of those far down.
    """
    whole = {result.chunk_id: result for result in everything.results}
    kept = [result.chunk_id for result in found.results]
    assert kept == [chunk_id for chunk_id in whole if chunk_id in kept]
    for result in found.results:
        other = whole[result.chunk_id]
        assert [(part.signal, part.raw, part.normalised) for part in result.contributions] == [
            (part.signal, part.raw, part.normalised) for part in other.contributions
        ]
        assert result.score == pytest.approx(other.score, abs=0.002)


CASES = [
    pytest.param(QUESTION, Criteria(paths=("src/**",)), {"get_page", "get_row"}, id="path"),
    pytest.param(f"{QUESTION} path:src/**", Criteria(), {"get_page", "get_row"}, id="path:"),
    pytest.param(QUESTION, Criteria(paths=("*.ts", "src/db.py")), {"fetch", "get_row"}, id="paths"),
    pytest.param(
        QUESTION, read_criteria(now=NOW, languages=["ts,py"]), {"get_page", "get_row", "fetch"},
        id="languages",
    ),
    pytest.param(f"{QUESTION} lang:ts", Criteria(), {"fetch"}, id="lang:"),
    pytest.param(QUESTION, Criteria(names=("get*",)), {"get_page", "get_row"}, id="name"),
    pytest.param(f"{QUESTION} name:get_p*", Criteria(), {"get_page"}, id="name:"),
    pytest.param(QUESTION, Criteria(namespaces=("team",)), {"plan"}, id="namespace"),
    pytest.param(QUESTION, Criteria(namespaces=("nobody",)), set(), id="unknown-namespace"),
    pytest.param(QUESTION, Criteria(document_types=("runbook",)), {"plan"}, id="document-type"),
    pytest.param(
        QUESTION, read_criteria(now=NOW, metadata={"owner": "ben"}), {"old"}, id="metadata"
    ),
    pytest.param(
        QUESTION, read_criteria(now=NOW, metadata={"tags": "net", "owner": "ana"}), {"plan"},
        id="all-metadata",
    ),
    pytest.param(QUESTION, read_criteria(now=NOW, since="7d"), {"plan"}, id="since"),
    pytest.param(f"{QUESTION} since:1y", Criteria(), {"plan", "old"}, id="since:"),
    pytest.param(f"{QUESTION} type:know", Criteria(), {"plan", "old"}, id="type:"),
    pytest.param('"retry with backoff"', Criteria(), {"get_page", "old"}, id="phrase"),
    pytest.param(f"{QUESTION} -mondays", Criteria(),
                 {"get_page", "get_row", "fetch", "old"}, id="-word"),
    pytest.param(f'{QUESTION} -"on mondays" type:know', Criteria(), {"old"}, id="-phrase"),
    pytest.param(f"{QUESTION} type:know", Criteria(paths=("notes/p*",)), {"plan"}, id="both"),
    pytest.param(f"{QUESTION} type:know", Criteria(paths=("src/**",)), set(), id="both-never"),
    pytest.param(f"{QUESTION} type:know", of_types("function,knowledge"), {"plan", "old"},
                 id="both-of-one"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "criteria", "expected"), CASES)
def test_a_filter_leaves_out_and_changes_no_score(
    memory: Memory, text: str, criteria: Criteria, expected: set[str]
) -> None:
    put(memory, VARIED)
    for fusion in FUSIONS:
        everything = memory.search(QUESTION, limit=100, fusion=fusion, min_score=0.0)
        found = memory.search(text, fusion=fusion, criteria=criteria, min_score=0.0)
        assert names(found) == expected
        assert scores(found).items() <= scores(everything).items()


SESSIONS = [
    *make_exchange("How do we retry with backoff?", session="5e55aaaa", agent="codex"),
    *make_exchange("Retry with backoff again?", session="5e55bbbb", agent="aider", branch="fix/x"),
]


@pytest.mark.parametrize(
    ("text", "criteria", "expected"),
    [
        ("agent:codex", Criteria(), {"5e55aaaa"}),
        ("agent:codex,aider", Criteria(), {"5e55aaaa", "5e55bbbb"}),
        ("branch:fix/x", Criteria(), {"5e55bbbb"}),
        ("session:5e55b", Criteria(), {"5e55bbbb"}),
        ("", Criteria(sources=("session",)), {"5e55aaaa", "5e55bbbb"}),
        ("source:session agent:codex", Criteria(branches=("fix/x",)), set()),
        ("source:code", Criteria(), {""}),
    ],
)
def test_what_was_said_in_sessions_is_filtered(
    memory: Memory, text: str, criteria: Criteria, expected: set[str]
) -> None:
    put(memory, [*VARIED, *SESSIONS])
    answer = memory.search(f"{QUESTION} {text}", criteria=criteria, min_score=0.0)
    sessions = [result.chunk.session for result in answer.results]
    assert {facts.id if facts else "" for facts in sessions} == expected
    assert [note for note in answer.notes if note.warning] == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("agent:codx", "No chunk has the agent 'codx': did you mean codex?"),
        ("branch:nowhere", "No chunk has the branch 'nowhere'"),
        ("session:777", "No chunk has the session '777'"),
        ("session:5e55", "2 sessions begin with '5e55': all of them were searched"),
    ],
)
def test_a_filter_for_sessions_that_fits_none_or_several_is_noted(
    memory: Memory, text: str, note: str
) -> None:
    put(memory, [*VARIED, *SESSIONS])
    answer = memory.search(f"{QUESTION} {text}")
    assert note in [each.text for each in answer.notes]


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        ("", of_types("knowledge")),
        ("type:knowledge", Criteria()),
        ("type:know", of_types("knowledge,class")),
    ],
)
def test_a_filter_alone_lists_the_newest_first(
    memory: Memory, text: str, criteria: Criteria
) -> None:
    notes = [
        make_chunk(f"text {n}", name=f"n{n}", path=f"{n}.md", kind=Kind.KNOWLEDGE) for n in range(5)
    ]
    for note in notes:
        memory.admin.store.chunks.put_chunks([note])
    found = memory.search(text, limit=3, criteria=criteria)
    assert [result.chunk.name for result in found.results] == ["n4", "n3", "n2"]
    assert (found.fusion, found.signals) == ("newest", ())


def test_a_wrong_date_is_an_error_with_an_example() -> None:
    with pytest.raises(QueryError, match="Cannot read 'soon' as a date") as caught:
        read_criteria(now=NOW, since="soon")
    assert "7d" in caught.value.hint


def test_a_change_of_the_memory_changes_what_a_filter_lets_through(memory: Memory) -> None:
    """What was found for a filter is remembered, but not longer than it is true."""
    put(memory, OF_EACH_KIND)
    assert names(memory.search(QUESTION, criteria=of_types("class"))) == {"a_class"}
    put(memory, [make_chunk(QUESTION, name="New", path="n.py", kind=Kind.CLASS)])
    assert names(memory.search(QUESTION, criteria=of_types("class"))) == {"a_class", "New"}
    memory.forget(["n.py:New"])
    assert names(memory.search(QUESTION, criteria=of_types("class"))) == {"a_class"}


def test_commits_read_since_the_last_question_count(memory: Memory) -> None:
    """They come after the chunks, and change nothing about what can be found."""
    old = make_chunk("retry with backoff", name="dated", created_at=NOW - timedelta(days=200))
    put(memory, [old])
    recent = read_criteria(now=NOW, since="7d")
    assert names(memory.search(QUESTION, criteria=recent)) == set()
    memory.admin.store.chunks.put_histories({old.id: ChunkHistory(commits=(int(NOW.timestamp()),))})
    assert names(memory.search(QUESTION, criteria=recent)) == {"dated"}


@pytest.mark.parametrize(
    ("languages", "text", "notes"),
    [
        (("pyton",), "", ("No chunk has the language 'pyton': did you mean python?",)),
        ((), " lang:marcdown", ("No chunk has the language 'marcdown': did you mean markdown?",)),
        (("cobol", "python"), "", (
            "No chunk has the language 'cobol': there are markdown, python, typescript",
        )),
        (("python", "ts"), " lang:md,py", ()),
    ],
)  # fmt: skip
def test_a_language_that_no_chunk_has_is_named(
    memory: Memory, languages: tuple[str, ...], text: str, notes: tuple[str, ...]
) -> None:
    put(memory, VARIED)
    criteria = read_criteria(now=NOW, languages=languages)
    for words in (QUESTION, "type:function" if languages else ""):
        answer = memory.search(words + text, criteria=criteria)
        assert tuple(note.text for note in answer.notes if note.warning) == notes
