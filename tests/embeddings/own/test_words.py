"""Texts are cut into pieces of words the same way for training and for search."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.embeddings.aurora import tokens as module
from aurora.embeddings.aurora.tokens import UNKNOWN, Tokenizer, read_tokenizer, split_words
from aurora.errors import EmbeddingError
from tests.embeddings.own.making import NUMBERS, PIECES


@pytest.fixture
def words() -> Tokenizer:
    return Tokenizer(PIECES)


def cut(words: Tokenizer, text: str) -> list[str]:
    return [PIECES[number] for number in words.encode(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getHTTPResponse_code", "get http response code"),
        ("parseConfig2JSON", "parse config 2 json"),
        ("ABC_dEF", "abc d ef"),
        ("Hello, World! don't", "hello world don t"),
        ("Café №12 NAÏVE İstanbul", "cafe no 12 naive istanbul"),
        ("cafe\u0301 l\u2019été", "cafe l ete"),
        ("getÉcole", "get ecole"),
        ("ﬁle Ｗｉｄｅ x²", "file wide x 2"),
        ("Ёлка ΟΔΟΣ", "елка οδος"),
        ("v1.2rc3", "v 1 2 rc 3"),
        ("Python用户认证2024年", "python 用户认证 2024 年"),
        ("ﾊﾟｽ ガギ・グ 한국어", "パス ガギ グ 한국어"),  # half as wide; voiced; between words
        ("", ""),
        ("--- ... 🙂 \0 \ud800", ""),
    ],
)
def test_words_are_small_letters_or_digits_or_a_run_of_cjk(text: str, expected: str) -> None:
    assert split_words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the config file", "the config file"),
        ("parsing parse", "pars ##ing pars ##e"),
        ("gets", "get ##s"),  # the longest piece first
        ("x42", "x 4 ##2"),
        ("getHTTPResponse_code", "get http response code"),
        ("über", "u ##b ##e ##r"),
        ("дом", "[unknown]"),
        ("getдом", "[unknown]"),  # a word that cannot be cut to its end
        ("用户认证", "用户 认证"),  # the longest first, though 用 is one too
        ("用我们的认证", "用 [unknown] 认证"),  # three signs in a row
        ("Python用户", "p ##y ##t ##h ##o ##n 用户"),
        ("ガﾊﾟ", "ガ パ"),
        ("", "[unknown]"),
        ("?!", "[unknown]"),
    ],
)
def test_words_are_cut_into_the_longest_pieces(words: Tokenizer, text: str, expected: str) -> None:
    assert cut(words, text) == expected.split()


def test_a_word_is_cut_off_after_a_hundred_signs(words: Tokenizer) -> None:
    assert cut(words, "a" * 5000) == ["a"] + ["##a"] * 99


@given(text=st.text(st.characters()) | st.text("aZ0_é用パ\u0301\u3099 ", max_size=20))
def test_any_text_has_pieces(text: str) -> None:
    words = Tokenizer(PIECES)
    numbers = words.encode(text)
    assert numbers
    assert all(0 <= number < len(PIECES) for number in numbers)
    assert words.encode(text) == numbers  # remembered or not


@given(parts=st.lists(st.text(st.characters(), max_size=8), max_size=5))
def test_lines_are_cut_by_themselves(parts: list[str]) -> None:
    words = Tokenizer(PIECES)
    apart = [number for part in parts for number in words.encode(part) if number != UNKNOWN]
    assert [number for number in words.encode("\n".join(parts)) if number != UNKNOWN] == apart


def test_only_so_many_runs_are_remembered(
    monkeypatch: pytest.MonkeyPatch, words: Tokenizer
) -> None:
    monkeypatch.setattr(module, "_MOST_CACHED", 10)
    for number in range(100):
        words.encode(f"word{number} the")
        assert len(words) <= 10
    words.clear()
    words.encode("a" * 101)
    assert not words


def test_the_number_of_a_piece_is_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pieces.txt"
    path.write_text("\n".join([*PIECES, ""]), encoding="utf-8")
    words = read_tokenizer(path)
    assert words.size == len(PIECES)
    assert words.encode("config") == [NUMBERS["config"]]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "No such file"),
        (b"", r"does not begin with \[unknown\]"),
        (b"a\nb\n", r"does not begin with \[unknown\]"),
        (b"[unknown]\n\xff\n", "is damaged"),
    ],
)
def test_a_file_that_holds_no_pieces_is_named(
    tmp_path: Path, content: bytes | None, fault: str
) -> None:
    path = tmp_path / "pieces.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EmbeddingError, match=f"pieces.txt.*{fault}") as refused:
        read_tokenizer(path)
    assert "install" in refused.value.hint


def test_cutting_needs_no_numpy() -> None:
    code = "import sys, aurora.embeddings.aurora.tokens; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
