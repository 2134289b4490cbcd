"""Where candidates stand: what is aside unless it is asked for, and which turns are neighbours."""

from __future__ import annotations

import pytest

from aurora.retrieval.candidates import load_context
from aurora.stores.base import Store
from aurora.types import Chunk, Kind
from tests.builders import make_chunk

pytestmark = pytest.mark.one_store("asks a store for places alone, as its conformance suite does")


def aside(store: Store, path: str, words: str = "how is it parsed", **fields: object) -> bool:
    store.chunks.put_chunks([make_chunk("parse", path, **fields)])
    (row,) = store.chunks.revisions()
    return row in load_context(store, [row], words, best=frozenset()).aside


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_parse.py", "test/parse.js", "src/test_parse.py", "pkg/parse_test.go",
        "spec/parse_spec.rb", "src/__tests__/a.ts", "src/parse.test.ts", "src/parse.spec.js",
        "app/ParserTest.java", "app/ParserTests.cs", "conftest.py", "testdata/a.c", "fixtures/a.py",
    ],
)  # fmt: skip
def test_tests_stand_aside_unless_they_are_asked_for(store: Store, path: str) -> None:
    assert aside(store, path)
    for words in ("tests of the parser", "parse test", "which fixture", "the spec of it"):
        assert not aside(store, path, words), words


@pytest.mark.parametrize(
    ("qualified_name", "is_aside"),
    [("tests.max_columns", True), ("glob.tests.Fixture.new", True), ("test.small", True),
     ("tests", False), ("Contests.add", False), ("latest.test", False)],
)  # fmt: skip
def test_the_tests_inside_a_file_stand_aside_too(
    store: Store, qualified_name: str, *, is_aside: bool
) -> None:
    """Rust has them in a module of the file that they test."""
    named = {"qualified_name": qualified_name, "kind": Kind.FUNCTION}
    assert aside(store, "src/standard.rs", **named) is is_aside
    assert not aside(store, "src/standard.rs", "the test of it", **named)


@pytest.mark.parametrize(
    "path", ["examples/a.py", "example/a.py", "docs/conf.py", "samples/x.go", "demo/a.js",
             "lib/tutorial/a.py", "docs_src/a.py", "_examples/a.go"],
)  # fmt: skip
def test_examples_stand_aside_unless_they_are_asked_for(store: Store, path: str) -> None:
    assert aside(store, path)
    assert aside(store, path, "tests of the parser")
    for words in ("an example of parsing", "demo", "in the docs"):
        assert not aside(store, path, words), words


@pytest.mark.parametrize(
    "path",
    [
        "vendor/a.go", "third_party/a.c", "web/node_modules/a/b.js", "dist/a.js", "build/a.js",
        "src/_vendor/a.py", "app/a.min.js", "types/a.d.ts", "api/a.pb.go", "api/a_pb2.py",
        "api/a_pb2_grpc.py", "src/a.generated.ts", "lib/a.g.dart", "app/migrations/0001.py",
        "src/compat/a.py",
    ],
)  # fmt: skip
def test_what_others_or_programs_wrote_stands_aside(store: Store, path: str) -> None:
    assert aside(store, path)
    assert not aside(store, path, "the vendored and generated code")


@pytest.mark.parametrize(
    "path",
    [
        "src/parse.py", "src/testimony.py", "contest/a.py", "latest/a.py", "src/attestation.py",
        "src/docstring.py", "src/builder/a.py", "src/distance.py", "src/protest.rs", "a.py", "",
        "src/vendors.py", "src/sampler/a.py",
    ],
)  # fmt: skip
def test_a_name_that_only_looks_like_it_does_not(store: Store, path: str) -> None:
    assert not aside(store, path)


@pytest.mark.parametrize("kind", [Kind.KNOWLEDGE, Kind.REASONING])
def test_prose_never_stands_aside(store: Store, kind: Kind) -> None:
    """A guide lies in `docs`, and is what somebody may look for."""
    assert not aside(store, "docs/guide.md", kind=kind)


