"""Settings that make no sense: each has a defined answer, and none ends in a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.config import LoadedSettings, Settings
from aurora.config.schema import CATALOGUE, BM25Settings, SearchSettings, StoreSettings
from aurora.config.yaml import YamlError, parse_yaml
from aurora.errors import ConfigError
from tests.config.world import USER, World

READABLE = 1_000  # letters of an error a person still reads


def in_file(key: str, value: str) -> str:
    """YAML that sets one key: search.bm25.k1 and 2 → {search: {bm25: {k1: 2}}}."""
    for name in reversed(key.split(".")):
        value = f"{{{name}: {value}}}"
    return value


def problem(world: World, user: str | bytes) -> str:
    """The one problem a user's file has, without the words around it."""
    world.write(user=user)
    with pytest.raises(ConfigError) as caught:
        world.load()
    return caught.value.message.removeprefix(f"Invalid config in {USER}:\n  - ")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        pytest.param("search.bm25.k1", ".nan", "Must be a number (got nan)", id="nan"),
        pytest.param("search.bm25.k1", ".inf", "Must be a number (got inf)", id="infinity"),
        pytest.param("search.bm25.k1", "1e400", "Must be a number (got inf)", id="overflow"),
        pytest.param("search.bm25.k1", "true", "Must be a number (got True)", id="bool"),
        pytest.param("search.bm25.k1", "'1.5'", "Must be a number (got '1.5')", id="quoted"),
        pytest.param("search.bm25.k1", "[1.5]", "Must be a number (got [1.5])", id="list"),
        pytest.param("search.bm25.k1", "{a: 1}", "Must be a number (got {'a': 1})", id="map"),
        pytest.param("search.bm25.k1", "2025-01-02", "Must be a number (got 2025-01-02)", id="day"),
        pytest.param("search.bm25.b", "no", "Must be a number (got 'no')", id="word"),
        pytest.param("search.bm25.idf", "okapi", "Must be one of lucene, robertson (got 'okapi')"),
        pytest.param("search.bm25.idf", "[lucene]", "Must be one of lucene, robertson"),
        pytest.param("search.hybrid.stage1_top_k", "50.0", "Must be an integer (got 50.0)"),
        pytest.param("search.hybrid.stage1_top_k", "true", "Must be an integer (got True)"),
        pytest.param("search.hybrid.stage1_top_k", "9", "Must be ≥ 10 (got 9)", id="too-few"),
        pytest.param("search.hybrid.stage2_weights.semantic", "2", "Must be in [0.0, 1.0] (got 2)"),
        pytest.param("search.hybrid.stage2_weights.semantic", ".nan", "Must be a number (got nan)"),
        pytest.param("ui.shown_search_format_notice", "yes", "Must be true or false (got 'yes')"),
        pytest.param("ui.shown_search_format_notice", "1", "Must be true or false (got 1)"),
        pytest.param("store.path", "7", "Must be text (got 7)", id="path"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(
    world: World, key: str, value: str, reason: str
) -> None:
    """The message has the setting, its rule and the value as it was given."""
    assert problem(world, in_file(key, value)).startswith(f"{key}: {reason}")


def test_a_wrong_weight_is_one_problem(world: World) -> None:
    """A weight that is no weight is not also blamed for the sum."""
    key = "search.hybrid.stage2_weights.semantic"
    assert problem(world, in_file(key, "1.5")) == f"{key}: Must be in [0.0, 1.0] (got 1.5)"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("- search\n", "Must hold settings (got ['search'])", id="list"),
        pytest.param("42\n", "Must hold settings (got 42)", id="number"),
        pytest.param("search: 5\n", "search: Must hold settings (got 5)", id="scalar-section"),
        pytest.param("search: {bm25: [1]}", "search.bm25: Must hold settings (got [1])"),
        pytest.param(b"k1: \xff\xfe\n", "not valid YAML: 'utf-8' codec", id="not-utf-8"),
        pytest.param("a: 1\n".encode("utf-16"), "not valid YAML: 'utf-8' codec", id="utf-16"),
        pytest.param("a: 1\na: 2\n", 'line 2, column 1: found duplicate key "a"', id="duplicate"),
        pytest.param("\tsearch:\n", "line 1, column 1: found character '\\t'", id="tab"),
        pytest.param("a: 1\n---\nb: 2\n", "line 2, column 1: ", id="two-documents"),
        pytest.param("a: *b\n", "line 1, column 4: found undefined alias", id="alias-of-nothing"),
        pytest.param("a: 2025-13-45\n", "not valid YAML: month must be in 1..12", id="bad-date"),
        pytest.param("a: !!python/name:os.system\n", "line 1, column 4: could not", id="code"),
        pytest.param("[" * 600, "not valid YAML: maximum recursion", id="absurd-nesting"),
        pytest.param("{a: " * 600, "not valid YAML: maximum recursion", id="nested-maps"),
        pytest.param("a: " + "1" * 5_000, "not valid YAML: Exceeds the limit", id="many-digits"),
        pytest.param("a: !!bool maybe\n", "not valid YAML: ", id="tagged-bool"),
        pytest.param('a: !!int ""\n', "not valid YAML: ", id="tagged-int"),
        pytest.param('a: !!float ""\n', "not valid YAML: ", id="tagged-float"),
    ],
)
def test_a_file_that_is_no_settings_file_is_an_error(
    world: World, content: str | bytes, reason: str
) -> None:
    """The cause is told in one line, with its place where there is one."""
    told = problem(world, content)
    assert told.startswith(reason)
    assert "\n" not in told


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param(" \n\n", id="blank"),
        pytest.param("# nothing yet\n", id="comment-only"),
        pytest.param("---\n", id="document-start-only"),
        pytest.param("{}", id="empty-map"),
        pytest.param("search:\nui:\n  # later\n", id="empty-sections"),
        pytest.param("version: &x 1\nui: {}\nsearch: &x {}\n", id="anchor-used-twice"),
        pytest.param('version: "1.0"\n', id="version"),
    ],
)
def test_what_says_nothing_gives_the_defaults_in_silence(world: World, content: str) -> None:
    world.write(user=content)
    assert world.load() == LoadedSettings(Settings())


