"""The words of a chunk as a PostgreSQL holds them. No server is needed."""

from __future__ import annotations

import pytest

from aurora.stores.postgres.rows import any_of, in_a_row, quote, words_of
from aurora.text import SHORTEST, chunk_text, document_terms
from aurora.types import Chunk, Kind
from tests.builders import make_chunk

DOCUMENTED = make_chunk(f'def run():\n    """Parse it."""\n{"    step()" * 40}', "b.py", "run")
UNTITLED = make_chunk("Ada sold a car. " * 30, "", "Ada", kind=Kind.KNOWLEDGE, qualified_name="")


def written(chunk: Chunk) -> dict[str, str]:
    """Each word with its positions, as the server shows them."""
    return {
        word: ",".join(f"{place & 0x3FFF}{'DCBA'[place >> 14]}" for place in places)
        for word, places in words_of(chunk).places.items()
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
    def named(chunk: Chunk) -> list[str]:
        return [word for word, places in written(chunk).items() if "A" in places]

    assert named(DOCUMENTED) == ["run"]
    assert named(UNTITLED) == []


def test_words_take_no_more_room_than_a_server_gives_them() -> None:
    """Four bytes a letter, two a place: of a text that has more, the beginning is kept."""
    again = " ".join(f"word{number:x}" for number in range(5000))
    chunk = make_chunk(" ".join([again, again, *(f"more{n:x}" for n in range(60_000))]))
    places = words_of(chunk).places
    room = sum(4 * len(word) + 2 * len(own) + 2 for word, own in places.items())
    assert 999_900 < room < 1_000_000
    assert "word1387" in places


def test_a_word_has_no_more_places_than_a_server_keeps() -> None:
    assert len(words_of(make_chunk("word " * 400)).places["word"]) == 255


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
