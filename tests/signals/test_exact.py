"""The definition of what was asked for: how well a name fits, and first in every order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.signals.base import Question
from aurora.signals.exact import ASSUMED, FOLDED, NAMED, SPELT, ExactSignal
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Kind, Mode, Query
from tests.builders import NOW, make_chunk
from tests.embedders import WordsProvider
from tests.signals.merging import reasoning
from tests.stores.search_conformance import HOSTILE, ids_of_hostile


def named(path: str, qualified: str, kind: Kind = Kind.FUNCTION) -> Chunk:
    """A chunk by its path and its qualified name; the id tells both."""
    name = qualified.rsplit(".", 1)[-1]
    return make_chunk("pass", path, name, qualified_name=qualified, kind=kind)


SNAKE = named("src/app/users.py", "get_user_data")
CAMEL = named("web/users.ts", "getUserName")
PASCAL = named("src/app/users.py", "UserStore", Kind.CLASS)
SCREAMING = named("src/app/limits.py", "MAX_RETRIES", Kind.CODE)
ROUTE = named("src/flask/app.py", "Flask.route", Kind.METHOD)
OTHER_ROUTE = named("src/flask/blueprints.py", "Blueprint.route", Kind.METHOD)
RUST = named("src/parser.rs", "Parser.parse_next", Kind.METHOD)
RUBY = named("lib/record.rb", "Record.save", Kind.METHOD)
HEADING = make_chunk(
    "# Getting started", "docs/start.md", "Getting started", kind=Kind.KNOWLEDGE, qualified_name=""
)
THIS = named("a.py", "_")
CORPUS = (
    SNAKE, CAMEL, PASCAL, SCREAMING, ROUTE, OTHER_ROUTE, RUST, RUBY, HEADING, THIS,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "memory.db")
    store.chunks.put_chunks(CORPUS)
    yield store
    store.close()


def levels(store: SQLiteStore, text: str) -> dict[str, float]:
    answer = ExactSignal(store).score(Question(text, NOW))
    rows = answer.best(1000)
    chunks = store.chunks.get_rows(rows)
    return {chunks[hit.row].id: hit.score for hit in answer.hits(rows)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # as it is spelt
        ("get_user_data", {SNAKE.id: SPELT}),
        ("getUserName", {CAMEL.id: SPELT}),
        ("UserStore", {PASCAL.id: SPELT}),
        ("  get_user_data\n", {SNAKE.id: SPELT}),
        ("get_user_data()", {SNAKE.id: SPELT}),
        ("get_user_data(user, 3)", {SNAKE.id: SPELT}),
        ("get_user_data(user", {SNAKE.id: SPELT}),
        ("route", {ROUTE.id: SPELT, OTHER_ROUTE.id: SPELT}),
        # but for capitals and separators
        ("getUserData", {SNAKE.id: FOLDED}),
        ("GetUserData", {SNAKE.id: FOLDED}),
        ("get user data", {SNAKE.id: FOLDED}),
        ("get-user-data", {SNAKE.id: FOLDED}),
        ("GET_USER_DATA", {SNAKE.id: FOLDED}),
        ("Get User Data", {SNAKE.id: FOLDED}),
        ("get_user_name", {CAMEL.id: FOLDED}),
        ("GetUserName", {CAMEL.id: FOLDED}),
        ("user store", {PASCAL.id: FOLDED}),
        ("user_store", {PASCAL.id: FOLDED}),
        ("getUserData()", {SNAKE.id: FOLDED}),
        # with what stands in front of it
        ("Blueprint.route", {OTHER_ROUTE.id: SPELT}),
        ("Blueprint::route", {OTHER_ROUTE.id: SPELT}),
        ("Blueprint#route", {OTHER_ROUTE.id: SPELT}),
        ("Blueprint->route", {OTHER_ROUTE.id: SPELT}),
        ("Blueprint.route()", {OTHER_ROUTE.id: SPELT}),
        ("Flask.route", {ROUTE.id: SPELT, OTHER_ROUTE.id: FOLDED}),  # the class, then the folder
        ("flask.Flask.route", {ROUTE.id: SPELT}),  # re-exported: without the module
        ("flask.app.Flask.route", {ROUTE.id: SPELT}),  # the module's path
        ("src.flask.app.Flask.route", {ROUTE.id: SPELT}),
        ("flask.route", {ROUTE.id: SPELT, OTHER_ROUTE.id: SPELT}),  # the package, or the class
        ("flask.blueprints.route", {OTHER_ROUTE.id: SPELT}),
        ("blueprint.Route", {OTHER_ROUTE.id: FOLDED}),
        ("src/parser.rs:Parser.parse_next", {RUST.id: SPELT}),
        ("src\\parser.rs:Parser.parse_next", {RUST.id: SPELT}),
        ("src/flask/app.py:Flask.route", {ROUTE.id: SPELT, OTHER_ROUTE.id: NAMED}),
        ("app.py:route", {ROUTE.id: SPELT}),
        ("Parser::parse_next", {RUST.id: SPELT}),
        ("Parser::parseNext", {RUST.id: FOLDED}),
        ("Record#save", {RUBY.id: SPELT}),
        (".route", {ROUTE.id: SPELT, OTHER_ROUTE.id: SPELT}),
        # dots for what another language writes in one
        ("get.user.data", {SNAKE.id: FOLDED}),
        ("get.userData()", {SNAKE.id: FOLDED}),
        # what stands in front of it is not known: a variable, perhaps
        ("server.route", {ROUTE.id: ASSUMED, OTHER_ROUTE.id: ASSUMED}),
        ("self.get_user_data()", {SNAKE.id: ASSUMED}),
        ("route.Flask.route", {ROUTE.id: ASSUMED, OTHER_ROUTE.id: ASSUMED}),
        ("Flask.src.route", {ROUTE.id: ASSUMED, OTHER_ROUTE.id: ASSUMED}),  # not in this order
        # names, but of no function, method or class
        ("Getting started", {HEADING.id: NAMED}),
        ("getting started", {HEADING.id: NAMED}),
        ("MAX_RETRIES", {SCREAMING.id: NAMED}),
        ("maxRetries", {SCREAMING.id: NAMED}),
        # inside a sentence
        ("where is get_user_data called?", {SNAKE.id: NAMED}),
        ("how does getUserData() work", {SNAKE.id: NAMED}),
        ("what Blueprint.route does, and UserStore", {OTHER_ROUTE.id: NAMED, PASCAL.id: NAMED}),
        ("why Record#save fails", {RUBY.id: NAMED}),
        ("use of Parser::parse_next here", {RUST.id: NAMED}),
        # plain words are no names
        ("which route is this", {}),
        ("save the record and route it", {}),
        ("how does getting started work", {}),
        # nothing there
        ("get_user", {}),
        ("get_user_data_now", {}),
        ("Flask", {}),
        ("", {}),
        ("()", {}),
        ("...", {}),
        ("::", {}),
        ("_", {THIS.id: SPELT}),
        ("__", {}),
    ],
)  # fmt: skip
def test_levels(store: SQLiteStore, text: str, expected: dict[str, float]) -> None:
    assert levels(store, text) == expected


def test_levels_fall_from_the_sure_to_the_assumed() -> None:
    assert 1.0 == SPELT > FOLDED > ASSUMED > NAMED > 0.0


def test_both_spellings_are_there_and_the_one_asked_for_is_above(store: SQLiteStore) -> None:
    store.chunks.put_chunks([named("web/data.ts", "getUserData")])
    assert levels(store, "getUserData") == {"web/data.ts:getUserData": SPELT, SNAKE.id: FOLDED}
    assert levels(store, "get_user_data") == {"web/data.ts:getUserData": FOLDED, SNAKE.id: SPELT}


def test_failed_reasoning_defines_nothing(store: SQLiteStore) -> None:
    store.chunks.put_reasoning(SNAKE.id, reasoning(0.2))
    assert levels(store, "get_user_data") == {}


@pytest.mark.parametrize(("many", "found"), [(200, 200), (201, 0)])
def test_a_name_of_more_than_two_hundred_says_nothing(
    store: SQLiteStore, many: int, found: int
) -> None:
    store.chunks.put_chunks([named(f"m{number}.py", "__init__") for number in range(many)])
    assert len(levels(store, "__init__")) == found
    assert len(levels(store, "what does __init__ do")) == found


@pytest.mark.parametrize("text", HOSTILE, ids=ids_of_hostile)
def test_hostile_text_is_only_text(store: SQLiteStore, text: str) -> None:
    assert set(levels(store, text)) <= {THIS.id}
    assert set(levels(store, f"{text} get_user_data")) <= {SNAKE.id, THIS.id}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=40) | st.text(".:#->/\\()_ aFlaskroute", max_size=30))
def test_any_text_has_an_answer(store: SQLiteStore, text: str) -> None:
    found = levels(store, text)
    assert set(found.values()) <= {SPELT, FOLDED, ASSUMED, NAMED}


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000 + "get_user_data",
        "get_user_data " * 70_000,
        "(" * 1_000_000,
        "a." * 500_000,
        "a::" * 350_000 + "get_user_data",
        "get_user_data" + "_" * 1_000_000,
        " " * 1_000_000 + "get_user_data",
    ],
    ids=["words", "again", "brackets", "dots", "colons", "underscores", "spaces"],
)
def test_a_megabyte_is_answered(store: SQLiteStore, text: str) -> None:
    assert set(levels(store, text)) <= {SNAKE.id}


def test_a_name_in_a_megabyte_is_found(store: SQLiteStore) -> None:
    assert levels(store, "word " * 200_000 + "get_user_data") == {SNAKE.id: NAMED}


# The definition is first

FUSIONS = ("weighted", "rrf", "cascade", "staged")
DEFINITION = make_chunk(
    "def resolve_target(x):\n    return x", "src/core/deep.py", "resolve_target",
    qualified_name="Resolver.resolve_target", kind=Kind.METHOD,
)  # fmt: skip


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    """One definition among three hundred chunks that say its name more often than it does."""
    store = SQLiteStore(tmp_path_factory.mktemp("crowded") / "memory.db")
    body = "resolve_target resolveTarget resolve target Resolver.resolve_target " * 5
    callers = [make_chunk(body, "resolve/target.py", f"caller{n}") for n in range(150)]
    notes = [
        make_chunk(
            body, "resolve_target.md", f"About resolve target {n}", kind=Kind.KNOWLEDGE,
            qualified_name="",
        )
        for n in range(150)
    ]  # fmt: skip
    store.chunks.put_chunks([*callers, *notes, DEFINITION])
    assert embed_missing(store, WordsProvider(dimension=256)).failed == 0
    yield store
    store.close()


@pytest.mark.parametrize(
    "text",
    [
        "resolve_target", "resolveTarget", "ResolveTarget", "resolve target", "RESOLVE_TARGET",
        "Resolver.resolve_target", "Resolver::resolveTarget", "Resolver#resolve_target",
        "core.deep.Resolver.resolve_target", "src/core/deep.py:Resolver.resolve_target",
        "resolve_target()", "self.resolve_target(x)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD])
def test_the_definition_is_first_under_every_fusion(
    crowded: SQLiteStore, text: str, mode: Mode
) -> None:
    for fusion in FUSIONS:
        for keyword in ("bm25", "fulltext"):
            retriever = HybridRetriever(
                crowded,
                HybridConfig(fusion=fusion, keyword=keyword),
                index_folder=crowded.path.parent / "indexes",
                now=lambda: NOW,
                embedders=lambda _: WordsProvider(dimension=256),
            )
            best, second = retriever.retrieve(Query(text, 2, mode, min_score=0.0)).results
            assert best.chunk == DEFINITION, (fusion, keyword)
            assert best.score > second.score
            assert sum(part.value for part in best.contributions) == pytest.approx(best.score)


def test_the_definition_is_first_only_where_a_filter_lets_it_through(crowded: SQLiteStore) -> None:
    retriever = HybridRetriever(
        crowded, index_folder=crowded.path.parent / "indexes", now=lambda: NOW
    )
    found = retriever.retrieve(Query("resolve_target path:resolve/**", limit=300)).results
    assert found
    assert DEFINITION not in [result.chunk for result in found]
    (only,) = retriever.retrieve(Query("resolve_target path:src/**")).results
    assert only.chunk == DEFINITION
