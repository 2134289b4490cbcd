"""Documents: what they are cut into, and what is kept of them when they come again (seed 004)."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aurora.errors import LabelError, SourceError, StoreError
from aurora.indexing.documents import (
    RESERVED,
    Added,
    Labels,
    Outcome,
    cut_document,
    piece_ids,
    put_document,
)
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import PROVENANCE, REPLACED_BY, REPLACES, SKETCHES, Chunk, Kind, Lines
from tests.builders import NOW
from tests.properties import examples

LATER = NOW + timedelta(days=3)


def cut(text: str, name: str = "", **labels: object) -> list[Chunk]:
    return cut_document(text, Labels(**labels), name=name, now=NOW)  # type: ignore[arg-type]


def put(store: SQLiteStore, text: str, name: str = "a.md", **labels: object) -> Added:
    return put_document(store, cut(text, name, **labels))


def put_later(store: SQLiteStore, text: str, name: str = "a.md") -> Added:
    return put_document(store, cut_document(text, Labels(), name=name, now=LATER))


def section(word: str) -> str:
    """A section of about 3,000 characters, so that two of them are cut."""
    return f"## {word}\n\n" + "\n\n".join(f"{word} says line {n}." for n in range(150)) + "\n\n"


def digest(*key: str) -> str:
    return sha256("\0".join(key).encode()).hexdigest()[:12]


def contents(store: SQLiteStore) -> dict[str, str]:
    return {chunk.id: chunk.content for chunk in store.chunks.iter_chunks()}


def test_a_short_file_is_one_chunk_with_all_that_is_known() -> None:
    text = "\n# Release plan\n\nFirst the tests.\n\n## Then\n\nThe tag.\n"

    assert cut(text, "docs/plan.md", namespace="web", metadata={"status": "agreed"}) == [
        Chunk(
            id=f"doc-plan-{digest('file', 'web', 'docs/plan.md')}",
            kind=Kind.KNOWLEDGE,
            name="Release plan",
            content="# Release plan\n\nFirst the tests.\n\n## Then\n\nThe tag.",
            qualified_name="Release plan",
            path="",
            lines=Lines(2, 8),
            language="markdown",
            namespace="web",
            document_type="document",
            created_at=NOW,
            metadata={
                "source": "document", "origin": "docs/plan.md", "title": "Release plan",
                "part": 1, "parts": 1, "status": "agreed",
            },
        )
    ]  # fmt: skip


def test_text_without_a_file_has_neither_lines_nor_an_origin() -> None:
    text = "Buy milk\nand bread"
    (chunk,) = cut(text, document_type="list")

    id_ = f"doc-buy-milk-{digest('text', '', 'list', '', text)}"
    assert (chunk.id, chunk.name, chunk.lines) == (id_, "Buy milk", None)
    assert chunk.document_type == "list"
    assert chunk.metadata == {"source": "document", "title": "Buy milk", "part": 1, "parts": 1}


def test_a_source_is_the_origin() -> None:
    for name in ("", "docs/plan.md"):
        (chunk,) = cut("Buy milk", name, source="the kitchen")
        assert chunk.metadata["origin"] == "the kitchen"


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        pytest.param("Hi.\n\n## First\n\n# Second\n", "a.md", "First", id="first-heading"),
        pytest.param(
            "---\ntitle: Matter\n---\n# Heading\n", "a.md", "Matter", id="front-matter-first"
        ),
        pytest.param("Words\n=====\n\nHi.\n", "docs/a.rst", "Words", id="restructuredtext"),
        pytest.param("# no heading\n", "docs/a.txt", "a.txt", id="plain-text"),
        pytest.param("# a comment\nx = 1\n", "src/a.py", "a.py", id="code"),
        pytest.param("no heading\n", "docs/a.md", "a.md", id="file-name"),
        pytest.param("\n  # Plan B\n\nHi.\n", "", "Plan B", id="heading-of-a-text"),
        pytest.param("\n  so it goes \nand on\n", "", "so it goes", id="first-line"),
        pytest.param("word " * 50, "", ("word " * 12).strip(), id="sixty-characters"),
        pytest.param("x\n" * 9000 + "# Late\n", "a.md", "a.md", id="too-far-down"),
        pytest.param(f"# {'long ' * 99}\n", "a.md", ("long " * 40).strip(), id="very-long"),
    ],
)
def test_the_title(text: str, name: str, title: str) -> None:
    assert cut(text, name)[0].metadata["title"] == title


def test_long_prose_is_cut_at_its_headings() -> None:
    pieces = cut(f"# All\n\nHello.\n\n{section('One')}{section('Two')}", "docs/all.md")

    id_ = f"doc-all-{digest('file', '', 'docs/all.md')}"
    assert [(p.id, p.name, p.qualified_name, p.lines) for p in pieces] == [
        (id_, "All", "All", (1, 3)),
        (f"{id_}@2", "One", "All > One", (5, 305)),
        (f"{id_}@3", "Two", "All > Two", (307, 607)),
    ]
    assert [(p.metadata["part"], p.metadata["parts"]) for p in pieces] == [(1, 3), (2, 3), (3, 3)]
    assert {p.metadata["title"] for p in pieces} == {"All"}
    assert {p.path for p in pieces} == {""}


@pytest.mark.parametrize(("name", "language"), [("a.csv", ""), ("a.py", "python"), ("a", "")])
def test_other_long_files_are_cut_between_paragraphs(name: str, language: str) -> None:
    paragraph = "x = 1\n" * 100
    pieces = cut(f"{paragraph}\n" * 20, name)

    assert len(pieces) > 2
    assert {(p.name, p.language, p.kind) for p in pieces} == {(name, language, Kind.KNOWLEDGE)}
    assert all(len(p.content) % len(f"{paragraph}\n") == len(paragraph) - 1 for p in pieces)


WORDS = st.sampled_from([
    "# A\n", "## B\n", "===\n", "---\n", "```\n", "text\n", "\n", " \n", "\r\n", "走る 🐍\n",
    "word " * 90 + "\n", "x" * 4500, "é" * 3999 + "\n", "title: T\n", "\t", "\x0c", "\u2028",
])  # fmt: skip
LONG_TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=20)), min_size=1, max_size=60).map("".join)


@given(LONG_TEXTS, st.sampled_from(["", "a.md", "a.rst", "a.txt", "a.py", "a.csv"]))
@example(f"# All\n\n{section('One')}{section('Two')}", "")
@example("---\ntitle: T\n---\n" + "word " * 3000, "a.md")
@settings(max_examples=examples(300), deadline=None, derandomize=True, database=None)
def test_nothing_of_the_text_is_lost_or_told_twice(text: str, name: str) -> None:
    if "\0" in text or not text.strip("\ufeff \t\r\n") or text.isspace():
        return
    pieces = cut(text, name)

    told = "".join("".join(piece.content.split()) for piece in pieces)
    assert told == "".join(text.removeprefix("\ufeff").split())
    assert max(len(piece.content) for piece in pieces) <= 4000
    assert len({piece.id for piece in pieces}) == len(pieces)
    assert piece_ids(pieces[:1]) == [piece.id for piece in pieces]
    assert all(piece.name for piece in pieces)


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8"))), st.just("a.txt"))
@settings(max_examples=examples(200), deadline=None, derandomize=True, database=None)
def test_lines_are_those_of_the_file(lines: list[str], name: str) -> None:
    text = "\n".join(lines * 9) + "\nend"
    for piece in cut(text, name):
        assert piece.lines is not None
        shown = text.removeprefix("\ufeff").split("\n")[piece.lines.start - 1 : piece.lines.end]
        assert piece.content == "\n".join(shown)


def test_the_same_text_is_one_document(store: SQLiteStore) -> None:
    first = put(store, "Buy milk", "")
    assert first.outcome is Outcome.ADDED
    for text in ("Buy milk", "Buy milk\n", "\ufeff\n  Buy milk\n\n"):
        assert put(store, text, "").id == first.id
    assert len(contents(store)) == 1


def test_other_words_or_labels_are_other_documents() -> None:
    ids = {
        cut("Buy milk", source="test")[0].id,
        cut("Buy bread", source="test")[0].id,
        cut("Buy milk", source="kitchen")[0].id,
        cut("Buy milk", source="test", namespace="home")[0].id,
        cut("Buy milk", source="test", document_type="list")[0].id,
        cut("Buy milk", "a.md", source="test")[0].id,
    }
    assert len(ids) == 6


def test_a_file_is_one_document_in_each_namespace() -> None:
    assert cut("Old", "a.md")[0].id == cut("New", "a.md", document_type="plan", source="x")[0].id
    assert cut("Old", "a.md")[0].id != cut("Old", "a.md", namespace="web")[0].id
    assert cut("Old", "a.md")[0].id != cut("Old", "b/a.md")[0].id


def test_an_unchanged_file_changes_nothing(store: SQLiteStore) -> None:
    text = section("One") + section("Two")
    labels = Labels(metadata={"any": {"a": (1, 2.5, None, True, "é")}})  # comes back as a list
    put_document(store, cut_document(text, labels, name="a.md", now=NOW))
    before, chunks = store.generation(), list(store.chunks.iter_chunks())

    pieces = cut_document(text, labels, name="a.md", now=LATER)
    assert put_document(store, pieces) == Added(pieces[0].id, "One", 2, Outcome.UNCHANGED)

    assert store.generation() == before
    assert list(store.chunks.iter_chunks()) == chunks
    assert {chunk.created_at for chunk in chunks} == {NOW}


def test_an_edited_file_takes_its_own_place(store: SQLiteStore) -> None:
    id_ = put(store, section("One") + section("Two") + section("Three")).id
    for part in ("", "@2", "@3"):
        store.chunks.record_access(id_ + part, NOW)

    added = put_later(store, section("One") + section("Zwei"))

    assert added == Added(id_, "One", 2, Outcome.REPLACED)
    assert contents(store) == {
        id_: section("One").rstrip(), f"{id_}@2": section("Zwei").rstrip(),
    }  # fmt: skip
    assert store.chunks.get_accesses([id_, f"{id_}@2", f"{id_}@3"]) == {
        id_: (NOW,),
        f"{id_}@2": (NOW,),
    }
    assert [chunk.created_at for chunk in store.chunks.iter_chunks()] == [NOW, LATER]
    assert store.maintenance.check() == []


def test_a_new_title_is_no_new_document(store: SQLiteStore) -> None:
    put(store, "# Draft\n\nText.\n")
    put(store, "# Final\n\nText.\n")
    assert list(contents(store).values()) == ["# Final\n\nText."]


def test_new_labels_are_no_news_of_the_text(store: SQLiteStore) -> None:
    put(store, "Text.", metadata={"status": "draft"})
    labels = Labels(metadata={"status": "agreed"})
    added = put_document(store, cut_document("Text.", labels, name="a.md", now=LATER))

    (chunk,) = store.chunks.iter_chunks()
    assert (added.outcome, chunk.metadata["status"]) == (Outcome.REPLACED, "agreed")
    assert chunk.created_at == NOW


def test_a_document_is_stored_whole_or_not_at_all(store: SQLiteStore) -> None:
    put(store, section("One") + section("Two") + section("Three"))
    before = contents(store)
    good, bad = cut(section("Eins") + section("Zwei"), "a.md")
    broken = Chunk(bad.id, bad.kind, bad.name, "\udcff", metadata=bad.metadata)

    with pytest.raises(StoreError):
        put_document(store, [good, broken])

    assert contents(store) == before


def test_a_piece_that_was_forgotten_comes_back(store: SQLiteStore) -> None:
    text = section("One") + section("Two")
    id_ = put(store, text).id
    before = contents(store)
    store.chunks.delete_chunks([f"{id_}@2"])

    assert put(store, text).outcome is Outcome.REPLACED
    assert contents(store) == before


def test_only_the_first_piece_of_a_document_stands_for_all() -> None:
    first, second = cut(section("One") + section("Two"), "a.md")
    code = Chunk("a.py:f", Kind.FUNCTION, "f", "", metadata={"part": 1, "parts": 4})
    assert piece_ids([first]) == [first.id, second.id]
    assert piece_ids([second, code]) == [second.id, "a.py:f"]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        pytest.param("", "", "The text is empty", id="nothing"),
        pytest.param(" \n\t\u3000", "docs/a.md", "docs/a.md is empty", id="blank"),
        pytest.param("\ufeff\n", "a.md", "a.md is empty", id="byte-order-mark"),
        pytest.param("a\0b", "", "The text is binary", id="zero-byte"),
        pytest.param("a\udcffb", "", "The text is not UTF-8", id="half-a-character"),
        pytest.param("text", "a\udcff.md", "a\udcff.md is not UTF-8", id="file-name"),
    ],
)
def test_what_is_no_text_is_refused(text: str, name: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        cut(text, name)
    assert (caught.value.message, bool(caught.value.hint)) == (message, True)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"namespace": "a\nb"}, r"'a\\nb' cannot be a namespace"),
        ({"namespace": "a\udcff"}, "cannot be a namespace"),
        ({"document_type": "\x1b[31m"}, "cannot be a document type"),
        ({"document_type": " "}, "A document type cannot be empty"),
        ({"source": "a\tb"}, "cannot be a source"),
        ({"metadata": {"a\0": "b"}}, "cannot be a metadata key"),
        ({"metadata": {"": "b"}}, "A metadata key cannot be empty"),
        ({"metadata": {"a": "\udcff"}}, "is not UTF-8"),
        *(({"metadata": {key: "b"}}, f"cannot be called '{key}'") for key in RESERVED),
    ],
)
def test_labels_that_cannot_be_kept(labels: dict[str, object], message: str) -> None:
    with pytest.raises(LabelError, match=message) as caught:
        Labels(**labels)  # type: ignore[arg-type]
    assert caught.value.hint


def test_every_key_that_is_set_for_a_document_is_reserved() -> None:
    (chunk,) = cut("text", "a.md")
    links = {PROVENANCE, SKETCHES, REPLACES, REPLACED_BY}
    assert chunk.metadata.keys() | links == set(RESERVED)


def test_labels_in_any_language() -> None:
    labels = {"namespace": "会議\u3000メモ", "document_type": "Entscheidung für morgen"}
    (chunk,) = cut("text", **labels)
    assert (chunk.namespace, chunk.document_type) == tuple(labels.values())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_metadata_is_json(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Labels(metadata={"a": value})
