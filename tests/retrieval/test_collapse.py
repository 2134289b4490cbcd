"""One row for one thing: what collapses, what stays apart, and how many a row stands for."""

from __future__ import annotations

import pytest

from aurora.retrieval.collapse import Collapse, find_locale, is_translation
from aurora.types import Chunk, Kind
from tests.builders import make_chunk
from tests.retrieval.conftest import Searched


def rows(memory: Searched, text: str, **options: object) -> list[tuple[str, int]]:
    """The ids of the results, and how many more each stands for."""
    answer = memory.search(text, **options)  # type: ignore[arg-type]
    return [(result.chunk_id, result.more) for result in answer.results]


def page(path: str, content: str, name: str = "Login") -> Chunk:
    return make_chunk(content, path, name, kind=Kind.KNOWLEDGE, qualified_name="", language="")


def test_pieces_of_one_definition_are_one_row(memory: Searched) -> None:
    pieces = [
        make_chunk(f"invoice total {word}", "shop.py", "bill", id=f"bill@{n}", metadata={"part": n})
        for n, word in enumerate(("tax", "discount", "shipping"), start=1)
    ]
    memory.put(*pieces, make_chunk("invoice total once", "other.py", "report"))
    found = dict(rows(memory, "invoice total"))
    assert len(found) == 2
    assert found.pop("other.py:report") == 0
    assert list(found.values()) == [2]


def test_the_whole_definition_is_the_row_where_the_query_names_it(memory: Searched) -> None:
    later = make_chunk("bill bill", "shop.py", "bill", id="bill@2", metadata={"part": 2})
    whole = make_chunk("def bill(): ...", "shop.py", "bill", id="bill", metadata={"part": 1})
    memory.put(later, whole)
    assert rows(memory, "bill") == [("bill", 1)]


def test_a_definition_in_many_pieces_leaves_no_other_row_out(memory: Searched) -> None:
    pieces = [
        make_chunk(
            f"invoice invoice total {n}", "shop.py", "invoice", id=f"invoice@{n}",
            metadata={"part": n, "parts": 60},
        )
        for n in range(1, 61)
    ]  # fmt: skip
    others = [make_chunk(f"invoice {n}", f"other{n}.py", f"report{n}") for n in range(3)]
    memory.put(*pieces, *others)
    found = rows(memory, "invoice", limit=4)
    assert found[0] == ("invoice@1", 59)
    assert {id_ for id_, _ in found[1:]} == {chunk.id for chunk in others}


def test_overloads_with_one_qualified_name_are_one_row(memory: Searched) -> None:
    stubs = [
        make_chunk(
            f"@overload\ndef convert(value: {kind}): ...", "convert.py", "convert",
            id=f"stub {kind}", qualified_name="Tool.convert", metadata={"overload": True},
        )
        for kind in ("int", "str", "bytes")
    ]  # fmt: skip
    real = make_chunk(
        "def convert(value):\n    return str(value)", "convert.py", "convert", id="real",
        qualified_name="Tool.convert",
    )  # fmt: skip
    memory.put(*stubs, real)
    assert rows(memory, "convert") == [("real", 3)]


def test_translations_of_a_page_are_one_row_in_the_language_of_the_question(
    memory: Searched,
) -> None:
    memory.put(
        page("docs/de/login.md", "login: das Passwort wird geprüft"),
        page("docs/es/login.md", "login: la contraseña se comprueba"),
        page("docs/en/login.md", "login: the password is checked here"),
        page("docs/en/logout.md", "after login comes logout"),
    )
    found = rows(memory, "how does login work", fusion="auto")
    assert sorted(found) == [("docs/en/login.md:Login", 2), ("docs/en/logout.md:Login", 0)]


def test_the_same_section_in_two_languages_of_code_is_two_rows(memory: Searched) -> None:
    """Only prose is translated: `src/de/` holds other code than `src/en/`."""
    memory.put(
        make_chunk("def greet(): return 'hallo login'", "src/de/greet.py", "greet"),
        make_chunk("def greet(): return 'hello login'", "src/en/greet.py", "greet"),
    )
    assert len(rows(memory, "login")) == 2


def test_exact_copies_are_one_row_whatever_their_spaces(memory: Searched) -> None:
    text = "def retry(call):\n    return call()"
    memory.put(
        make_chunk(text, "a.py", "retry"),
        make_chunk(text.replace("    ", "\t"), "b.py", "retry"),
        make_chunk(text, "c.py", "again"),
    )
    assert rows(memory, "retry call") == [("a.py:retry", 2)]


WORDS = "the quick brown fox jumps over a lazy dog while seven hungry wolves watch from afar"


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (f"{WORDS} today", 1),  # 16 of 17 words
        (WORDS.replace("fox", "cat").replace("dog", "cow").replace("seven", "nine"), 2),
    ],
    ids=["near", "not-near"],
)
def test_near_copies_are_one_row(memory: Searched, other: str, count: int) -> None:
    memory.put(page("a.md", WORDS, "one"), page("b.md", other, "two"))
    assert len(rows(memory, "quick brown wolves")) == count