def test_homes_code_and_the_best_are_told(store: Store) -> None:
    store.chunks.put_chunks(
        [
            make_chunk(path="a.py", name="f"),
            make_chunk(path="a.py", name="A", kind=Kind.CLASS),
            make_chunk(path="a.md", name="A note", kind=Kind.KNOWLEDGE),
            make_chunk(path="", name="p2", id="doc-guide@2", kind=Kind.KNOWLEDGE),
        ]
    )
    one, two, three, four = rows = list(store.chunks.revisions())
    around = load_context(store, rows, "anything", best=frozenset({two}))
    assert around.files == {one: "a.py", two: "a.py", three: "a.md", four: "doc-guide"}
    assert (around.code, around.best) == ({one, two}, {two})
    assert (around.aside, around.beside) == (frozenset(), {})


def turn(name: str, namespace: str = "", **metadata: object) -> Chunk:
    return make_chunk(
        name, "", name, kind=Kind.KNOWLEDGE, namespace=namespace, metadata=metadata
    )  # fmt: skip


def beside(store: Store, *chunks: Chunk) -> dict[str, set[str]]:
    """Of each chunk, by name, who was heard right before and after it."""
    store.chunks.put_chunks(chunks)
    rows = list(store.chunks.revisions())
    names = {row: chunk.name for row, chunk in store.chunks.get_rows(rows).items()}
    around = load_context(store, rows, "anything", best=frozenset(rows))
    return {
        names[row]: {names[one] for turn in turns for one in turn}
        for row, turns in around.beside.items()
    }


def test_turns_of_a_session_are_neighbours_by_their_numbers(store: Store) -> None:
    assert beside(
        store,
        turn("c", session="s", seq=3),
        turn("a", session="s", seq=1),
        turn("b", session="s", seq=2),
        turn("far", session="s", seq=9),
        turn("other", session="t", seq=2),
        turn("elsewhere", "team", session="s", seq=2),
        turn("silent"),
    ) == {
        "a": {"b"}, "b": {"a", "c"}, "c": {"b"}, "far": set(), "other": set(), "elsewhere": set(),
    }  # fmt: skip


def test_two_may_speak_at_once(store: Store) -> None:
    a, b, both = (turn(name, session=1, seq=seq) for name, seq in (("a", 1), ("b", 1), ("c", 2)))
    assert beside(store, a, b, both) == {"a": {"c"}, "b": {"c"}, "c": {"a", "b"}}


def test_the_pieces_of_a_turn_are_beside_each_other(store: Store) -> None:
    """But not what is only told of the same turn."""
    chunks = [
        make_chunk(id_, "", id_, id=f"session:{id_}", kind=Kind.KNOWLEDGE,
                   metadata={"source": "session", "session": "s", "seq": 1})
        for id_ in ("a", "a@2", "a:decisions")
    ]  # fmt: skip
    assert beside(store, *chunks) == {"a": {"a@2"}, "a@2": {"a"}, "a:decisions": set()}


def test_without_numbers_it_is_the_order_in_which_they_were_added(store: Store) -> None:
    chunks = [turn(name, session="s") for name in "abc"]
    assert beside(store, *chunks) == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}


def test_the_phases_of_a_conversation_log_are_neighbours(store: Store) -> None:
    def phase(name: str, path: str) -> Chunk:
        metadata = {"source": "conversation"}
        return make_chunk(name, path, name, kind=Kind.KNOWLEDGE, metadata=metadata)

    one = [phase(name, "logs/a.md") for name in ("Assess", "Plan", "Answer")]
    assert beside(store, *one, phase("Other", "logs/b.md")) == {
        "Assess": {"Plan"}, "Plan": {"Assess", "Answer"}, "Answer": {"Plan"}, "Other": set(),
    }  # fmt: skip


def test_a_turn_that_is_no_candidate_is_nobodys_neighbour(store: Store) -> None:
    store.chunks.put_chunks([turn("a", session="s", seq=1), turn("b", session="s", seq=2)])
    first, _ = store.chunks.revisions()
    assert load_context(store, [first], "anything", best=frozenset()).beside == {first: []}
