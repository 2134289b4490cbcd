"""Chinese, Japanese, Korean and Thai, alone and beside ASCII, in every mode and fusion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product

import pytest

from aurora.retrieval.candidates import NO_KEYWORD
from aurora.stores.base import Store
from aurora.stores.postgres.store import PostgresStore
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Kind
from tests.backends import BACKENDS
from tests.builders import make_chunk
from tests.embedders import WordsProvider
from tests.retrieval.conftest import Searched
from tests.tables import row

FUSIONS = ("weighted", "rrf", "cascade", "staged")
MODES = ("hybrid", "keyword", "semantic")


def note(name: str, content: str) -> Chunk:
    return make_chunk(content, f"{name}.md", name, kind=Kind.KNOWLEDGE, qualified_name="")


CHUNKS = {
    "chinese": note("zh", "用户认证流程：先检查密码，然后发放令牌。"),
    "database": note("db", "数据库连接池的配置，超时为三十秒。"),
    "japanese": note("ja", "ログイン処理はパスワードを確認してからトークンを返します。"),
    "hiragana": note("hi", "さくらのはなみはたのしいです。"),
    "korean": note("ko", "사용자 인증 과정에서 비밀번호를 확인합니다."),
    "thai": note("th", "การตรวจสอบรหัสผ่านของผู้ใช้"),
    "mixed": make_chunk("def renew(token):  # 刷新OAuth令牌，过期后重试", "oauth.py", "renew"),
    "wide": note("fw", "ＨＴＴＰＳ ｃｏｎｎｅｃｔｉｏｎ settings"),
    "rare": note("ra", "龘 is a character of its own"),
    "ascii": note("en", "how a user gets a token with a password"),
}


@pytest.fixture(scope="module", params=BACKENDS)
def polyglot(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Searched]:
    with ExitStack() as stack:
        if request.param == "postgres":
            databases = request.getfixturevalue("postgres_databases")
            store: Store = PostgresStore.open(stack.enter_context(databases.memory()))
        else:
            store = SQLiteStore(tmp_path_factory.mktemp("cjk") / "memory.db")
        stack.callback(store.close)
        yield filled(Searched(store))


def filled(memory: Searched) -> Searched:
    fillers = [note(f"x{n}", f"sheep number {n} jumps over the fence") for n in range(12)]
    memory.put(*CHUNKS.values(), *fillers, provider=WordsProvider(dimension=4096))
    return memory


QUERIES = [
    ("用户认证", "chinese"),
    ("认证流程", "chinese"),
    ("检查密码", "chinese"),
    ("密码", "chinese"),
    ("数据库", "database"),
    ("连接池 超时", "database"),
    ("パスワード", "japanese"),
    ("ログイン処理", "japanese"),
    ("トークン", "japanese"),
    ("はなみ", "hiragana"),
    ("비밀번호", "korean"),
    ("사용자 인증", "korean"),
    ("인증", "korean"),
    ("รหัสผ่าน", "thai"),
    ("OAuth令牌", "mixed"),
    ("刷新 OAuth", "mixed"),
    ("刷新OAuth令牌", "mixed"),
    ("龘", "rare"),
]


@pytest.mark.parametrize("keyword", ["bm25", "fulltext"])
@pytest.mark.parametrize("mode", MODES)
def test_the_right_chunk_is_first(polyglot: Searched, mode: str, keyword: str) -> None:
    for (text, expected), fusion in product(QUERIES, FUSIONS):
        with row(text, fusion):
            (best,) = polyglot.search(text, mode, fusion=fusion, keyword=keyword, limit=1).results
            assert best.chunk == CHUNKS[expected]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize(
    ("character", "expected"),
    [("龘", "rare"), ("池", "database"), ("졍", None), ("令", "chinese"), ("は", "hiragana")],
)
def test_a_single_character_is_found_wherever_it_stands(
    polyglot: Searched, character: str, expected: str | None, mode: str
) -> None:
    """Inside a run it is in no pair and no trigram: then LIKE looks for it."""
    for fusion in FUSIONS:
        for keyword in ("bm25", "fulltext"):
            found = polyglot.search(character, mode, fusion=fusion, keyword=keyword).results
            holding = {c.id for c in CHUNKS.values() if character in c.content}
            assert {result.chunk_id for result in found} == holding, (fusion, keyword)
            assert (expected is not None) == bool(holding)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["HTTPS connection", "ＨＴＴＰＳ ｃｏｎｎｅｃｔｉｏｎ", "https"])
def test_full_width_and_plain_letters_are_the_same(
    polyglot: Searched, text: str, mode: str
) -> None:
    for fusion in FUSIONS:
        (best,) = polyglot.search(text, mode, fusion=fusion, limit=1).results
        assert best.chunk == CHUNKS["wide"], fusion


def test_half_width_kana_are_the_same_as_full_width_ones(polyglot: Searched) -> None:
    for mode in MODES:
        assert polyglot.names("ﾊﾟｽﾜｰﾄﾞ", mode, limit=1) == ["ja"]


def test_letters_beside_cjk_are_words_of_their_own(polyglot: Searched) -> None:
    for keyword in ("bm25", "fulltext"):
        found = polyglot.names("OAuth", "keyword", keyword=keyword)
        assert found == ["renew"], keyword


@pytest.mark.parametrize("keyword", ["bm25", "fulltext"])
def test_scripts_do_not_find_each_other(polyglot: Searched, keyword: str) -> None:
    assert polyglot.names("인증", "keyword", keyword=keyword) == ["ko"]
    assert set(polyglot.names("密码", "keyword", keyword=keyword)) == {"zh"}
    assert polyglot.names("ひみつ", "keyword", keyword=keyword) == []


def test_full_width_letters_find_themselves_in_the_text_search_of_the_store(
    polyglot: Searched,
) -> None:
    """It knows them as they are written; meaning finds the plain ones all the same."""
    wide = "ＨＴＴＰＳ ｃｏｎｎｅｃｔｉｏｎ"
    for mode in MODES:
        assert polyglot.names(wide, mode, keyword="fulltext", limit=1) == ["fw"]
    for mode in ("hybrid", "semantic"):
        assert polyglot.names("https", mode, keyword="fulltext", limit=1) == ["fw"]


def test_where_no_chunk_has_the_character_meaning_answers_and_says_so(polyglot: Searched) -> None:
    assert [note.text for note in polyglot.search("졍").notes] == [NO_KEYWORD]
    assert polyglot.search("池").notes == ()
    assert polyglot.search("池").signals[0] == "fulltext"
