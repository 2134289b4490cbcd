"""What every store must do when it is searched; part of `StoreConformance`."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.packing import pack_vector
from aurora.stores.base import Definition, Embedder, FileState, Store, Uses
from aurora.types import (
    SYMBOLS,
    Chunk,
    ChunkHistory,
    Criteria,
    Json,
    Kind,
    Lines,
    Place,
    Symbol,
    Tracking,
)
from tests.builders import NOW, hide, make_chunk, make_exchange
from tests.properties import examples

MODEL = Embedder("tiny", 1, "abc")

GET_USER = make_chunk(
    "def get_user(token):\n    return users[token]", "src/app/auth.py", "get_user",
    qualified_name="Auth.get_user", metadata={"signature": "def get_user(token):"},
)  # fmt: skip
SERVER = make_chunk(
    "class HTTPServer:\n    'Serves users. 100% safe!'", "src/server.py", "HTTPServer",
    kind=Kind.CLASS, metadata={"tags": ["web", 2], "stable": True, "weight": 0.5, "x": None},
)  # fmt: skip
NOTE = make_chunk(
    "# Login\nThe user gets a token, 用户认证流程.", "docs/登录 notes.md", "Login notes",
    kind=Kind.KNOWLEDGE, language="markdown", namespace="team", document_type="decision",
    qualified_name="", metadata={"source": "note", 'say "hi"': "a\\b"},
)  # fmt: skip
PLAIN = make_chunk("认证 is auth", "", "认证", kind=Kind.KNOWLEDGE, language="", namespace="team")
CORPUS = (GET_USER, SERVER, NOTE, PLAIN)

HOSTILE = [
    '"', "'", '""" OR 1', "a AND", "AND OR NOT", "NEAR(a b, 2)", "name:f", "f*", "^f", "{a b}: c",
    "-a", "a + b", "(", ")", "\\", "%", "_", "!", "[", "]", "[!", "\0", "f\0x", "\ud800",
    "f \udfff", "'; DROP TABLE chunks; --", "é", "用", "𝔘", "\ue000", "𞤀𞤁𞤂",
    "x" * 70_000, "_" * 70_000, "用" * 70_000, "a.b " * 70_000, "?" * 70_000,
]  # fmt: skip
ids_of_hostile = [text[:12].encode("unicode_escape").decode() for text in HOSTILE]


def names(store: Store, criteria: Criteria) -> set[str]:
    return {
        chunk.name for chunk in store.chunks.get_rows(store.search.find_rows(criteria)).values()
    }


def found(store: Store, text: str, limit: int = 10) -> list[str]:
    hits = store.search.find_text(text, limit=limit)
    chunks = store.chunks.get_rows([row for row, _ in hits])
    return [chunks[row].name for row, _ in hits]


def settings_with(*symbols: Json) -> Chunk:
    return make_chunk(name="Settings", metadata={"symbols": list(symbols)})


def symbols_found(store: Store, name: str) -> list[Symbol | None]:
    return [definition.symbol for definition in store.search.find_definitions(name, limit=10)]


def with_symbols(*names: str) -> dict[str, Json]:
    """Metadata that lists constants, each on a line of its own."""
    return {SYMBOLS: [[name, "constant", at, at] for at, name in enumerate(names, start=1)]}


def symbols_named(store: Store, name: str) -> list[str]:
    return [each.name for each in store.search.find_definitions(name, limit=99) if each.symbol]


