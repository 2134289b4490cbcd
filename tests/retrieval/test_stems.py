"""Words are found in other forms, end to end; identifiers stay exact."""

from __future__ import annotations

import pytest

from aurora.types import Kind
from tests.builders import make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.conftest import Searched

READ = make_chunk("def load(path):\n    parse the files of a project", "read.py", "load")
PARSING = make_chunk("class Parsing: everything about parsing", "p.py", "Parsing", kind=Kind.CLASS)
PARSER = make_chunk("def parse_files(x): pass", "q.py", "parse_files")
OTHER = make_chunk("def connect(host): open a socket", "net.py", "connect")


@pytest.fixture
def corpus(memory: Searched) -> Searched:
    memory.put(READ, PARSING, PARSER, OTHER, provider=WordsProvider())
    return memory


@pytest.mark.parametrize("asked", ["parsing", "parsed", "parses", "parse"])
@pytest.mark.parametrize("fusion", ["auto", "weighted", "staged"])
def test_every_form_finds_every_other(corpus: Searched, asked: str, fusion: str) -> None:
    found = corpus.names(asked, "keyword", fusion=fusion)
    assert set(found) == {"load", "Parsing", "parse_files"}


@pytest.mark.parametrize(
    ("asked", "first"), [("parsing", "Parsing"), ("parse_files", "parse_files"), ("load", "load")]
)
def test_the_very_word_comes_before_its_other_forms(
    corpus: Searched, asked: str, first: str
) -> None:
    assert corpus.names(asked, "keyword")[0] == first


def test_an_identifier_is_not_found_by_another(memory: Searched) -> None:
    """`user_ids` and `user_id` are two names: as whole words, neither is the other."""
    memory.put(
        make_chunk("x = user_ids", "a.py", "many"),
        make_chunk("x = user_id", "b.py", "one"),
        make_chunk("y = 0", "c.py", "none"),
    )
    answer = memory.search("user_ids", "keyword")
    assert [result.chunk.name for result in answer.results] == ["many", "one"]
    first, second = answer.results
    assert first.score > second.score
    assert first.terms == ("user_ids", "user", "ids")
    assert "user_ids" not in second.terms


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_the_words_that_matched_are_those_of_the_question(corpus: Searched, mode: str) -> None:
    """Whoever shows them marks their other forms, too."""
    answer = corpus.search("parsing the file", mode)
    terms = {result.chunk.name: result.terms for result in answer.results}
    assert terms["load"] == ("parsing", "the", "file")
    assert terms["Parsing"] == ("parsing",)


def test_a_question_in_a_sentence_is_about_its_words(memory: Searched) -> None:
    """What only joins them does not decide."""
    joined = make_chunk("what is it that this does and how is it done, so that it is", "j.md", "j")
    memory.put(joined, make_chunk("sockets are closed at the end", "s.md", "closing"))
    assert memory.names("how is it that a socket does close", "keyword")[0] == "closing"
