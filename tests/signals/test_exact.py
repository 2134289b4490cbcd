"""The definition of what was asked for: how well a name fits, and first in every order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.indexing.embedding import embed_missing
from aurora.retrieval.config import HybridConfig
from aurora.retrieval.retriever import HybridRetriever
from aurora.signals.base import Question
from aurora.signals.exact import (
    ASSUMED,
    FOLDED,
    HEADED,
    INSIDE,
    MENTIONED,
    SPELT,
    ExactSignal,
)
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Kind, Mode, Query
from tests.builders import NOW, hide, make_chunk
from tests.embedders import WordsProvider
from tests.stores.search_conformance import HOSTILE, ids_of_hostile, with_symbols


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
STEP = 0.01
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
        ("src/flask/app.py:Flask.route", {ROUTE.id: SPELT}),
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
        ("Getting started", {HEADING.id: HEADED}),
        ("getting started", {HEADING.id: HEADED}),
        ("MAX_RETRIES", {SCREAMING.id: HEADED}),
        ("maxRetries", {SCREAMING.id: HEADED}),
        # inside a sentence
        ("where is get_user_data called?", {SNAKE.id: INSIDE}),
        ("how does getUserData() work", {SNAKE.id: INSIDE}),
        ("what Blueprint.route does, and UserStore", {OTHER_ROUTE.id: INSIDE, PASCAL.id: INSIDE}),
        ("why Record#save fails", {RUBY.id: INSIDE}),
        ("use of Parser::parse_next here", {RUST.id: INSIDE}),
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
    """A method stands a step behind a function and a class with its name."""
    methods = {chunk.id for chunk in CORPUS if chunk.kind is Kind.METHOD}
    expected = {id_: level - STEP * (id_ in methods) for id_, level in expected.items()}
    assert levels(store, text) == pytest.approx(expected)


def test_levels_fall_from_the_sure_to_the_assumed() -> None:
    assert 1.0 == SPELT > FOLDED > ASSUMED > INSIDE > MENTIONED > HEADED > 0.0


def test_both_spellings_are_there_and_the_one_asked_for_is_above(store: SQLiteStore) -> None:
    store.chunks.put_chunks([named("web/data.ts", "getUserData")])
    assert levels(store, "getUserData") == {"web/data.ts:getUserData": SPELT, SNAKE.id: FOLDED}
    assert levels(store, "get_user_data") == {"web/data.ts:getUserData": FOLDED, SNAKE.id: SPELT}


def test_what_is_replaced_defines_nothing(store: SQLiteStore) -> None:
    hide(store, SNAKE.id)
    assert levels(store, "get_user_data") == {}


@pytest.mark.parametrize(("many", "found"), [(12, 12), (13, 13), (200, 200), (201, 0)])
def test_a_name_of_more_than_two_hundred_says_nothing(
    store: SQLiteStore, many: int, found: int
) -> None:
    """Inside a longer question, a name of more than twelve."""
    store.chunks.put_chunks([named(f"m{number}.py", "__init__") for number in range(many)])
    assert len(levels(store, "__init__")) == found
    assert len(levels(store, "what does __init__ do")) == (found if many <= 12 else 0)


@pytest.mark.parametrize("text", HOSTILE, ids=ids_of_hostile)
def test_hostile_text_is_only_text(store: SQLiteStore, text: str) -> None:
    assert set(levels(store, text)) <= {THIS.id}
    assert set(levels(store, f"{text} get_user_data")) <= {SNAKE.id, THIS.id}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=40) | st.text(".:#->/\\()_ aFlaskroute", max_size=30))
def test_any_text_has_an_answer(store: SQLiteStore, text: str) -> None:
    found = levels(store, text)
    allowed = {SPELT, FOLDED, ASSUMED, INSIDE, HEADED}
    assert {round(level, 2) for level in found.values()} <= {
        round(level - step, 2) for level in allowed for step in (0.0, STEP)
    }


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
    assert levels(store, "word " * 200_000 + "get_user_data") == {SNAKE.id: INSIDE}


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
            assert best.score >= second.score
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


# Symbols inside chunks, and the order of definitions with one name

CONFIG = make_chunk(
    "class Config:\n    DEBUG = True\n    max_tries = 3", "src/app/settings.py", "Config",
    kind=Kind.CLASS, metadata=with_symbols("DEBUG", "max_tries"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "level", "symbol"),
    [
        ("DEBUG", SPELT, "DEBUG"),
        ("debug", FOLDED, "DEBUG"),
        ("maxTries", FOLDED, "max_tries"),
        ("Config.DEBUG", SPELT, "DEBUG"),
        ("Config::DEBUG", SPELT, "DEBUG"),
        ("settings.Config.DEBUG", SPELT, "DEBUG"),
        ("config.debug", FOLDED, "DEBUG"),
        ("app.DEBUG", SPELT, "DEBUG"),  # a folder
        ("options.DEBUG", ASSUMED, "DEBUG"),
        ("where is Config.max_tries read?", INSIDE, "max_tries"),
        ("where is max_tries read?", INSIDE, "max_tries"),
    ],
)
def test_a_symbol_inside_a_chunk_is_a_definition(
    store: SQLiteStore, text: str, level: float, symbol: str
) -> None:
    """It stands two steps behind a chunk with its name. The answer says which symbol it is."""
    store.chunks.put_chunks([CONFIG])
    scores = ExactSignal(store).score(Question(text, NOW))
    assert levels(store, text) == pytest.approx({CONFIG.id: level - 2 * STEP})
    assert [found.name for found in scores.symbols.values()] == [symbol]


def test_the_chunk_itself_is_meant_where_its_own_name_fits_better(store: SQLiteStore) -> None:
    store.chunks.put_chunks([replace(CONFIG, metadata=with_symbols("config"))])
    scores = ExactSignal(store).score(Question("Config", NOW))
    assert (levels(store, "Config"), scores.symbols) == ({CONFIG.id: SPELT}, {})
    inner = ExactSignal(store).score(Question("config", NOW))
    assert [symbol.name for symbol in inner.symbols.values()] == ["config"]


WHOLE = make_chunk("class Flask: ...", "src/flask/app.py", "Flask", id="class", kind=Kind.CLASS)
CONSTRUCTOR = make_chunk(
    "Flask() {}", "src/flask/app.py", "Flask", id="constructor", kind=Kind.METHOD,
    qualified_name="Flask.Flask",
)  # fmt: skip
PIECE = replace(WHOLE, id="piece", content="the rest of it", metadata={"part": 2})
STUB = make_chunk(
    "@overload\ndef Flask(): ...", "src/flask/app.py", "Flask", id="overload",
    metadata={"overload": True},
)  # fmt: skip
TEST = make_chunk("def Flask(): return 1", "tests/test_app.py", "Flask", id="test")
HOLDER = make_chunk(
    "Flask = 1", "src/flask/other.py", "other", id="symbol", metadata=with_symbols("Flask")
)
STANDING = (PIECE, STUB, HOLDER, TEST, CONSTRUCTOR, WHOLE)  # the right one is stored last


def ordered(store: SQLiteStore, text: str) -> list[str]:
    found = levels(store, text)
    return sorted(found, key=lambda id_: -found[id_])


def test_whole_code_stands_before_constructors_symbols_pieces_and_tests(store: SQLiteStore) -> None:
    store.chunks.put_chunks(STANDING)
    found = ordered(store, "Flask")
    assert found[:3] == ["class", "constructor", "symbol"]
    assert set(found[3:5]) == {"piece", "overload"}
    assert found[5:] == ["test"]


def test_a_field_in_a_piece_of_its_class_stands_before_that_of_a_test(store: SQLiteStore) -> None:
    """The piece is not whole, but the field is."""
    field = replace(HOLDER, id="field", metadata={"part": 2, "parts": 3} | with_symbols("Flask"))
    test = replace(field, id="test", path="tests/test_app.py", metadata=with_symbols("Flask"))
    store.chunks.put_chunks([test, field, PIECE])
    assert ordered(store, "Flask") == ["field", "piece", "test"]


def test_the_tests_of_a_rust_file_stand_behind_its_methods(store: SQLiteStore) -> None:
    test = named("src/standard.rs", "tests.max_columns")
    method = named("src/builder.rs", "StandardBuilder.max_columns", Kind.METHOD)
    store.chunks.put_chunks([test, method])
    assert ordered(store, "max_columns") == [method.id, test.id]
    beside = levels(store, "max_columns in the tests")
    assert beside[test.id] > beside[method.id]


def test_the_spelling_counts_more_than_what_is_whole(store: SQLiteStore) -> None:
    store.chunks.put_chunks([replace(WHOLE, id="other", name="flask"), PIECE])
    assert ordered(store, "Flask") == ["piece", "other"]
    assert ordered(store, "flask") == ["other", "piece"]


def test_a_query_that_asks_for_tests_has_them_beside_the_code(store: SQLiteStore) -> None:
    apart = named("src/app/jobs.py", "run_all"), named("tests/test_jobs.py", "run_all")
    store.chunks.put_chunks(apart)
    assert ordered(store, "run_all") == [chunk.id for chunk in apart]
    behind = levels(store, "where is run_all")
    beside = levels(store, "where is run_all in the tests")
    assert behind[apart[0].id] > behind[apart[1].id]
    assert beside[apart[0].id] == beside[apart[1].id]


# Rows that contain an identifier


def searched(store: SQLiteStore, text: str, fusion: str = "auto") -> list[str]:
    retriever = HybridRetriever(
        store,
        HybridConfig(fusion=fusion),
        index_folder=store.path.parent / "indexes",
        now=lambda: NOW,
        embedders=lambda _: WordsProvider(dimension=256),
    )
    results = retriever.retrieve(Query(text, 20, min_score=0.0)).results
    return [result.chunk.id for result in results]


@pytest.mark.parametrize("fusion", ["auto", *FUSIONS])
@pytest.mark.parametrize("text", ["ErrAbortHandler", "when is ErrAbortHandler raised"])
def test_rows_that_contain_an_identifier_come_before_all_others(
    tmp_path: Path, fusion: str, text: str
) -> None:
    """Even where the others match the words of the question far better."""
    store = SQLiteStore(tmp_path / "memory.db")
    users = [
        make_chunk(f"{'step ' * 40 * n} if it == ErrAbortHandler: stop", f"u{n}.go", f"use{n}")
        for n in range(1, 4)
    ]
    better = [
        make_chunk(f"when is abort raised: raised abort handler {n}", f"b{n}.go", f"abort{n}")
        for n in range(20)
    ]
    store.chunks.put_chunks([*better, *users])
    assert embed_missing(store, WordsProvider(dimension=256)).failed == 0
    assert set(searched(store, text, fusion)[:3]) == {chunk.id for chunk in users}
    definition = named("errors.go", "ErrAbortHandler", Kind.CLASS)
    store.chunks.put_chunks([definition])
    found = searched(store, text, fusion)
    assert found[0] == definition.id
    assert set(found[1:4]) == {chunk.id for chunk in users}
    store.close()


def test_rows_with_more_of_the_identifiers_come_first(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    chunks = {
        "one": "max_retries max_retries max_retries",
        "both": "max_retries and much else that is not asked, then read_timeout",
        "none": "retries and the timeout of a read, both at most",
    }
    store.chunks.put_chunks(make_chunk(text, f"{n}.py", n) for n, text in chunks.items())
    found = searched(store, "max_retries with read_timeout", "weighted")
    assert found == ["both.py:both", "one.py:one", "none.py:none"]
    store.close()
