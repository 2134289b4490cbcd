"""Words are cut as the model's own tokenizer cuts them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from aurora.embeddings.pieces import SPACE, Pieces, read_pieces
from aurora.errors import EmbeddingError
from tests.test_layers import SOURCE

_SPEC = find_spec("wordllama")
assert _SPEC is not None
assert _SPEC.origin is not None
FILE = Path(_SPEC.origin).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return read_pieces(FILE)


@pytest.fixture(scope="module")
def oracle() -> Tokenizer:
    return Tokenizer.from_file(str(FILE))


def theirs(oracle: Tokenizer, word: str) -> list[int]:
    ids: list[int] = oracle.encode(word, add_special_tokens=False).ids
    return ids


def test_every_word_of_our_own_sources_is_cut_alike(pieces: Pieces, oracle: Tokenizer) -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    words = sorted(word for word in set(text.split()) if SPACE not in word)
    assert len(words) > 10_000
    assert [w for w in words if list(pieces.of(w)) != theirs(oracle, w)] == []


def test_every_piece_is_one(pieces: Pieces, oracle: Tokenizer) -> None:
    """A word that is a piece is not cut, which is a short cut of ours, and not of the library's."""
    whole = [word for word in oracle.get_vocab() if word.startswith(SPACE) and " " not in word]
    assert len(whole) > 10_000
    cut = [word for word in whole if list(pieces.of(word[1:])) != theirs(oracle, word[1:])]
    assert [word for word in cut if word != SPACE and SPACE not in word[1:]] == []


@given(word=st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=30))
def test_any_word_of_any_script_is_cut_alike(pieces: Pieces, oracle: Tokenizer, word: str) -> None:
    if SPACE not in word and "<" not in word:  # a mark of the model's own, such as <s>
        assert list(pieces.of(word)) == theirs(oracle, word)


def test_what_is_in_no_piece_goes_byte_by_byte(pieces: Pieces, oracle: Tokenizer) -> None:
    assert len(pieces.of("𓀀")) == 1 + len("𓀀".encode())
    assert list(pieces.of("𓀀")) == theirs(oracle, "𓀀")
    assert len(pieces.of("\ud800")) > 0  # half a character, as a file name may have it


def test_a_very_long_word_is_cut_in_the_end(pieces: Pieces) -> None:
    assert sum(1 for _ in pieces.of("ab" * 2000)) > 100


def test_a_file_that_is_no_vocabulary_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    for content in (b"", b"{}", b'{"vocab": {"a": 1}, "merges": []}', b'{"vocab": {"a": "merges"'):
        file.write_bytes(content)
        with pytest.raises(EmbeddingError, match=r"tokenizer\.json holds no vocabulary"):
            read_pieces(file)
    with pytest.raises(EmbeddingError, match="cannot be read: No such file"):
        read_pieces(tmp_path / "none.json")
