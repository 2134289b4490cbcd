"""Names that seeds 001 and 002 give to settings: each is read as the setting there is."""

from __future__ import annotations

import pytest

from aurora.config.schema import ALIASES, CATALOGUE
from aurora.errors import ConfigError
from tests.config.test_schema import leaf
from tests.config.world import USER, World

READ = [
    pytest.param("enable_hybrid_search", "true", "search.mode", "hybrid", id="hybrid"),
    pytest.param("enable_hybrid_search", "false", "search.mode", "semantic", id="not-hybrid"),
    pytest.param("hybrid_search_alpha", "0.9", "search.weighted.semantic", 0.9, id="alpha"),
    pytest.param("bm25_k1", "1.2", "search.bm25.k1", 1.2, id="k1"),
    pytest.param("bm25_b", "0.5", "search.bm25.b", 0.5, id="b"),
    pytest.param("vector_weight", "0.9", "search.weighted.semantic", 0.9, id="vector"),
    pytest.param("keyword_weight", "0.9", "search.weighted.semantic", 0.1, id="keyword"),
    pytest.param("half_life", "7", "search.recency.half_life", 7.0, id="half-life"),
    pytest.param("max_results", "3", "search.limit", 3, id="results"),
]
WRONG = [
    pytest.param(
        "enable_hybrid_search",
        "maybe",
        "search.mode: Must be one of hybrid, semantic, keyword (got 'maybe')",
        id="hybrid",
    ),
    pytest.param(
        "hybrid_search_alpha",
        "1.5",
        "search.weighted.semantic: Must be in [0.0, 1.0] (got 1.5)",
        id="alpha",
    ),
    pytest.param("bm25_k1", "-1", "search.bm25.k1: Must be ≥ 0.0 (got -1)", id="k1"),
    pytest.param(
        "keyword_weight",
        "1.5",
        "search.weighted.semantic: Must be in [0.0, 1.0] (got 1.5)",
        id="keyword",
    ),
    pytest.param("max_results", "0", "search.limit: Must be ≥ 1 (got 0)", id="results"),
    pytest.param("bm25_b", "[0.5]", "search.bm25.b: Must be a number (got [0.5])", id="b"),
]


def variable(name: str) -> str:
    return f"AURORA_{name.upper()}"


def test_every_name_stands_for_a_setting() -> None:
    assert {alias.key for alias in ALIASES.values()} <= set(CATALOGUE)
    assert not set(ALIASES) & set(CATALOGUE)


@pytest.mark.parametrize(("name", "written", "key", "value"), READ)
def test_a_name_is_read_at_the_top_of_a_file_and_inside_search(
    world: World, name: str, written: str, key: str, value: object
) -> None:
    for file in (f"{name}: {written}\n", f"search:\n  {name}: {written}\n"):
        world.write(user=file)
        loaded = world.load()
        assert leaf(loaded.settings, key) == value
        assert (loaded.origins, loaded.warnings) == ({key: USER}, ())


@pytest.mark.parametrize(("name", "written", "key", "value"), READ)
def test_a_name_is_read_in_the_environment(
    world: World, name: str, written: str, key: str, value: object
) -> None:
    loaded = world.load({variable(name): written})
    assert leaf(loaded.settings, key) == value
    assert loaded.origins == {key: f"the environment ({variable(name)})"}


@pytest.mark.parametrize(("name", "written", "message"), WRONG)
def test_a_wrong_value_gets_the_error_of_the_real_setting(
    world: World, name: str, written: str, message: str
) -> None:
    for file in (f"{name}: {written}\n", f"search:\n  {name}: {written}\n"):
        world.write(user=file)
        with pytest.raises(ConfigError) as caught:
            world.load()
        assert caught.value.message == f"Invalid config in {USER}:\n  - {message}"
    world.user_file.unlink()
    with pytest.raises(ConfigError) as caught:
        world.load({variable(name): written})
    origin = f"the environment ({variable(name)})"
    assert caught.value.message == f"Invalid config in {origin}:\n  - {message}"


def test_the_real_name_wins_in_the_environment(world: World) -> None:
    """Whoever sets both knows the real one."""
    both = {"AURORA_SEARCH_BM25_K1": "1.1", "AURORA_BM25_K1": "1.9"}
    assert world.load(both).settings.search.bm25.k1 == 1.1


def test_a_name_inside_another_section_is_a_typo(world: World) -> None:
    world.write(user="search:\n  bm25:\n    bm25_k1: 1.2\n")
    loaded = world.load()
    assert loaded.settings.search.bm25.k1 == 1.5
    assert loaded.warnings == (
        f"Ignored search.bm25.bm25_k1 in {USER}: there is no such setting, "
        "did you mean search.bm25.k1?",
    )


def test_both_weights_of_seed_001_fit_together(world: World) -> None:
    world.write(user="search: {vector_weight: 0.6, keyword_weight: 0.4}\n")
    loaded = world.load()
    assert (loaded.settings.search.weighted.semantic, loaded.fusion) == (0.6, "weighted")
    world.write(user="vector_weight: 0.6\nkeyword_weight: 0.6\n")
    with pytest.raises(ConfigError, match="vector_weight and keyword_weight: Must sum to 1"):
        world.load()
    variables = {"AURORA_VECTOR_WEIGHT": "0.2", "AURORA_KEYWORD_WEIGHT": "0.2"}
    world.write(user="")
    with pytest.raises(ConfigError, match="vector_weight and keyword_weight: Must sum to 1"):
        world.load(variables)