class SearchConformance:
    """What a store that holds these chunks answers."""

    @pytest.fixture
    def full(self, open_store: Callable[[], Store]) -> Store:
        store = open_store()
        store.chunks.put_chunks(CORPUS)
        return store

    @pytest.fixture
    def replaced(self, full: Store) -> Store:
        """Another one replaced every chunk."""
        for chunk in CORPUS:
            hide(full, chunk.id)
        return full

    # Rows

    def test_chunks_by_row_without_the_missing(self, full: Store) -> None:
        rows = list(full.chunks.revisions())
        assert full.chunks.get_rows([rows[1], rows[0], rows[1], 999, -1]) == {
            rows[0]: GET_USER, rows[1]: SERVER,
        }  # fmt: skip
        assert full.chunks.get_rows([]) == {}

    def test_many_rows_at_once(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk(name=f"f{number}") for number in range(1200))
        rows = full.search.find_rows(Criteria())
        assert len(full.chunks.get_rows(rows)) == len(rows) == 1204

    def test_what_is_replaced_is_nowhere_found(self, replaced: Store) -> None:
        rows = range(10)
        replaced.chunks.record_access(GET_USER.id, NOW)
        replaced.chunks.put_histories({GET_USER.id: ChunkHistory(commits=(1,))})
        replaced.vectors.put_embeddings(MODEL, [(GET_USER.id, pack_vector([1.0]))])
        asked = [
            Criteria(), Criteria(kinds=tuple(Kind)), Criteria(paths=("**",)),
            Criteria(names=("*",)), Criteria(names=("get_user",)), Criteria(phrases=("token",)),
            Criteria(phrases=("认证",)), Criteria(metadata=(("source", "note"),)),
            Criteria(since=datetime(1960, 1, 1, tzinfo=UTC)), Criteria(without=("nothing",)),
        ]  # fmt: skip
        assert [list(replaced.search.find_rows(criteria)) for criteria in asked] == [[]] * len(
            asked
        )
        for text in ("token", "用户认证流程", "认证", "oken"):
            assert replaced.search.find_text(text, limit=10) == []
        assert replaced.search.find_definitions("get_user", limit=10) == []
        assert list(replaced.search.iter_names()) == []
        assert replaced.chunks.get_rows(rows) == replaced.search.get_uses(rows) == {}
        assert (
            list(replaced.vectors.iter_vectors()) == list(replaced.vectors.iter_vectors(rows)) == []
        )

    # Criteria

    def test_nothing_asked_is_everything_in_order(self, full: Store) -> None:
        rows = full.search.find_rows(Criteria())
        assert (rows, rows.typecode) == (array("q", full.chunks.revisions()), "q")
        assert list(rows) == sorted(rows)

    @pytest.mark.parametrize(
        ("criteria", "expected"),
        [
            (Criteria(kinds=(Kind.CLASS,)), [SERVER]),
            (Criteria(kinds=(Kind.CLASS, Kind.FUNCTION)), [SERVER, GET_USER]),
            (Criteria(kinds=(Kind.METHOD,)), []),
            (Criteria(languages=("Markdown",)), [NOTE]),
            (Criteria(languages=("PYTHON", "")), [GET_USER, SERVER, PLAIN]),
            (Criteria(namespaces=("",)), [GET_USER, SERVER]),
            (Criteria(namespaces=("team", "other")), [NOTE, PLAIN]),
            (Criteria(namespaces=("Team",)), []),
            (Criteria(document_types=("decision",)), [NOTE]),
            (Criteria(document_types=("Decision",)), []),
            (Criteria(kinds=(Kind.KNOWLEDGE,), languages=("markdown",)), [NOTE]),
            (Criteria(kinds=(Kind.CLASS,), namespaces=("team",)), []),
            (Criteria(kinds=(Kind.KNOWLEDGE,), paths=("docs/",), without=("server",)), [NOTE]),
        ],
        ids=[
            "kind", "two-kinds", "no-such-kind", "language", "languages", "unnamed", "namespaces",
            "other-case", "type", "type-in-other-case", "both", "not-both", "three",
        ],
    )  # fmt: skip
    def test_rows_by_label(
        self, full: Store, criteria: Criteria, expected: Sequence[Chunk]
    ) -> None:
        assert names(full, criteria) == {chunk.name for chunk in expected}

    @pytest.mark.parametrize(
        ("globs", "expected"),
        [
            ("src/**", [GET_USER, SERVER]),
            ("src", [GET_USER, SERVER]),
            ("./src/", [GET_USER, SERVER]),
            (".", [GET_USER, SERVER, NOTE]),
            ("app", [GET_USER]),
            ("app/", [GET_USER]),
            ("/app", []),
            ("src/*.py", [SERVER]),
            ("*.py", [GET_USER, SERVER]),
            ("*.PY", []),
            ("src/app/auth.py", [GET_USER]),
            ("登录*", [NOTE]),
            ("src/** !src/server.py", [GET_USER]),
            ("**", [GET_USER, SERVER, NOTE]),
            ("src/app docs", [GET_USER, NOTE]),
            ("rc/app", []),
            ("#src ! ", []),
        ],
    )
    def test_rows_by_path(self, full: Store, globs: str, expected: Sequence[Chunk]) -> None:
        criteria = Criteria(paths=tuple(globs.split(" ")))
        assert names(full, criteria) == {chunk.name for chunk in expected}

    def test_paths_are_meant_as_people_write_them(self, full: Store) -> None:
        """`#` would begin a comment in a `.gitignore`, and `./` would mean nothing."""
        full.chunks.put_chunks([make_chunk(path="#1.md", name="issue")])
        assert names(full, Criteria(paths=("#1.md",))) == {"issue"}
        everywhere = {chunk.name for chunk in CORPUS if chunk.path} | {"issue"}
        assert names(full, Criteria(paths=("./",))) == everywhere

    def test_more_paths_than_one_statement_takes(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk(path=f"many/{number}.py") for number in range(1200))
        assert len(full.search.find_rows(Criteria(paths=("many/",)))) == 1200

    @pytest.mark.parametrize(
        ("glob", "expected"),
        [
            ("get_user", [GET_USER]),
            ("GetUser", [GET_USER]),
            ("auth.get_USER", [GET_USER]),
            ("Auth.getUser", []),
            ("user", []),
            ("*user", [GET_USER]),
            ("GET_*", [GET_USER]),
            ("auth.*", [GET_USER]),
            ("http?erver", [SERVER]),
            ("[fgh]*", [GET_USER, SERVER]),
            ("*[!r]", [NOTE, PLAIN]),
            ("g[e]t_[u]ser", [GET_USER]),
            ("login*", [NOTE]),
            ("login-notes", [NOTE]),
            ("认*", [PLAIN]),
            ("认证", [PLAIN]),
            ("get%", []),
            ("*!*", []),
            ("*", CORPUS),
        ],
    )
    def test_rows_by_name(self, full: Store, glob: str, expected: Sequence[Chunk]) -> None:
        """`NOTE` has no qualified name, and the empty one fits no glob but `*`."""
        assert names(full, Criteria(names=(glob,))) == {chunk.name for chunk in expected}
        assert names(full, Criteria(names=("nowhere", glob))) == {c.name for c in expected}

    @pytest.mark.parametrize(("name", "glob"), [("save!", "save!*"), ("100% safe", "100%*")])
    def test_a_name_may_have_what_is_a_sign_to_sql(self, full: Store, name: str, glob: str) -> None:
        full.chunks.put_chunks([make_chunk(name=name), make_chunk(name="save")])
        assert names(full, Criteria(names=(glob,))) == {name}

    @pytest.mark.parametrize("glob", ["École*", "éCOLE*", "*COLE_NORMALE"])
    def test_letters_of_any_script_have_any_case(self, full: Store, glob: str) -> None:
        full.chunks.put_chunks([make_chunk(name="École_normale")])
        assert names(full, Criteria(names=(glob,))) == {"École_normale"}

    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("source", "note", [NOTE]),
            ("source", "Note", []),
            ("sourc", "note", []),
            ("tags", "web", [SERVER]),
            ("tags", "2", [SERVER]),
            ("tags", "we", []),
            ("stable", "true", [SERVER]),
            ("stable", "True", []),
            ("weight", "0.5", [SERVER]),
            ("x", "null", [SERVER]),
            ("signature", "def get_user(token):", [GET_USER]),
            ('say "hi"', "a\\b", [NOTE]),
            ("$.source", "note", []),
            ("note", "source", []),
            ("\ud800", "note", []),
            ("source", "\ud800", []),
        ],
    )
    def test_rows_by_metadata(
        self, full: Store, key: str, value: str, expected: Sequence[Chunk]
    ) -> None:
        criteria = Criteria(metadata=((key, value),))
        assert names(full, criteria) == {chunk.name for chunk in expected}

    def test_metadata_is_of_any_script_and_what_lies_deeper_is_another_things(
        self, full: Store
    ) -> None:
        told: dict[str, Json] = {"author": "José", "reviewer": {"team": "core"}}
        full.chunks.put_chunks([make_chunk(metadata=told)])
        assert names(full, Criteria(metadata=(("author", "José"),))) == {"f"}
        assert names(full, Criteria(metadata=(("team", "core"),))) == set()

    def test_metadata_with_control_characters_is_found(self, full: Store) -> None:
        for text in ("a\0b", "a\ufdd0b", "a\ufdd00b", "a\nb"):
            full.chunks.put_chunks([make_chunk(metadata={text: text, "list": [text]})])
            for key in (text, "list"):
                assert names(full, Criteria(metadata=((key, text),))) == {"f"}, (key, text)

    def test_all_metadata_asked_for_must_be_there(self, full: Store) -> None:
        both = (("tags", "web"), ("stable", "true"))
        assert names(full, Criteria(metadata=both)) == {SERVER.name}
        assert names(full, Criteria(metadata=(*both, ("source", "note")))) == set()

    @pytest.mark.parametrize(
        ("history", "created", "modified", "newest"),
        [
            (ChunkHistory(commits=(100, 500)), None, 900, 500),
            (ChunkHistory(commits=(100, 500), uncommitted=True), None, 900, 900),
            (ChunkHistory(commits=(100, 500), uncommitted=True), None, 300, 500),
            (ChunkHistory(commits=(100,)), 700, 900, 700),
            (ChunkHistory(commits=(700,)), 100, 900, 700),
            (None, 600, 900, 600),
            (None, None, 900, 900),
            (ChunkHistory(Tracking.UNTRACKED), None, 900, 900),
            (ChunkHistory(commits=(-5,)), None, 900, -5),
            (ChunkHistory(commits=(5, 1_700_000_000)), None, 900, 1_700_000_000),
            (ChunkHistory(commits=(5, 2**24 * 100)), None, 900, 2**24 * 100),
            (ChunkHistory(commits=(5, 2**33)), None, 900, 2**33),
        ],
        ids=[
            "committed", "edited", "edited-long-ago", "dated-later", "committed-later", "dated",
            "only-a-file", "untracked", "before-1970", "today", "round", "far-ahead",
        ],
    )  # fmt: skip
    def test_rows_by_the_newest_that_is_known(
        self,
        full: Store,
        history: ChunkHistory | None,
        created: int | None,
        modified: int,
        newest: int,
    ) -> None:
        at = None if created is None else datetime.fromtimestamp(created, UTC)
        chunk = make_chunk(path="dated.py", created_at=at)
        full.chunks.replace_file(FileState("dated.py", 1, modified * 10**9, "digest"), [chunk])
        full.chunks.put_histories({chunk.id: history} if history else {})
        moment = datetime.fromtimestamp(newest, UTC)
        second = timedelta(seconds=1)
        assert names(full, Criteria(since=moment - second)) == {"f"}
        assert names(full, Criteria(since=moment)) == {"f"}
        assert names(full, Criteria(since=moment + second)) == set()

    def test_many_chunks_may_be_committed_since(self, full: Store) -> None:
        commits = {GET_USER.id: (100, 500), SERVER.id: (300,), NOTE.id: (400, 700)}
        full.chunks.put_histories({id_: ChunkHistory(commits=at) for id_, at in commits.items()})
        moment = datetime.fromtimestamp(400, UTC)
        assert names(full, Criteria(since=moment)) == {GET_USER.name, NOTE.name}

    def test_any_date_can_be_asked_for(self, full: Store) -> None:
        full.chunks.replace_file(
            FileState("dated.py", 1, 10**9, "digest"), [make_chunk(path="dated.py")]
        )
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        assert names(full, Criteria(since=first)) == {"f"}
        assert names(full, Criteria(since=last)) == set()

    @pytest.mark.parametrize(
        ("phrase", "expected"),
        [
            ("return users", [GET_USER]),
            ("RETURN   users", [GET_USER]),
            ("users return", []),
            ("users", [GET_USER, SERVER]),
            ("user", [GET_USER, NOTE]),
            ("get user", [GET_USER]),
            ("get_user", [GET_USER]),
            ("user(token", [GET_USER]),
            ("use", []),
            ("login notes", [NOTE]),
            ("notes login", []),
            ("user_认证", []),
            ("认证", [NOTE, PLAIN]),
            ("认证流程", [NOTE]),
            ("token, 用户", [NOTE]),
            ("TOKEN 用户 认证", [NOTE]),
            ("认证 auth", []),
            ("100%", [SERVER]),
            ("%", CORPUS),
            ("", CORPUS),
        ],
    )
    def test_rows_by_phrase(self, full: Store, phrase: str, expected: Sequence[Chunk]) -> None:
        """A phrase lies in the name or in the text, never half in each; without a word it asks
        for nothing."""
        wanted = {chunk.name for chunk in expected}
        assert names(full, Criteria(phrases=(phrase,))) == wanted
        without = {chunk.name for chunk in CORPUS} - (wanted if phrase not in ("", "%") else set())
        assert names(full, Criteria(without=(phrase,))) == without

    def test_a_word_ends_where_a_script_without_spaces_begins(self, full: Store) -> None:
        chunk = make_chunk("先使用token认证db", name="mixed")
        full.chunks.put_chunks([chunk, make_chunk("用tokens", name="other")])
        for phrase in ("TOKEN", "db", "token认证", "使用 token", "token 认 证 db", "用"):
            assert "mixed" in names(full, Criteria(phrases=(phrase,)))
            assert "mixed" not in names(full, Criteria(without=(phrase,)))
            assert phrase == "用" or "other" not in names(full, Criteria(phrases=(phrase,)))
        for phrase in ("oken", "oken认证", "token db", "d"):
            assert "mixed" not in names(full, Criteria(phrases=(phrase,)))

    def test_all_phrases_must_be_there_and_none_of_the_other_words(self, full: Store) -> None:
        assert names(full, Criteria(phrases=("token", "user"))) == {"get_user", "Login notes"}
        assert names(full, Criteria(phrases=("token", "gets"))) == {"Login notes"}
        assert names(full, Criteria(phrases=("token",), without=("login", "x"))) == {"get_user"}

    @pytest.mark.parametrize(
        ("criteria", "expected"),
        [
            (Criteria(sources=("session",)), {"Why?", "When?", "How?"}),
            (Criteria(sources=("code",)), {"get_user", "HTTPServer"}),
            (Criteria(sources=("note", "lesson")), {"Login notes"}),
            (Criteria(sources=("document",)), set()),
            (Criteria(agents=("codex",)), {"Why?", "How?"}),
            (Criteria(agents=("codex", "claude-code")), {"Why?", "When?", "How?"}),
            (Criteria(agents=("Codex",)), set()),
            (Criteria(branches=("feature/a_b",)), {"When?"}),
            (Criteria(sessions=("abc",)), {"Why?"}),
            (Criteria(sessions=("ab",)), {"Why?", "When?"}),
            (Criteria(sessions=("abcd", "x")), {"When?", "How?"}),
            (Criteria(sessions=("",)), set()),
            (Criteria(projects=("/code/shop",)), {"Why?", "When?"}),
            (Criteria(projects=("/code/",)), {"Why?", "When?", "How?"}),
            (Criteria(agents=("codex",), projects=("/code/shop",)), {"Why?"}),
            (Criteria(agents=("codex",), paths=("src/**",)), set()),
            (Criteria(metadata=(("session", "abcd-1"),)), {"When?"}),
        ],
    )
    def test_rows_by_what_is_known_of_a_session(
        self, full: Store, criteria: Criteria, expected: set[str]
    ) -> None:
        full.chunks.put_chunks(
            [
                *make_exchange("Why?", session="abc"),
                *make_exchange(
                    "When?", session="abcd-1", agent="claude-code", branch="feature/a_b",
                    project="/code/shop/api",
                ),
                *make_exchange("How?", session="x", project="/code/shopping"),
            ]
        )  # fmt: skip
        assert names(full, criteria) == expected

    def test_the_agents_branches_and_sessions_of_a_memory(self, full: Store) -> None:
        full.chunks.put_chunks(
            [
                *make_exchange("Why?", session="b", branch="x/y"),
                *make_exchange("When?", session="a", agent="aider"),
                make_chunk(name="odd", metadata={"agent": ["list"], "branch": 2}),
            ]
        )
        listed = [full.search.list_metadata(key) for key in ("agent", "branch", "session")]
        assert listed == [["aider", "codex"], ["main", "x/y"], ["a", "b"]]

    @pytest.mark.parametrize("value", [["x", "main"], "main", ["[", 2], 2, True, "[x]", "{", {}])
    def test_a_fact_of_a_session_may_be_any_metadata(self, full: Store, value: Json) -> None:
        full.chunks.put_chunks([make_chunk(name="own", metadata={"branch": value})])
        values = value if isinstance(value, list) else [value]
        spelt = {
            each if isinstance(each, str) else json.dumps(each) for each in values if each != {}
        }
        for text in ("main", "2", "true", "[", "[x]", "{", '["x", "main"]', "{}", "x"):
            found = full.search.find_rows(Criteria(metadata=(("branch", text),)))
            assert len(found) == (text in spelt), text

    def test_rows_by_their_own_date(self, full: Store) -> None:
        days = [NOW + timedelta(days=n) for n in range(3)]
        full.chunks.put_chunks(make_chunk(name=f"d{n}", created_at=at) for n, at in enumerate(days))

        def created(start: datetime | None, end: datetime | None) -> set[str]:
            rows = full.search.rows_created(start, end)
            return {chunk.name for chunk in full.chunks.get_rows(sorted(rows)).values()}

        assert created(days[1], days[2]) == {"d1"}
        assert created(days[1], None) == {"d1", "d2"}
        assert created(None, days[1]) == {"d0"}
        assert created(None, None) == {"d0", "d1", "d2"}

    def test_until_leaves_out_what_is_newer(self, full: Store) -> None:
        full.chunks.put_chunks(
            [
                *make_exchange("Before?", time=NOW - timedelta(days=1)),
                *make_exchange("Then?", time=NOW),
                make_chunk(name="committed", path="b.py"),
            ]
        )
        committed = ChunkHistory(commits=(int(NOW.timestamp()) - 50, int(NOW.timestamp()) + 50))
        full.chunks.put_histories({"b.py:committed": committed})
        every = names(full, Criteria())
        assert names(full, Criteria(until=NOW)) == every - {"Then?", "committed"}
        assert names(full, Criteria(until=NOW + timedelta(hours=1))) == every
        day = Criteria(since=NOW - timedelta(days=2), until=NOW)
        assert names(full, day) == {"Before?"}

    def test_any_text_may_be_a_criterion(self, full: Store) -> None:
        known = set(full.chunks.revisions())
        of_text = {field.name for field in fields(Criteria)} - {"kinds", "since", "until"}
        for name, text in product(sorted(of_text), HOSTILE):
            value = ((text, text),) if name == "metadata" else (text,)
            assert set(full.search.find_rows(Criteria(**{name: value}))) <= known, (name, text)
        assert full.maintenance.check() == []

    # Text

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("users", [SERVER, GET_USER]),
            ("HTTPSERVER", [SERVER]),
            ("get_user", [GET_USER]),
            ("gets nowhere", [NOTE]),
            ("用户认证流程", [NOTE]),
            ("用户认证流程 token", [NOTE]),
            ("认证", [PLAIN, NOTE]),
            ("认证 token", [NOTE, PLAIN, GET_USER]),
            ("token认证", [NOTE, PLAIN, GET_USER]),
            ("Serv", [SERVER]),
            ("ogin oken", [NOTE, GET_USER]),
            ("se", []),
            ("100% safe", [SERVER]),
            ("nowhere", []),
            ("%_!", []),
            ("", []),
        ],
    )
    def test_text_is_found(self, full: Store, text: str, expected: Sequence[Chunk]) -> None:
        """Which of two is better is each store's own to say."""
        assert sorted(found(full, text)) == sorted(chunk.name for chunk in expected)

    def test_a_word_in_a_name_weighs_more(self, full: Store) -> None:
        full.chunks.put_chunks([
            make_chunk("delta the words of a text", name="other"),
            make_chunk("some the words of a text", name="delta"),
        ])  # fmt: skip
        assert found(full, "delta") == ["delta", "other"]

    def test_equals_come_in_the_order_of_rows_and_the_limit_holds(self, full: Store) -> None:
        full.chunks.put_chunks(
            make_chunk("same text 一二", name=f"f{number}") for number in range(9)
        )
        for text in ("same", "same text 一二", "一二", "sam"):
            assert found(full, text, limit=3) == ["f0", "f1", "f2"]
            assert len(found(full, text, limit=100)) == 9

    def test_the_best_is_found_behind_a_thousand_others(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk("一二 xyz", name=f"f{number}") for number in range(1000))
        full.chunks.put_chunks([make_chunk("一二 三四", name="best")])
        assert found(full, "一二 三四", limit=1) == ["best"]

    def test_more_words_score_more(self, full: Store) -> None:
        full.chunks.put_chunks([
            make_chunk("甲 乙 丙", name="three"), make_chunk("甲 乙", name="two"),
            make_chunk("x", name="甲"), make_chunk("甲", name="one"),
        ])  # fmt: skip
        scores = [score for _, score in full.search.find_text("甲 乙 丙 丁", limit=9)]
        assert found(full, "甲 乙 丙 丁") == ["three", "two", "甲", "one"]
        assert scores == sorted(set(scores), reverse=True)

    def test_any_text_is_a_question(self, full: Store) -> None:
        for text in HOSTILE:
            check_hits(full, text)
            check_hits(full, f"token {text} token")
        assert full.maintenance.check() == []

    @settings(
        max_examples=examples(200),
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,  # every store runs it
        ],
    )
    @given(text=st.text(max_size=40) | st.text("\"'*^:(){}+-~ ANDORTEst认证用_\0", max_size=30))
    def test_questions_are_never_a_syntax(self, full: Store, text: str) -> None:
        check_hits(full, text)
        for field in ("names", "paths", "phrases", "without", "languages"):
            rows = full.search.find_rows(Criteria(**{field: (text,)}))
            assert set(rows) <= set(full.chunks.revisions())
        full.search.find_definitions(text, limit=3)

    # Names

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("get_user", [GET_USER]), ("getUser", [GET_USER]), ("GET-USER", [GET_USER]),
            ("get user", [GET_USER]), ("http_server", [SERVER]), ("loginNotes", [NOTE]),
            ("认证", [PLAIN]), ("user", []), ("Auth.get_user", []), ("%", []), ("\ud800", []),
            ("", []), ("_", []),
        ],
    )  # fmt: skip
    def test_definitions_by_any_spelling(
        self, full: Store, name: str, expected: Sequence[Chunk]
    ) -> None:
        rows = {
            chunk.name: row
            for row, chunk in full.chunks.get_rows(list(full.chunks.revisions())).items()
        }
        assert full.search.find_definitions(name, limit=10) == [
            Definition(rows[c.name], c.kind, c.name, c.qualified_name, c.path) for c in expected
        ]

    def test_definitions_of_one_name_come_oldest_first_up_to_the_limit(self, full: Store) -> None:
        spelt = ["setUp", "set_up", "SETUP", "set-up"]
        full.chunks.put_chunks(make_chunk(name=name) for name in [*spelt, "setups"])
        definitions = full.search.find_definitions("Set Up", limit=10)
        assert [definition.name for definition in definitions] == spelt
        assert full.search.find_definitions("setup", limit=2) == definitions[:2]

    def test_a_name_of_nothing_but_spelling_is_taken_as_it_is(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk(name=name) for name in ["_", "__", "", " "])
        assert [found.name for found in full.search.find_definitions("_", limit=9)] == ["_"]
        assert full.search.find_definitions("", limit=9) == []

    def test_a_name_goes_on_behind_a_nul(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk(name=name) for name in ["A_b\0C_d", "A_b", "A_b\0C_e"])
        assert [found.name for found in full.search.find_definitions("ab\0cd", limit=9)] == [
            "A_b\0C_d"
        ]
        assert names(full, Criteria(names=("ab\0cd",))) == {"A_b\0C_d"}

    # Symbols: definitions inside a chunk

    def test_a_symbol_is_found_behind_chunks_with_its_name(self, full: Store) -> None:
        """Its qualified name begins with that of the chunk."""
        settings = make_chunk(
            "DEBUG = True\nTimeOut = 3", "src/settings.py", "Config", kind=Kind.CLASS,
            qualified_name="app.Config", metadata=with_symbols("DEBUG", "TimeOut"),
        )  # fmt: skip
        full.chunks.put_chunks([settings, make_chunk(path="src/debug.py", name="debug")])
        chunk, symbol = full.search.find_definitions("DEBUG", limit=9)
        assert (chunk.name, chunk.path, chunk.symbol) == ("debug", "src/debug.py", None)
        assert symbol == Definition(
            symbol.row, Kind.CLASS, "DEBUG", "app.Config.DEBUG", "src/settings.py",
            Symbol("DEBUG", "constant", Lines(1, 1)),
        )  # fmt: skip
        assert full.chunks.get_rows([symbol.row]) == {symbol.row: settings}
        assert full.search.find_definitions("DEBUG", limit=1) == [chunk]
        [folded] = full.search.find_definitions("time_out", limit=9)
        assert (folded.row, folded.symbol) == (
            symbol.row,
            Symbol("TimeOut", "constant", Lines(2, 2)),
        )

    @pytest.mark.parametrize(
        "spelling", ["MAX_RETRIES", "maxRetries", "Max-Retries", "max retries"]
    )
    def test_a_symbol_is_found_in_any_spelling(self, full: Store, spelling: str) -> None:
        full.chunks.put_chunks([make_chunk(metadata=with_symbols("MAX_RETRIES", "MAX", "RETRIES"))])
        assert symbols_named(full, spelling) == ["MAX_RETRIES"]

    def test_a_symbol_of_a_chunk_without_a_qualified_name(self, full: Store) -> None:
        full.chunks.put_chunks([make_chunk(qualified_name="", metadata=with_symbols("LIMIT"))])
        assert [d.qualified_name for d in full.search.find_definitions("LIMIT", limit=9)] == [
            "LIMIT"
        ]

    def test_symbols_follow_the_metadata(self, full: Store) -> None:
        chunk = make_chunk(metadata=with_symbols("ONE", "BOTH"))
        full.chunks.put_chunks([chunk])
        full.chunks.put_chunks([replace(chunk, metadata=with_symbols("BOTH", "TWO"))])
        assert [symbols_named(full, name) for name in ("ONE", "BOTH", "TWO")] == [
            [], ["BOTH"], ["TWO"],
        ]  # fmt: skip
        full.chunks.put_chunks([replace(chunk, metadata={})])
        assert symbols_named(full, "BOTH") == symbols_named(full, "TWO") == []
        full.chunks.put_chunks([chunk])
        assert symbols_named(full, "ONE") == ["ONE"]
        assert full.maintenance.check() == []

    def test_symbols_go_with_their_chunk(self, full: Store) -> None:
        chunks = [make_chunk(path=f"{x}.py", metadata=with_symbols("LIMIT")) for x in "ab"]
        full.chunks.put_chunks(chunks)
        assert symbols_named(full, "LIMIT") == ["LIMIT", "LIMIT"]
        full.chunks.delete_chunks([chunks[0].id])
        [left] = full.search.find_definitions("LIMIT", limit=9)
        assert left.path == "b.py"
        hide(full, chunks[1].id)
        assert symbols_named(full, "LIMIT") == []
        full.chunks.delete_chunks([chunks[1].id])
        assert full.maintenance.check() == []

    def test_symbols_move_with_their_file(self, full: Store) -> None:
        chunk = make_chunk(path="old.py", metadata=with_symbols("LIMIT"))
        full.chunks.replace_file(FileState("old.py", 1, 1, "d"), [chunk])
        assert full.chunks.move_file("old.py", "new.py") == 1
        [moved] = full.search.find_definitions("LIMIT", limit=9)
        assert (moved.path, moved.symbol) == ("new.py", Symbol("LIMIT", "constant", Lines(1, 1)))
        full.chunks.replace_file(FileState("new.py", 2, 2, "e"), [make_chunk(path="new.py")])
        assert symbols_named(full, "LIMIT") == []
        assert full.maintenance.check() == []

    def test_a_name_that_a_chunk_defines_twice_is_listed_with_both_lines(self, full: Store) -> None:
        full.chunks.put_chunks([make_chunk(metadata=with_symbols("value", "other", "Value"))])
        found = full.search.find_definitions("value", limit=9)
        assert [definition.symbol for definition in found] == [
            Symbol("value", "constant", Lines(1, 1)), Symbol("Value", "constant", Lines(3, 3)),
        ]  # fmt: skip
        assert full.maintenance.check() == []

    def test_the_name_of_a_symbol_goes_on_behind_a_nul(self, full: Store) -> None:
        full.chunks.put_chunks([make_chunk(metadata=with_symbols("A_b\0C_d", "A_b", "A_b\0C_e"))])
        assert symbols_named(full, "ab\0cd") == ["A_b\0C_d"]
        assert symbols_named(full, "ab") == ["A_b"]
        assert full.maintenance.check() == []

    def test_a_symbol_of_nothing_but_spelling_is_taken_as_it_is(self, full: Store) -> None:
        full.chunks.put_chunks([make_chunk(metadata=with_symbols("_", "__", "- "))])
        assert symbols_named(full, "_") == ["_"]
        assert symbols_named(full, "") == []

    @pytest.mark.parametrize(
        "listed",
        [
            None, "LIMIT", 3, {"LIMIT": 1}, ["LIMIT"], [["LIMIT"]], [[None, "constant", 1, 1]],
            [[["LIMIT"], "constant", 1, 1]], [["LIMIT", "constant", "1", 1]], [[]],
        ],
        ids=repr,
    )  # fmt: skip
    def test_other_programs_may_write_anything_as_symbols(self, full: Store, listed: Json) -> None:
        chunk = make_chunk(metadata={"symbols": listed})
        full.chunks.put_chunks([chunk])
        assert symbols_named(full, "LIMIT") == []
        full.chunks.put_chunks([replace(chunk, metadata=with_symbols("LIMIT"))])
        assert symbols_named(full, "LIMIT") == ["LIMIT"]
        assert full.maintenance.check() == []

    @pytest.mark.parametrize(
        ("metadata", "is_whole"),
        [({}, True), ({"part": 1}, True), ({"part": 2}, False), ({"overload": True}, False)],
        ids=["whole", "first-part", "later-part", "overload"],
    )
    def test_pieces_and_overloads_are_not_whole(
        self, full: Store, metadata: dict[str, Json], is_whole: bool
    ) -> None:
        full.chunks.put_chunks([make_chunk(name="piece", metadata=metadata)])
        [definition] = full.search.find_definitions("piece", limit=9)
        assert definition.is_whole is is_whole

    def test_names_come_once_and_beginnings_of_texts_are_none(self, full: Store) -> None:
        full.chunks.put_chunks([make_chunk(path=path, name="twice") for path in ("a.py", "b.py")])
        named = {chunk.name for chunk in CORPUS if chunk.qualified_name}
        assert sorted(full.search.iter_names()) == sorted(named | {"twice"})
        assert named < {chunk.name for chunk in CORPUS}

    # Symbols inside chunks

    def test_symbols_are_found_by_any_spelling_behind_chunks(self, full: Store) -> None:
        settings = settings_with(["MAX_USERS", "constant", 3, 4], ["get_user", "variable", 5, 5])
        full.chunks.put_chunks([settings, make_chunk(name="max_users")])
        row, own = list(full.chunks.revisions())[-2:]
        symbol = Symbol("MAX_USERS", "constant", Lines(3, 4))
        inside = Definition(
            row, Kind.FUNCTION, "MAX_USERS", "Settings.MAX_USERS", "a.py", symbol=symbol
        )
        chunk = Definition(own, Kind.FUNCTION, "max_users", "max_users", "a.py")
        for spelt in ("MAX_USERS", "maxUsers", "max-users", "Max Users"):
            assert full.search.find_definitions(spelt, limit=10) == [chunk, inside]
        assert full.search.find_definitions("MAX_USERS", limit=1) == [chunk]
        assert symbols_found(full, "get_user") == [
            None,
            Symbol("get_user", "variable", Lines(5, 5)),
        ]
        assert symbols_found(full, "users") == []

    def test_symbols_of_a_chunk_that_changes_are_those_of_the_last_text(self, full: Store) -> None:
        full.chunks.put_chunks([settings_with(["OLD", "constant", 1, 1])])
        full.chunks.put_chunks([settings_with(["NEW", "constant", 2, 2])])
        assert symbols_found(full, "OLD") == []
        assert symbols_found(full, "NEW") == [Symbol("NEW", "constant", Lines(2, 2))]
        full.chunks.put_chunks([settings_with()])
        assert symbols_found(full, "NEW") == []

    def test_symbols_go_with_their_chunk_and_with_its_file(self, full: Store) -> None:
        state, chunk = FileState("a.py", 1, 1, "d"), settings_with(["LIMIT", "constant", 1, 1])
        full.chunks.replace_file(state, [chunk])
        assert len(symbols_found(full, "limit")) == 1
        full.chunks.replace_file(state, [])
        assert symbols_found(full, "limit") == []
        full.chunks.put_chunks([chunk])
        full.chunks.delete_chunks([chunk.id])
        assert symbols_found(full, "limit") == []
        assert full.maintenance.check() == []

    def test_symbols_of_what_is_replaced_are_not_found(self, full: Store) -> None:
        chunk = settings_with(["LIMIT", "constant", 1, 1])
        full.chunks.put_chunks([chunk])
        hide(full, chunk.id)
        assert symbols_found(full, "LIMIT") == []

    @pytest.mark.parametrize(
        "name",
        ["流程", "ÄRGER", "Ärger_x", "it's", 'say "hi"', "a\\b", "_", "x" * 1000, "证𝔘" * 500,
         "".join(map(chr, range(0x4E00, 0x4E00 + 5000))), "\ue000", "a\nb", "日本-語"],
        ids=lambda name: str(name[:8].encode("unicode_escape")),
    )  # fmt: skip
    def test_symbols_with_any_name_are_kept_and_found(self, full: Store, name: str) -> None:
        full.chunks.put_chunks([settings_with([name, "constant", 1, 1], [name, "field", 2, 2])])
        assert symbols_found(full, name) == [
            Symbol(name, "constant", Lines(1, 1)),
            Symbol(name, "field", Lines(2, 2)),
        ]
        assert full.maintenance.check() == []

    @pytest.mark.parametrize(
        "symbols",
        [None, "OLD", 3, [], {"OLD": ["OLD", "constant", 1, 1]}, ["OLD"], [[]], [None], [[None]],
         [["OLD"]], [["OLD", "constant", "1", 1]], [{"0": "OLD"}], [[["OLD"]]], [[3, "x", 1, 1]]],
        ids=str,
    )  # fmt: skip
    def test_metadata_that_only_looks_like_symbols_defines_nothing(
        self, full: Store, symbols: Json
    ) -> None:
        chunk = make_chunk(metadata={"symbols": symbols})
        full.chunks.put_chunks([chunk])
        assert symbols_found(full, "OLD") == []
        assert [each.id for each in full.chunks.get_chunks([chunk.id])] == [chunk.id]
        assert full.maintenance.check() == []

    # Places

    def test_a_chunk_stands_in_its_file_or_its_document(self, full: Store) -> None:
        piece = make_chunk("more", "", "Page 2", id="doc-guide@2", kind=Kind.KNOWLEDGE)
        full.chunks.put_chunks([piece])
        rows = list(full.chunks.revisions())
        places = full.search.get_places([*reversed(rows), rows[0], 10**9])
        assert dict(places) == dict(
            zip(
                rows,
                [
                    Place(
                        Kind.FUNCTION, "src/app/auth.py", "src/app/auth.py",
                        qualified_name=GET_USER.qualified_name,
                    ),
                    Place(
                        Kind.CLASS, "src/server.py", "src/server.py",
                        qualified_name=SERVER.qualified_name,
                    ),
                    Place(Kind.KNOWLEDGE, "docs/登录 notes.md", "docs/登录 notes.md"),
                    Place(Kind.KNOWLEDGE, "", PLAIN.id),
                    Place(Kind.KNOWLEDGE, "", "doc-guide"),
                ],
                strict=True,
            )
        )  # fmt: skip
        assert full.search.get_places([]) == {}

    @pytest.mark.parametrize(
        ("metadata", "turn"),
        [
            pytest.param({"session": "s1", "seq": 7}, 7, id="number"),
            pytest.param({"session": "s1", "seq": "7"}, 7, id="digits"),
            pytest.param({"session": "s1", "seq": 0}, 0, id="nought"),
            pytest.param({"session": "s1", "seq": "last"}, None, id="word"),
            pytest.param({"session": "s1", "seq": -1}, None, id="negative"),
            pytest.param({"session": "s1", "seq": 1.5}, None, id="fraction"),
            pytest.param({"session": "s1", "seq": None}, None, id="null"),
            pytest.param({"session": "s1"}, None, id="no-number"),
            pytest.param({"session": "s1", "source": "conversation", "seq": 3}, 3, id="a-log-too"),
        ],
    )
    def test_a_document_is_a_turn_of_its_session(
        self, full: Store, metadata: dict[str, Json], turn: int | None
    ) -> None:
        """By its number, or else by the order in which it came."""
        said = make_chunk(
            "hello", "", "t", kind=Kind.KNOWLEDGE, namespace="n", metadata=metadata
        )  # fmt: skip
        full.chunks.put_chunks([said])
        *_, row = full.chunks.revisions()
        place = full.search.get_places([row])[row]
        assert place == Place(
            Kind.KNOWLEDGE, "", said.id, "n\0s1", row if turn is None else turn
        )  # fmt: skip

    def test_an_exchange_has_the_project_of_its_session(self, full: Store) -> None:
        full.chunks.put_chunks(make_exchange("Why?", "So.", project="/code/shop"))
        *_, row = full.chunks.revisions()
        place = full.search.get_places([row])[row]
        assert (place.is_exchange, place.project) == (True, "/code/shop")

    def test_sessions_of_two_namespaces_are_two(self, full: Store) -> None:
        full.chunks.put_chunks(
            make_chunk("hi", "", space, namespace=space, metadata={"session": 1, "seq": 1})
            for space in ("a", "b")
        )
        *_, one, other = full.chunks.revisions()
        places = full.search.get_places([one, other])
        assert places[one].conversation != places[other].conversation
        assert places[one].conversation == "a\x001"

    def test_phases_of_a_log_are_turns_in_their_order(self, full: Store) -> None:
        log = {"source": "conversation", "phase_number": 4}
        full.chunks.put_chunks(
            make_chunk(name, "logs/a.md", name, kind=Kind.KNOWLEDGE, metadata=log)
            for name in ("Assess", "Answer")
        )
        *_, first, second = full.chunks.revisions()
        assert full.search.get_places([second, first]) == {
            row: Place(Kind.KNOWLEDGE, "logs/a.md", "logs/a.md", "logs/a.md", row)
            for row in (first, second)
        }

    def test_many_places_at_once(self, full: Store) -> None:
        full.chunks.put_chunks(make_chunk(name=f"f{number}") for number in range(2500))
        rows = list(full.chunks.revisions())
        assert full.search.get_places(rows).keys() == set(rows)

    def test_prose_that_has_a_date_in_its_path(self, full: Store) -> None:
        """But for conversations, which tell their dates themselves."""
        log: dict[str, Json] = {"source": "conversation"}
        dated = [
            make_chunk("a", "notes/2025-12-15.md", "a", kind=Kind.KNOWLEDGE),
            make_chunk("b", "2025-01-02 x.md", "b", kind=Kind.KNOWLEDGE, metadata={"source": "x"}),
        ]
        full.chunks.put_chunks([
            *dated,
            make_chunk("code", "2025-12-15/code.py", "code"),
            make_chunk("log", "logs/2025-12-15.md", "log", kind=Kind.KNOWLEDGE, metadata=log),
            make_chunk("month", "notes/2025-12.md", "month", kind=Kind.KNOWLEDGE),
            make_chunk("failed", "2024-12-15.md", "failed", kind=Kind.KNOWLEDGE),
        ])  # fmt: skip
        hide(full, "2024-12-15.md:failed")
        paths = full.search.dated_paths()
        assert [full.chunks.get_rows([row])[row] for row in sorted(paths)] == dated
        assert [paths[row] for row in sorted(paths)] == [chunk.path for chunk in dated]

    # Uses and vectors

    def test_uses_are_accesses_and_commits_oldest_first(self, full: Store) -> None:
        first, second, third, _ = full.chunks.revisions()
        for days in (2, 0, 1):
            full.chunks.record_access(GET_USER.id, NOW + timedelta(days=days))
        full.chunks.put_histories({
            GET_USER.id: ChunkHistory(commits=(-7, 200)), SERVER.id: ChunkHistory(commits=(5,)),
            NOTE.id: ChunkHistory(Tracking.UNTRACKED),
        })  # fmt: skip
        uses = full.search.get_uses([third, second, first, first, 999])
        accesses = [NOW.timestamp() + day * 86400 for day in range(3)]
        assert {row: (list(use.accesses), list(use.commits)) for row, use in uses.items()} == {
            first: (accesses, [-7, 200]), second: ([], [5]),
        }  # fmt: skip
        assert all(isinstance(use, Uses) for use in uses.values())
        assert full.search.get_uses([]) == {}

    def test_vectors_come_with_their_revisions_in_the_order_of_rows(self, full: Store) -> None:
        chunks = [make_chunk(name=f"f{number}") for number in range(2500)]
        full.chunks.put_chunks(chunks)
        packed = [(chunk.id, pack_vector([float(n)])) for n, chunk in enumerate(chunks)]
        full.vectors.put_embeddings(MODEL, reversed(packed))
        hide(full, chunks[7].id)
        vectors = dict(full.vectors.iter_vectors())
        revisions = list(full.chunks.revisions().items())[len(CORPUS) :]
        assert list(vectors) == revisions
        assert list(vectors.values()) == [v for n, (_, v) in enumerate(packed) if n != 7]

        rows = [row for row, _ in revisions]
        asked = [rows[2000], rows[3], rows[3], 10**9, *full.chunks.revisions()][:4]
        some = list(full.vectors.iter_vectors(asked))
        assert some == [(revisions[n], vectors[revisions[n]]) for n in (3, 2000)]
        assert list(full.vectors.iter_vectors([])) == []

    def test_a_vector_has_the_revision_of_its_new_text(self, full: Store) -> None:
        full.vectors.put_embeddings(MODEL, [(GET_USER.id, pack_vector([1.0]))])
        full.chunks.put_chunks([replace(GET_USER, language="")])
        ((revision, _),) = full.vectors.iter_vectors()
        assert revision.generation == full.chunks.revisions()[revision.row] == full.generation()


def check_hits(store: Store, text: str) -> None:
    hits = store.search.find_text(text, limit=3)
    scores = [score for _, score in hits]
    assert len(hits) <= 3
    assert len({row for row, _ in hits}) == len(hits)
    assert {row for row, _ in hits} <= set(store.chunks.revisions())
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score < 1 for score in scores)
