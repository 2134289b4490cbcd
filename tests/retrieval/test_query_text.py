"""What a query says between its words, and that everything else is words."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import QueryError
from aurora.parsers.languages import GRAMMARS, PLAIN_LANGUAGES, PROSE
from aurora.retrieval.query import ParsedQuery, language_named, parse_query, read_criteria
from aurora.types import Criteria, Kind

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


def parse(text: str) -> ParsedQuery:
    return parse_query(text, now=NOW)


@pytest.mark.parametrize(
    ("text", "words", "criteria"),
    [
        ('"exact phrase"', "exact phrase", Criteria(phrases=("exact phrase",))),
        ('find "two  words" here', "find two words here", Criteria(phrases=("two words",))),
        ("“curly pair” x", "curly pair x", Criteria(phrases=("curly pair",))),
        ('"a" or "b", "a"', "a or b, a", Criteria(phrases=("a", "b"))),
        ('"x = 1"', "x = 1", Criteria(phrases=("x = 1",))),
        ('"type:function"', "type:function", Criteria(phrases=("type:function",))),
        ('"-not" a', "-not a", Criteria(phrases=("-not",))),
        ("“say \"hi\"”", 'say "hi"', Criteria(phrases=('say "hi"',))),
        ('"用户"', "用户", Criteria(phrases=("用户",))),
    ],
    ids=[
        "alone", "between", "curly", "several", "code", "a-filter-quoted", "a-minus-quoted",
        "straight-in-curly", "cjk",
    ],
)  # fmt: skip
def test_phrases(text: str, words: str, criteria: Criteria) -> None:
    assert parse(text) == ParsedQuery(words, criteria)


@pytest.mark.parametrize(
    ("text", "words", "without"),
    [
        ("load -test", "load", ("test",)),
        ("-test load", "load", ("test",)),
        ("load -test, -mock! -fake.", "load", ("test", "mock", "fake")),
        ("load -py", "load", ("py",)),
        ("load -v2", "load", ("v2",)),
        ("load -user_name -app.models -to-do", "load", ("user_name", "app.models", "to-do")),
        ("load -日", "load", ("日",)),
        ("load -हिन्दी", "load", ("हिन्दी",)),
        ('load -"unit test"', "load", ("unit test",)),
        ("load -“x”", "load", ("x",)),
        ("load -test -test", "load", ("test",)),
    ],
    ids=[
        "after",
        "before",
        "punctuation",
        "two-letters",
        "digit",
        "compound",
        "one-cjk",
        "marks",
        "phrase",
        "quoted-letter",
        "twice",
    ],
)
def test_words_that_must_not_be_there(text: str, words: str, without: tuple[str, ...]) -> None:
    assert parse(text) == ParsedQuery(words, Criteria(without=without))


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        ("load type:function", Criteria(kinds=(Kind.FUNCTION,))),
        ("TYPE:Function load", Criteria(kinds=(Kind.FUNCTION,))),
        ("load kind:class", Criteria(kinds=(Kind.CLASS,))),
        ("load type:function,class", Criteria(kinds=(Kind.FUNCTION, Kind.CLASS))),
        ("load type:function, type:class", Criteria(kinds=(Kind.FUNCTION, Kind.CLASS))),
        (
            "type:func,meth,reas,know load",
            Criteria(kinds=(Kind.FUNCTION, Kind.METHOD, Kind.REASONING, Kind.KNOWLEDGE)),
        ),
        ("path:src/**/*.py load", Criteria(paths=("src/**/*.py",))),
        ('load path:"my files/*",docs', Criteria(paths=("my files/*", "docs"))),
        (r"load path:C:\src", Criteria(paths=(r"C:\src",))),
        ("load lang:python", Criteria(languages=("python",))),
        ("load lang:PY,c++,c#", Criteria(languages=("python", "cpp", "csharp"))),
        ("load language:ts", Criteria(languages=("typescript",))),
        ("load lang:elm", Criteria(languages=("elm",))),
        ("load name:get_*", Criteria(names=("get_*",))),
        ("load name:“Get user”", Criteria(names=("Get user",))),
        ("load since:2026-01", Criteria(since=datetime(2026, 1, 1, tzinfo=UTC))),
        ('load since:"2 days ago"', Criteria(since=datetime(2026, 3, 29, 12, tzinfo=UTC))),
        ("since:2026-01-31T10:00 load", Criteria(since=datetime(2026, 1, 31, 10, tzinfo=UTC))),
        ("load since:2026 since:2025", Criteria(since=datetime(2026, 1, 1, tzinfo=UTC))),
        ("load until:2026-01", Criteria(until=datetime(2026, 2, 1, tzinfo=UTC))),
        ("load until:2026 until:2025", Criteria(until=datetime(2026, 1, 1, tzinfo=UTC))),
        ("load source:Session,code", Criteria(sources=("session", "code"))),
        ("agent:codex,claude-code load", Criteria(agents=("codex", "claude-code"))),
        ("load session:5e551011 session:x", Criteria(sessions=("5e551011", "x"))),
        ('load branch:feature/x branch:"my branch"', Criteria(branches=("feature/x", "my branch"))),
        (
            'META.pattern_type:"trial run" load meta.a-b:1',
            Criteria(metadata=(("pattern_type", "trial run"), ("a-b", "1"))),
        ),
        (
            "type:method lang:rs load name:x path:a -test",
            Criteria(
                kinds=(Kind.METHOD,),
                languages=("rust",),
                names=("x",),
                paths=("a",),
                without=("test",),
            ),
        ),
    ],
    ids=[
        "type", "case", "kind", "commas", "twice", "abbreviations", "path", "quoted-path",
        "windows-path", "lang", "short-names", "language", "unknown-language", "name",
        "curly-name", "since", "quoted-since", "since-time", "latest-since", "until",
        "earliest-until", "sources", "agents", "sessions", "branches", "metadata", "all",
    ],
)  # fmt: skip
def test_filters(text: str, criteria: Criteria) -> None:
    assert parse(text) == ParsedQuery("load", criteria)


@pytest.mark.parametrize(
    "text",
    [
        "plain words", "  spaces \n kept ", "", " ", 'an "open quote', '"', '""', '" "', '"?!"',
        'print("hello world")', 'x="a b"', '"a"b', "“open", "closed”", "“a “b", "don't",
        "git --force", "add -1", "grep -r", "a-b", "f -> g", "a - b", "- b", "-", "--",
        "cc -std=c++",
        "-Dkey=value x", "-I/usr/include x", "- -", "-_x y", "-type:function x", '-"" x',
        "-test", "-test -mock", '-"unit test"', "-test ...",
        "type:", "type: function", "type:banana", "type:function,banana", "type:,class", 'type:""',
        "path:", 'path:"', 'path:" "', "path::x", "path://x", "name:::", 'name:x"y"', 'name:"x"y',
        "lang:++", "lang:,", "since:soon", "since:", "since:2026,2025", "since:9999y",
        "until:soon", "until:2026,2025", "source:map", "source:session,map", "agent: codex",
        "session:", "branch::x", "useragent:x",
        "http://example.org/type:class", "std::vector", "a:b", r"C:\x", "12:30", "subtype:class",
        "(type:class)", ":type:class", "type:class)", "ſince:7d",
    ],
)  # fmt: skip
def test_everything_else_is_plain_words(text: str) -> None:
    assert parse(text) == ParsedQuery(text, Criteria())


def test_filters_alone_leave_no_words() -> None:
    assert parse("type:class -test") == ParsedQuery(
        "", Criteria(kinds=(Kind.CLASS,), without=("test",))
    )


def test_words_that_do_not_parse_stay_where_they_are() -> None:
    assert parse('a::b type:banana "x y" --z -w type:class 12:30') == ParsedQuery(
        "a::b type:banana x y --z -w 12:30", Criteria(kinds=(Kind.CLASS,), phrases=("x y",))
    )


@pytest.mark.parametrize(("suffix", "language"), sorted((PROSE | PLAIN_LANGUAGES).items()), ids=str)
def test_a_suffix_of_text_names_its_language(suffix: str, language: str) -> None:
    assert language_named(suffix.removeprefix(".")) == language


@pytest.mark.parametrize("suffix", sorted(GRAMMARS))
def test_a_suffix_of_code_names_its_language(suffix: str) -> None:
    assert language_named(suffix.removeprefix(".")) == GRAMMARS[suffix].language


@pytest.mark.parametrize("short", ["c++", "c#", "golang", "shell", "python3"])
def test_other_short_names_are_of_languages_there_are(short: str) -> None:
    languages = {grammar.language for grammar in GRAMMARS.values()}
    assert language_named(short) in languages


hostile = st.text(st.sampled_from('"“”-:,/ ab1\n_.') | st.characters(), max_size=60)
pieces = st.lists(
    st.sampled_from([
        "type:", "type:class", "path:", "name:a", "since:", "since:1d", "until:1d", "lang:c",
        "agent:", "session:x", "source:", "source:code", '"', "“", "”",
        "-", "--", "-ab", ",", ":", " ", "  ", "a", "ab", "词", '"a b"', "type:function,",
    ])
).map("".join)  # fmt: skip


@given(st.text() | hostile | pieces)
def test_any_text_is_a_query(text: str) -> None:
    parsed = parse(text)
    if not parsed.criteria:
        assert parsed.words == text
    assert all(parsed.criteria.phrases)
    assert all(parsed.criteria.without)


@given(st.text(st.characters(exclude_characters='"“”-:')))
def test_text_without_signs_is_its_words(text: str) -> None:
    assert parse(text) == ParsedQuery(text, Criteria())


@given(pieces)
def test_a_word_is_searched_for_or_filtered_by(text: str) -> None:
    parsed, asked = parse(text), parse(text).criteria
    kept = [parsed.words, *asked.without, *asked.names, *asked.paths, *asked.languages]
    kept += [*asked.agents, *asked.sessions]
    for word in ("ab", "词"):
        assert word not in text or any(word in one for one in kept)


@given(
    st.lists(
        st.sampled_from(["load", "std::x", "--flag", "-1", "a:b", "->", "a-b", 'x"']), min_size=1
    )
)
def test_words_read_again_are_the_same_words(plain: list[str]) -> None:
    once = parse(" ".join([*plain, "type:class"]))
    assert once == ParsedQuery(" ".join(plain), Criteria(kinds=(Kind.CLASS,)))
    assert parse(once.words) == ParsedQuery(once.words, Criteria())


names = st.text(st.sampled_from("abcdef_*"), min_size=1, max_size=6)
plain_words = st.text(st.sampled_from("abcdef词"), min_size=2, max_size=6)


@given(
    words=st.lists(plain_words, min_size=1),
    kinds=st.lists(st.sampled_from(Kind), unique=True),
    paths=st.lists(names, unique=True),
    phrases=st.lists(st.lists(plain_words, min_size=1).map(" ".join), unique=True),
    without=st.lists(plain_words, unique=True),
    order=st.randoms(use_true_random=False),
)
def test_what_is_written_is_read(
    *,
    words: list[str],
    kinds: list[Kind],
    paths: list[str],
    phrases: list[str],
    without: list[str],
    order: Random,
) -> None:
    """Whichever way the pieces are mixed; each sort keeps its own order."""
    sorts = [
        list(words),
        [f"type:{kind}" for kind in kinds],
        [f'path:"{path}"' for path in paths],
        [f'"{phrase}"' for phrase in phrases],
        [f"-{word}" for word in without],
    ]
    turns = [number for number, sort in enumerate(sorts) for _ in sort]
    order.shuffle(turns)
    waiting = [iter(sort) for sort in sorts]

    parsed = parse(" ".join(next(waiting[turn]) for turn in turns))

    assert parsed.criteria == Criteria(
        kinds=tuple(kinds), paths=tuple(paths), phrases=tuple(phrases), without=tuple(without)
    )
    assert sorted(parsed.words.split()) == sorted([*words, *" ".join(phrases).split()])


@pytest.mark.parametrize(
    "unit",
    [
        '"', ' "', '" ', "“", " “", " “a", ' "a', ' "a"b', "-", " -", " -a", " -ab", ":", " a:",
        " type:", " type:class", ' type:"', ' type:"a', ' path:","', ' path:" path:",', "path:a,",
        ' path:"a b",', ',"', ' -"', ' -"a"', "\\", " ", "a",
    ],
)  # fmt: skip
def test_a_million_hostile_letters_are_read(unit: str) -> None:
    """Reading that grew with the square of the length would not end before the test's limit."""
    parse(unit * (1_000_000 // len(unit)))


def test_only_so_many_filters_are_read() -> None:
    """Each may take a walk through all chunks, and a query has room for thousands."""
    query = parse_query(" ".join(f"path:p{n}" for n in range(70)), now=NOW)
    assert query.criteria.paths == tuple(f"p{n}" for n in range(64))
    assert query.words == " ".join(f"path:p{n}" for n in range(64, 70))


@pytest.mark.parametrize("key", ["path", "name"])
def test_a_glob_without_measure_is_plain_words(key: str) -> None:
    longest, longer = "*" * 1024, "*" * 1025
    assert parse_query(f"{key}:{longest}", now=NOW).criteria
    assert not parse_query(f"{key}:{longer}", now=NOW).criteria


def test_sources_and_dates_of_options_are_read_or_an_error() -> None:
    listed = read_criteria(
        now=NOW, sources=["Session, code"], agents=["codex,aider"], sessions=["a", "b"],
        branches=["x"], until="2026-01-31",
    )  # fmt: skip
    assert listed == Criteria(
        sources=("session", "code"), agents=("codex", "aider"), sessions=("a", "b"),
        branches=("x",), until=datetime(2026, 2, 1, tzinfo=UTC),
    )  # fmt: skip
    with pytest.raises(QueryError, match="Invalid source 'map'") as caught:
        read_criteria(now=NOW, sources=["code,map"])
    assert "conversation, session" in caught.value.hint
    with pytest.raises(QueryError, match="Cannot read 'soon' as a date"):
        read_criteria(now=NOW, until="soon")


@pytest.mark.parametrize(
    ("globs", "message"), [(["a"] * 65, "at most 64 globs"), (["*" * 1025], "longer than 1,024")]
)
def test_globs_of_options_without_measure_are_an_error(globs: list[str], message: str) -> None:
    for field in ("paths", "names"):
        with pytest.raises(QueryError, match=message):
            read_criteria(now=NOW, **{field: globs})  # type: ignore[arg-type]