def test_short_texts_are_not_compared_by_their_words(memory: Searched) -> None:
    memory.put(make_chunk("retry call twice", "a.py", "x"), make_chunk("call retry twice", "b.py"))
    assert len(rows(memory, "retry call")) == 2


def test_two_sections_of_one_page_stay_two_rows(memory: Searched) -> None:
    memory.put(
        page("docs/en/login.md", "login with a password", "Password"),
        page("docs/en/login.md", "login with a token from the server", "Token"),
        page("README.md", "login in short", "Usage"),
        page("README.md", "login in long, with examples", "Examples"),
    )
    assert sorted(rows(memory, "login", fusion="auto")) == [
        ("README.md:Examples", 0), ("README.md:Usage", 0),
        ("docs/en/login.md:Password", 0), ("docs/en/login.md:Token", 0),
    ]  # fmt: skip


def test_two_functions_of_one_name_in_two_files_stay_two_rows(memory: Searched) -> None:
    memory.put(
        make_chunk("def close(self): self.file.close()", "a.py", "close"),
        make_chunk("def close(self): self.socket.shutdown()", "b.py", "close"),
    )
    assert sorted(rows(memory, "close")) == [("a.py:close", 0), ("b.py:close", 0)]


def test_two_methods_of_one_name_in_one_file_stay_two_rows(memory: Searched) -> None:
    memory.put(
        make_chunk("close the file", "a.py", "close", id="1", qualified_name="File.close"),
        make_chunk("close the socket", "a.py", "close", id="2", qualified_name="Socket.close"),
    )
    assert len(rows(memory, "close")) == 2


def test_chunks_without_a_name_of_their_own_stay_apart(memory: Searched) -> None:
    memory.put(
        make_chunk("start the server", "a.py", "module", id="1"),
        make_chunk("stop the server", "a.py", "module", id="2"),
    )
    assert len(rows(memory, "server")) == 2


def test_collapsed_rows_leave_their_places_to_others(memory: Searched) -> None:
    """A limit of three shows three things."""
    memory.put(
        *(make_chunk("retry retry retry", f"copy{n}.py", f"c{n}") for n in range(5)),
        make_chunk("retry once", "once.py", "once"),
        make_chunk("and then retry it twice", "twice.py", "twice"),
    )
    found = rows(memory, "how to retry", limit=3)
    assert found == [("copy0.py:c0", 4), ("once.py:once", 0), ("twice.py:twice", 0)]


def test_a_filter_without_words_fills_its_limit_with_different_things(memory: Searched) -> None:
    memory.put(*(page(f"{n}.md", f"text {n // 2}", f"n{n}") for n in range(8)))
    assert [id_ for id_, _ in rows(memory, "type:knowledge", limit=3)] == [
        "7.md:n7", "5.md:n5", "3.md:n3",
    ]  # fmt: skip


def test_an_owner_is_the_first_row_of_a_thing() -> None:
    collapse = Collapse()
    chunks = [make_chunk("one"), make_chunk("two"), make_chunk("two", "b.py", "g")]
    owners = [collapse.owner(chunk, place) for place, chunk in enumerate(chunks)]
    assert owners == [0, 0, 2]  # the second is another piece of `f`, and stands for itself nowhere


@pytest.mark.parametrize(
    ("path", "locale"),
    [
        ("docs/de/index.md", "de"), ("docs/pt-BR/index.md", "pt"), ("README.zh-CN.md", "zh"),
        ("docs/zh-hant/x.md", "zh"), ("docs/zh-Hans/x.md", "zh"), ("docs/sr_Latn/x.md", "sr"),
        ("docs/index.md", ""), ("README.md", ""), ("id.md", ""), ("src/it-jobs/x.md", ""),
        ("docs/no-cache.md", ""),
    ],
)  # fmt: skip
def test_the_language_that_a_path_names(path: str, locale: str) -> None:
    assert find_locale(path) == locale


@pytest.mark.parametrize(
    ("path", "question", "expected"),
    [
        ("docs/en/a.md", "how does it work", False),
        ("docs/de/a.md", "how does it work", True),
        ("docs/de/a.md", "wie wird das Passwort und der Name geprüft", False),
        ("docs/de/a.md", "wie wird das Passwort gelesen und wann", False),
        ("docs/ja/a.md", "パスワードはどう確認されますか", False),
        ("docs/ru/a.md", "パスワードはどう確認されますか", True),
        ("docs/a.md", "how does it work", False),
    ],
)
def test_a_page_in_another_language_than_the_question(
    path: str, question: str, expected: bool
) -> None:
    assert is_translation(path, question) is expected