@pytest.mark.parametrize(
    ("file", "ignored", "near"),
    [
        ("serach: {bm25: {k1: 3}}\n", "serach", "search"),
        ("fusion: rrf\n", "fusion", "search.fusion"),
        ("max_result: 3\n", "max_result", "max_results"),
    ],
)
def test_a_mistyped_name_at_the_top_is_named_with_the_nearest_one(
    world: World, file: str, ignored: str, near: str
) -> None:
    world.write(user=file)
    warning = f"Ignored {ignored} in {USER}: there is no such setting, did you mean {near}?"
    assert world.load() == LoadedSettings(Settings(), {}, (warning,))


def test_a_name_at_the_top_that_is_like_no_setting_is_named_too(world: World) -> None:
    world.write(user="editor: {k1: -1}\nother: 5\n")
    warnings = tuple(
        f"Ignored {name} in {USER}: there is no such setting" for name in ("editor", "other")
    )
    assert world.load() == LoadedSettings(Settings(), {}, warnings)


@pytest.mark.parametrize(
    ("name", "near"), [("k2", "k1"), ("K1", "k1"), ("3", "b"), ("'k1 '", "k1")]
)
def test_an_unknown_name_in_a_known_section_is_a_typo(world: World, name: str, near: str) -> None:
    """It is ignored with a warning, and the settings beside it hold."""
    world.write(user=f"search:\n  bm25:\n    {name}: 9\n    k1: 1.2\n")
    told = (
        f"Ignored search.bm25.{name.strip(chr(39))} in {USER}: there is no such setting, "
        f"did you mean search.bm25.{near}?"
    )
    wanted = Settings(search=SearchSettings(BM25Settings(k1=1.2)))
    assert world.load() == LoadedSettings(wanted, {"search.bm25.k1": USER}, (told,))


def test_a_byte_order_mark_is_no_part_of_the_settings(world: World) -> None:
    """Editors on Windows write one."""
    world.write(user=b"\xef\xbb\xbfsearch: {bm25: {k1: 1.2}}\n")
    assert world.load().settings == Settings(search=SearchSettings(BM25Settings(k1=1.2)))


