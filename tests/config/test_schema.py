"""Every setting is described, has a default that it would itself accept, and one name."""

from __future__ import annotations

import math
from itertools import product

import pytest

from aurora.config import Settings
from aurora.config.schema import (
    CATALOGUE,
    BM25Settings,
    Guard,
    SearchSettings,
    UiSettings,
    build_settings,
    integer,
    known_setting,
    number,
)
from aurora.errors import ConfigError
from tests.tables import row


def leaf(settings: Settings, key: str) -> object:
    value: object = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def test_a_setting_accepts_its_own_default() -> None:
    """The default is a value a user could have written, and the one `Settings()` holds."""
    for setting in CATALOGUE.values():
        with row(setting.key):
            understood = setting.parse(setting.default)
            assert (understood, type(understood)) == (setting.default, type(setting.default))
            assert leaf(Settings(), setting.key) == setting.default


def test_a_setting_is_described_in_a_sentence() -> None:
    """The help starts like a sentence and ends like one."""
    for setting in CATALOGUE.values():
        with row(setting.key):
            assert setting.help == setting.help.strip()
            assert setting.help.endswith(".")
            assert setting.help[0].isupper() or setting.help[0] == "`"


@pytest.mark.parametrize("value", ["", "10.0.0.5:6379", "ray.example.org:1", "[::1]:6379"])
def test_a_cluster_is_a_host_and_a_port(value: str) -> None:
    assert CATALOGUE["indexing.ray"].parse(value) == value


@pytest.mark.parametrize(
    "value",
    ["auto", "ray://x:1", "x", ":6379", "x:6379\n", "me:secret@x:1", "x:999999", "x y:1", 6379],
)
def test_what_is_no_host_and_port_is_no_cluster(value: object) -> None:
    with pytest.raises(ValueError, match="Must be HOST:PORT"):
        CATALOGUE["indexing.ray"].parse(value)


def test_a_setting_reaches_the_settings_it_names() -> None:
    """What is parsed for a key arrives at that key and nowhere else."""
    for name in CATALOGUE:
        marked = build_settings({name: "marked"})
        changed = [key for key in CATALOGUE if leaf(marked, key) != leaf(Settings(), key)]
        assert changed == [name]


def test_a_setting_refuses_what_no_file_should_hold() -> None:
    """A wrong kind of value is a ValueError with a reason, never another error."""
    for setting, value in product(CATALOGUE.values(), (None, [], {}, object(), math.nan, b"x")):
        with row(setting.key, value), pytest.raises(ValueError, match="Must be "):
            setting.parse(value)


def test_variables_are_unique_and_leave_aurora_home_alone() -> None:
    """Two settings never share a variable, and none takes the name of the home."""
    variables = [setting.variable for setting in CATALOGUE.values()]
    assert sorted(set(variables)) == sorted(variables)
    assert "AURORA_HOME" not in variables
    assert CATALOGUE["search.bm25.k1"].variable == "AURORA_SEARCH_BM25_K1"


def test_the_settings_of_the_requirements_exist_with_their_defaults() -> None:
    """FR-9.1 and Appendix C, to the letter, but for `version`: nothing would be done with it."""
    required = {
        "search.bm25.k1": 1.5,
        "search.bm25.b": 0.75,
        "search.hybrid.stage1_top_k": 100,
        "search.hybrid.stage2_weights.semantic": 0.5,
        "search.hybrid.stage2_weights.activation": 0.5,
        "ui.shown_search_format_notice": False,
        "ui.default_search_format": "enhanced",
    }
    assert {key: CATALOGUE[key].default for key in required} == required


def test_every_setting_has_an_upper_bound() -> None:
    """No file can make one take all of the memory, or of the time."""
    long = ("a" * 100_000, f"http://{'a' * 100_000}", "a" * 99_990 + ":6379")
    for setting, value in product(CATALOGUE.values(), (10**400, 1e300, *long)):
        with row(setting.key, type(value)), pytest.raises(ValueError, match="Must be "):
            setting.parse(value)


def test_what_takes_time_or_memory_has_a_lower_bound_for_a_project() -> None:
    capped = {key: item.unapproved_most for key, item in CATALOGUE.items() if item.unapproved_most}
    assert capped == {
        "search.hybrid.stage1_top_k": 1000,
        "search.rerank.seconds": 10,
        "search.limit": 1000,
        "indexing.workers": 4,
        "llm.seconds": 30,
        "hooks.budget": 1000,
        "mcp.workers": 2,
    }
    assert all(CATALOGUE[key].default <= most for key, most in capped.items())  # type: ignore[operator]


