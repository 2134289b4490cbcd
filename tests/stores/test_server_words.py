"""The words of a chunk as a PostgreSQL holds them. No server is needed."""

from __future__ import annotations

import re

import pytest

from aurora.stores.postgres.rows import any_of, in_a_row, quote, words_of
from aurora.text import SHORTEST, chunk_text, document_terms
from aurora.types import Chunk, Kind
from tests.builders import make_chunk

DOCUMENTED = make_chunk(f'def run():\n    """Parse it."""\n{"    step()" * 40}', "b.py", "run")
UNTITLED = make_chunk("Ada sold a car. " * 30, "", "Ada", kind=Kind.KNOWLEDGE, qualified_name="")


def test_words_stand_where_they_are_said_and_fields_lie_apart() -> None:
    chunk = make_chunk('"""Do it."""\nx = do', "a.py", "run", qualified_name="A.run")
    assert words_of(chunk).tsv.split() == [
        "'run':1A,5B", "'a.run':3B", "'a':4B,7B", "'a.py':6B", "'py':8B",
        "'do':10C,13C,15D", "'it':11C,16D", "'x':12C",
    ]  # fmt: skip


@pytest.mark.parametrize("chunk", [DOCUMENTED, UNTITLED], ids=["code", "prose"])
def test_a_chunk_is_as_long_as_to_the_index_file(chunk: Chunk) -> None:
    terms = document_terms(chunk_text(chunk))
    assert len(terms) > SHORTEST
    assert words_of(chunk).length == len(terms)
    assert words_of(make_chunk("x")).length == SHORTEST


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
    assert words_of(chunk).weights == pytest.approx(weights)


def test_a_name_that_says_nothing_more_has_no_place() -> None:
    assert re.findall(r"\d+A", words_of(DOCUMENTED).tsv) == ["1A"]
    assert re.findall(r"\d+A", words_of(UNTITLED).tsv) == []


def test_words_take_no_more_room_than_a_server_gives_them() -> None:
    """Four bytes a letter, two a place: of a text that has more, the beginning is kept."""
    again = " ".join(f"word{number:x}" for number in range(5000))
    tsv = words_of(make_chunk(" ".join([again, again, *(f"more{n:x}" for n in range(60_000))]))).tsv
    written = [word.rpartition(":") for word in tsv.split()]
    room = sum(4 * (len(token) - 2) + 2 * len(places.split(",")) for token, _, places in written)
    assert 999_900 < room < 1_000_000
    assert "'word1387'" in {token for token, _, _ in written}


def test_a_word_has_no_more_places_than_a_server_keeps() -> None:
    often = words_of(make_chunk("word " * 400)).tsv
    (places,) = re.findall(r"'word':(\S+)", often)
    assert len(places.split(",")) == 255


def test_what_comes_behind_the_last_place_is_there_once() -> None:
    tsv = words_of(make_chunk("one " * 10 + " ".join(f"w{n}" for n in range(20_000)) + " one")).tsv
    places = {int(place) for place in re.findall(r"[:,](\d+)[A-D]", tsv)}
    assert max(places) == 16_383
    assert "'w19999':16383C" in tsv.split()
    twice = words_of(make_chunk(f'"""Last."""\n{"x " * 17_000} end end')).tsv
    assert {"'end':16383C", "'last':8C,16383D"} <= set(twice.split())


@pytest.mark.parametrize(
    ("token", "quoted"),
    [("ab", "'ab'"), ("认证", "'认证'"), ("a'b", "'a''b'"), ("a\\b", "'a\\\\b'"), ("a.b", "'a.b'")],
)
def test_a_word_is_quoted_whatever_it_is_made_of(token: str, quoted: str) -> None:
    assert quote(token) == quoted
    assert any_of([token, "x"]) == f"{quoted} | 'x'"
    assert in_a_row([token, "x"]) == f"({quoted} <-> 'x')"
    assert "\0" not in quote(f"{token}\0")
