"""Which pieces are kept, and that every word can be cut into them."""

from __future__ import annotations

from aurora.embeddings.aurora.tokens import UNKNOWN, Tokenizer
from training.model.vocabulary import KANA, cjk_pieces, latin_pieces
from training.model.vocabulary import UNKNOWN as FIRST

COUNTS = {
    "search": 900.0, "index": 800.0, "indexing": 50.0, "caching": 40.0, "batching": 30.0,
    "xylophoning": 3.0, "ключ": 25.0, "12": 60.0, "123456": 30.0,
}  # fmt: skip
RUNS = {"数据库连接": 40.0, "数据库": 60.0, "连接失败": 30.0, "データ": 20.0, "사용자": 10.0}
RUNS["今天天气很好我们去公园散步"] = 200.0  # so that meeting by chance is rare


LETTERS = len(latin_pieces({}, 0))


def cut(pieces: list[str], text: str) -> list[str]:
    known = [FIRST, *pieces]
    return [known[number] for number in Tokenizer(known).encode(text)]


def test_frequent_words_are_whole_and_rare_ones_share_their_ends() -> None:
    pieces = latin_pieces(COUNTS, LETTERS + 4)
    assert cut(pieces, "search index") == ["search", "index"]
    assert pieces[LETTERS:] == ["search", "index", "12", "##ing"]
    assert len(pieces) == len(set(pieces))


def test_no_word_of_a_known_alphabet_is_unknown() -> None:
    words = Tokenizer([FIRST, *latin_pieces(COUNTS, LETTERS + 4)])
    for text in ("zyxwv", "0987654321", "ключи", "λόγος"):
        assert UNKNOWN not in words.encode(text)


def test_long_numbers_are_no_pieces() -> None:
    assert "123456" not in latin_pieces(COUNTS, 10_000)
    assert "12" in latin_pieces(COUNTS, 10_000)


def test_cjk_has_single_signs_and_the_strings_that_hold_together() -> None:
    pieces = cjk_pieces(RUNS, 9_500)
    assert cut(pieces, "数据库") == ["数据库"]
    assert set(KANA) <= set(pieces)
    assert UNKNOWN not in Tokenizer([FIRST, *pieces]).encode("用户認証ユーザー사용자")
    assert len(pieces) == len(set(pieces)) <= 9_500