def test_a_folder_in_the_place_of_the_file_is_an_error(world: World) -> None:
    """It cannot be read, and the message says which file and why."""
    world.user_file.mkdir(parents=True)
    with pytest.raises(ConfigError, match="Is a directory"):
        world.load()


@pytest.mark.parametrize("digits", ["1" + "0" * 400, "0x" + "f" * 5_000], ids=["decimal", "hex"])
def test_a_number_too_large_for_a_float_is_no_number(world: World, digits: str) -> None:
    """Python's integers have no end; a setting has."""
    told = problem(world, in_file("search.bm25.k1", digits))
    assert told.startswith("search.bm25.k1: Must be a number (got ")
    assert len(told) < READABLE


def test_aliases_of_aliases_do_not_flood_the_error(world: World) -> None:
    """A few lines that unfold to 4 ** 9 values (a "billion laughs") are told in a few words."""
    lines = ["a0: &a0 [x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 4)}]" for n in range(1, 9)]
    told = problem(world, "\n".join([*lines, "search: {bm25: {k1: *a8}}"]))
    assert told.startswith("search.bm25.k1: Must be a number (got [")
    assert len(told) < READABLE


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('search: {"a\\e[2J\\nb": 1}', id="unknown-name"),
        pytest.param('search: {bm25: {k1: "\\e[2J\\n"}}', id="value"),
        pytest.param('"a\\e[2J\\nb": 1\n"a\\e[2J\\nb": 2', id="duplicate-name"),
    ],
)
def test_a_cloned_file_cannot_write_to_the_terminal(world: World, content: str) -> None:
    """No control character of a project's file reaches a message."""
    world.write(project=content)
    try:
        told = "\n".join(world.load().warnings)
    except ConfigError as error:
        told = error.message
    assert [line for line in told.split("\n") if not line.isprintable()] == []
    assert len(told.split("\n")) <= 2


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param("abc", "Must be a number (got 'abc')", id="word"),
        pytest.param("[1", "Must be a number (got '[1')", id="broken-yaml"),
        pytest.param("-3", "Must be ≥ 0.0 (got -3)", id="out-of-range"),
        pytest.param("nan", "Must be a number (got 'nan')", id="nan"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(world: World, raw: str, reason: str) -> None:
    """The error has the variable's name, since nobody would look for it in a file."""
    with pytest.raises(ConfigError) as caught:
        world.load({"AURORA_SEARCH_BM25_K1": raw})
    assert caught.value.message == (
        f"Invalid config in the environment (AURORA_SEARCH_BM25_K1):\n  - search.bm25.k1: {reason}"
    )


@pytest.mark.parametrize("path", ["my.db", "/data/a b #1.db", "2024", "null", "a: b", "'x'"])
def test_a_variable_of_text_is_taken_letter_by_letter(world: World, path: str) -> None:
    """A path is what it is: YAML has no say in it."""
    wanted = Settings(store=StoreSettings(path))
    assert world.load({"AURORA_STORE_PATH": path}).settings == wanted


def test_an_empty_variable_is_not_set(world: World) -> None:
    """As for AURORA_HOME: `AURORA_SEARCH_BM25_K1= aur …` switches the variable off."""
    environ = {setting.variable: "" for setting in CATALOGUE.values()}
    assert world.load(environ) == LoadedSettings(Settings())


_PIECES = [*"[]{},:-?&*!|>'\"%@#a1.~=\n\t ", "- ", ": ", "\n  ", "&a ", "*a", "<<: ", "---\n"]
_PIECES += ["!!bool ", "!!int ", "!!float ", "!!set ", "!!omap ", "!!binary ", "!!timestamp "]
_PIECES += ["2025-01-01", "1e9", "0x1", ".nan", "true", "null", "\x85", "\x00", "é", "\ufeff"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(_PIECES)).map("".join).map(str.encode) | st.binary())
def test_any_bytes_are_values_or_an_error_of_one_line(content: bytes) -> None:
    """Nothing but YamlError comes out of the door to YAML, whatever the file holds."""
    told = ""
    try:
        parse_yaml(content)
    except YamlError as error:
        told = str(error)
    assert len(told.splitlines()) <= 1