def test_what_sends_text_away_or_leads_out_is_guarded() -> None:
    """Every choice of a model, every path, what a click opens and what protects; nothing else."""
    assert {key: item.guard for key, item in CATALOGUE.items() if item.guard} == {
        "indexing.redact_secrets": Guard.SAFETY,
        "store.path": Guard.OUTSIDE,
        "store.url": Guard.CHOICE,
        "store.schema": Guard.CHOICE,
        "embedding.provider": Guard.CHOICE,
        "embedding.model": Guard.CHOICE,
        "embedding.endpoint": Guard.CHOICE,
        "embedding.query_prefix": Guard.CHOICE,
        "embedding.document_prefix": Guard.CHOICE,
        "indexing.ray": Guard.CHOICE,
        "llm.endpoint": Guard.CHOICE,
        "llm.model": Guard.CHOICE,
        "hooks.sessions": Guard.CHOICE,
        "search.expand": Guard.AWAY,
        "search.rerank.by": Guard.AWAY,
        "ui.links": Guard.CHOICE,
    }


def test_settings_are_built_from_what_was_given() -> None:
    """What is not given keeps its default, at every depth."""
    assert build_settings({}) == Settings()
    assert build_settings({"search.bm25.b": 0.0, "ui.default_search_format": "legacy"}) == Settings(
        search=SearchSettings(bm25=BM25Settings(b=0.0)),
        ui=UiSettings(default_search_format="legacy"),
    )


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("search.bm25.k2", "did you mean search.bm25.k1, "),
        ("serach.mode", "did you mean search.mode, "),
        ("max_results", "did you mean search.limit?"),
        ("search.half_life", "did you mean search.recency.half_life?"),
        ("", f"there are {', '.join(CATALOGUE)}"),
        ("SEARCH.BM25.K1", f"there are {', '.join(CATALOGUE)}"),
    ],
)
def test_an_unknown_setting_is_answered_with_those_like_it(key: str, hint: str) -> None:
    """The error names what was asked; without any like it, the hint names all there are."""
    assert known_setting("search.bm25.k1") is CATALOGUE["search.bm25.k1"]
    with pytest.raises(ConfigError) as caught:
        known_setting(key)
    assert caught.value.message == f"There is no setting {key!r}"
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("raw", "understood"),
    [
        pytest.param(0, 0.0, id="lower-edge"),
        pytest.param(1, 1.0, id="upper-edge"),
        pytest.param(1e-300, 1e-300, id="tiny"),
        pytest.param(-0.0, 0.0, id="minus-zero"),
    ],
)
def test_a_number_at_the_edge_is_within(raw: float, understood: float) -> None:
    """Bounds belong to the range, and a whole number becomes a float."""
    value = number(minimum=0.0, maximum=1.0)(raw)
    assert (value, type(value)) == (understood, float)
    assert integer(minimum=10, maximum=99)(10) == 10


@pytest.mark.parametrize(
    ("rule", "raw", "reason"),
    [
        pytest.param(number(minimum=0.0), -1e-9, "Must be ≥ 0.0", id="below"),
        pytest.param(number(minimum=0.0, maximum=1.0), 1.0000001, "Must be in [0.0, 1.0]"),
        pytest.param(number(minimum=0.0), -math.inf, "Must be a number", id="infinite"),
        pytest.param(number(minimum=0.0), 10**400, "Must be a number", id="beyond-a-float"),
        pytest.param(number(), "1.5", "Must be a number", id="text"),
        pytest.param(integer(minimum=10, maximum=99), 100, "Must be ≤ 99", id="too-many"),
        pytest.param(integer(minimum=10, maximum=99), 9, "Must be ≥ 10", id="too-few"),
        pytest.param(integer(minimum=10, maximum=99), True, "Must be an integer", id="bool"),
        pytest.param(integer(minimum=10, maximum=99), 10.0, "Must be an integer", id="float"),
    ],
)
def test_a_rule_says_why_it_refuses(rule: object, raw: object, reason: str) -> None:
    """The wording is FR-9.3's."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        rule(raw)  # type: ignore[operator]
    assert str(caught.value) == reason
