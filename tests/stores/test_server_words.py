"""The words of a chunk as a PostgreSQL holds them. No server is needed."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import pytest

from aurora.stores.postgres.rows import any_of, in_a_row, quote
from aurora.stores.postgres.word_rows import Words, words_of
from aurora.text import SHORTEST, chunk_text, document_terms
from aurora.types import Chunk, Kind
from tests.builders import make_chunk

DOCUMENTED = make_chunk(f'def run():\n    """Parse it."""\n{"    step()" * 40}', "b.py", "run")
UNTITLED = make_chunk("Ada sold a car. " * 30, "", "Ada", kind=Kind.KNOWLEDGE, qualified_name="")


def row(chunk: Chunk) -> Words:
    [words] = words_of([chunk])
    return words


def read_places(tsv: bytes) -> Mapping[str, Sequence[int]]:
    """Each word with its places, from the bytes that the server is sent."""
    (count,), rest, places = struct.unpack_from(">i", tsv), tsv[4:], {}
    for _ in range(count):
        word, _, rest = rest.partition(b"\0")
        size = struct.unpack_from(">H", rest)[0]
        places[word.decode()] = struct.unpack_from(f">{size}H", rest, 2)
        rest = rest[2 + 2 * size :]
    assert not rest
    return places


def written(chunk: Chunk) -> dict[str, str]:
    """Each word with its positions, as the server shows them."""
    return {
        word: ",".join(f"{place & 0x3FFF}{'DCBA'[place >> 14]}" for place in places)
        for word, places in read_places(row(chunk).tsv).items()
    }


def test_words_stand_where_they_are_said_and_fields_lie_apart() -> None:
    chunk = make_chunk('"""Do it."""\nx = do', "a.py", "run", qualified_name="A.run")
    assert written(chunk) == {
        "run": "1A,5B", "a.run": "3B", "a": "4B,7B", "a.py": "6B", "py": "8B",
        "do": "10C,13C,15D", "it": "11C,16D", "x": "12C",
    }  # fmt: skip


@pytest.mark.parametrize("chunk", [DOCUMENTED, UNTITLED], ids=["code", "prose"])
def test_a_chunk_is_as_long_as_to_the_index_file(chunk: Chunk) -> None:
    terms = document_terms(chunk_text(chunk))
    assert len(terms) > SHORTEST
    assert row(chunk).length == len(terms)
    assert row(make_chunk("x")).length == SHORTEST


@pytest.mark.parametrize(
    ("chunk", "weights"),
    [
        (make_chunk("x"), [2 / 3, 1 / 3, 1 / 3, 1.0]),
        (make_chunk("x" * 100), [2 / 5, 1 / 5, 1 / 5, 1.0]),
        (UNTITLED, [1.0, 1 / 2, 1 / 2, 0.0]),
    ],
    ids=["short", "longer", "untitled"],
)
def test_names_and_summaries_weigh_as_often_as_they_count(
    chunk: Chunk, weights: list[float]
) -> None:
    assert row(chunk).weights == pytest.approx(weights)


def test_a_name_that_says_nothing_more_has_no_place() -> None:
    def named(chunk: Chunk) -> list[str]:
        return [word for word, places in written(chunk).items() if "A" in places]

    assert named(DOCUMENTED) == ["run"]
    assert named(UNTITLED) == []


def test_words_take_no_more_room_than_a_server_gives_them() -> None:
    """Of a text that has more, the beginning is kept, and searches for parts of words read it."""
    again = " ".join(f"word{number:x}" for number in range(5000))
    chunk = make_chunk(" ".join([again, again, *(f"more{n:x}" for n in range(90_000))]))
    tsv = row(chunk).tsv
    places = read_places(tsv)
    assert 999_900 < len(tsv) < 1_000_010
    assert {"word1387", "?"} < places.keys()
    assert "?" not in read_places(row(make_chunk(again)).tsv)


def test_a_word_has_no_more_places_than_a_server_keeps() -> None:
    assert len(read_places(row(make_chunk("word " * 400)).tsv)["word"]) == 255


def test_words_of_a_name_that_the_texts_lack_are_there_without_a_position() -> None:
    module = make_chunk("import re", "a.py", "imports of re", kind=Kind.CODE, qualified_name="")
    assert [word for word, at in written(module).items() if not at] == ["?_imports", "?_of"]


@pytest.mark.parametrize(
    ("text", "is_covered"),
    [
        ("a non-breaking\xa0space…", True), ("x² of the ﬁle", True), ("Straße 认证", True),
        ("PYTHON™ rocks", False), ("cafe\u0301", False), ("İstanbul", False), ("x" * 129, False),
        ("x" * 128, True), ("a." * 100, True),
    ],
)  # fmt: skip
def test_a_text_whose_words_its_tokens_may_not_show_is_marked(text: str, is_covered: bool) -> None:
    assert ("?" in written(make_chunk(text))) != is_covered


def test_the_words_of_a_chunk_do_not_depend_on_the_chunks_beside_it() -> None:
    empty, encoded = make_chunk("", "", "", qualified_name=""), make_chunk("x" * 200)
    chunks = [DOCUMENTED, empty, UNTITLED, encoded]
    for chunk, words in zip(chunks, words_of(chunks), strict=True):
        assert words._replace(tsv=b"") == row(chunk)._replace(tsv=b"")
        assert read_places(words.tsv) == read_places(row(chunk).tsv)


def test_what_comes_behind_the_last_place_is_there_once() -> None:
    text = "one " * 10 + " ".join(f"w{n}" for n in range(20_000)) + " one"
    places = written(make_chunk(text))
    assert places["w19999"] == "16383C"
    assert places["one"].endswith(",16383C")
    twice = written(make_chunk(f'"""Last."""\n{"x " * 17_000} end end'))
    assert (twice["end"], twice["last"]) == ("16383C", "8C,16383D")


@pytest.mark.parametrize(
    ("token", "quoted"),
    [("ab", "'ab'"), ("认证", "'认证'"), ("a'b", "'a''b'"), ("a\\b", "'a\\\\b'"), ("a.b", "'a.b'")],
)
def test_a_word_is_quoted_whatever_it_is_made_of(token: str, quoted: str) -> None:
    assert quote(token) == quoted
    assert any_of([token, "x"]) == f"{quoted} | 'x'"
    assert in_a_row([token, "x"]) == f"({quoted} <-> 'x')"
    assert "\0" not in quote(f"{token}\0")
