"""Where a value comes from, what an error says, and when a change is seen (seed 000, FR-9)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aurora.config import LoadedSettings, Settings
from aurora.config.schema import (
    BM25Settings,
    HybridSettings,
    HybridWeights,
    SearchSettings,
    StageWeights,
    StoreSettings,
    UiSettings,
)
from aurora.errors import ConfigError
from tests.config.world import APPENDIX_C, PROJECT, USER, World

HINT = "\n\nhint: correct the value, or remove it to use the default"
WEIGHTS = "search.hybrid.stage2_weights"
WEIGHT_VARIABLE = "AURORA_SEARCH_HYBRID_STAGE2_WEIGHTS_"

TWO_PROBLEMS = """\
search:
  bm25:
    k1: -1.5
  hybrid:
    stage2_weights:
      semantic: 0.4
      activation: 0.3
"""

FR_9_3 = """\
Invalid config in ~/.aurora/config.yml:
  - search.bm25.k1: Must be ≥ 0.0 (got -1.5)
  - search.hybrid.stage2_weights: Must sum to 1.0 (got 0.7)"""


def with_k1(value: float) -> Settings:
    return Settings(search=SearchSettings(bm25=BM25Settings(k1=value)))


def k1(value: object) -> str:
    return f"search:\n  bm25:\n    k1: {value}\n"


def weights(semantic: object, activation: object) -> str:
    both = f"semantic: {semantic}, activation: {activation}"
    return f"search:\n  hybrid:\n    stage2_weights: {{{both}}}\n"


def test_ut_config_01_load_valid_config(world: World) -> None:
    """A user's file gives k1, b, the candidates and the weights, and each value its origin."""
    bm25 = "  bm25:\n    k1: 1.2\n    b: 0.5\n"
    hybrid = "  hybrid:\n    stage1_top_k: 50\n    stage2_weights:\n"
    world.write(user=f"search:\n{bm25}{hybrid}      semantic: 0.7\n      activation: 0.3\n")
    stages = HybridSettings(50, stage2_weights=StageWeights(0.7, 0.3))
    search = SearchSettings(BM25Settings(1.2, 0.5), stages)
    keys = ["bm25.k1", "bm25.b", "hybrid.stage1_top_k"]
    keys += ["hybrid.stage2_weights.semantic", "hybrid.stage2_weights.activation"]
    origins = {f"search.{key}": USER for key in keys}
    assert world.load() == LoadedSettings(Settings(search=search), origins)


def test_ut_config_01_appendix_c_loads_as_a_whole(world: World) -> None:
    """The example of Appendix C is taken without a warning, `version` without being a setting."""
    world.write(user=APPENDIX_C)
    loaded = world.load()
    assert loaded.settings == Settings(ui=UiSettings(shown_search_format_notice=True))
    assert (len(loaded.origins), set(loaded.origins.values())) == (7, {USER})
    assert loaded.warnings == ()


def test_ut_config_02_missing_config_fallback(world: World) -> None:
    """Without any file the hardcoded defaults hold: 1.5, 0.75, 100, 0.5 and 0.5; no error."""
    loaded = world.load()
    assert loaded == LoadedSettings(Settings())
    assert loaded.settings.search == SearchSettings(
        BM25Settings(k1=1.5, b=0.75, idf="lucene"),
        HybridSettings(100, HybridWeights(0.3, 0.4, 0.3), StageWeights(0.5, 0.5)),
    )


def test_ut_config_03_invalid_yaml(world: World) -> None:
    """Broken YAML is an error that names file, line and cause.

    The seed says YAMLError; here every error meant for people is an AuroraError.
    """
    world.write(user="search:\n  bm25:\n    k1: [1.5\n")
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert str(caught.value) == (
        f"Invalid config in {USER}:\n"
        "  - line 4, column 1: expected ',' or ']', but got '<stream end>'" + HINT
    )


def test_ut_config_04_out_of_range_k1(world: World) -> None:
    """A negative k1 is refused. The seed's test says "k1 must be ≥ 0.0"; FR-9.3's wording wins."""
    world.write(user=k1(-0.1))
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert caught.value.message == (
        f"Invalid config in {USER}:\n  - search.bm25.k1: Must be ≥ 0.0 (got -0.1)"
    )


@pytest.mark.parametrize("value", ["-0.1", "1.1", "-1", "2"])
def test_ut_config_05_out_of_range_b(world: World, value: str) -> None:
    """b outside of [0, 1] is refused, in the form of FR-9.3 instead of "b must be in [0, 1]"."""
    world.write(user=f"search:\n  bm25:\n    b: {value}\n")
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert caught.value.message == (
        f"Invalid config in {USER}:\n  - search.bm25.b: Must be in [0.0, 1.0] (got {value})"
    )


@pytest.mark.parametrize(
    ("semantic", "activation", "total"),
    [
        pytest.param(0.4, 0.3, "0.7", id="too-little"),
        pytest.param(0.9, 0.3, "1.2", id="too-much"),
        pytest.param(0, 0.5, "0.5", id="one-only"),
        pytest.param(0.5, 0.500002, "1.000002", id="a-little-too-much"),
    ],
)
def test_ut_config_06_weights_not_summing_to_1(
    world: World, semantic: float, activation: float, total: str
) -> None:
    """Both weights are judged together; FR-9.3's "Must sum to 1.0" wins over the seed's test."""
    world.write(user=weights(semantic, activation))
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert caught.value.message == (
        f"Invalid config in {USER}:\n  - {WEIGHTS}: Must sum to 1.0 (got {total})"
    )


@pytest.mark.parametrize(("semantic", "activation"), [(0, 1), (1, 0), (0.1, 0.9), (0.7, 0.3)])
def test_ut_config_06_weights_that_sum_to_1(
    world: World, semantic: float, activation: float
) -> None:
    """Whole numbers and the rounding of binary fractions are no problem."""
    world.write(user=weights(semantic, activation))
    assert world.load().settings.search.hybrid.stage2_weights == StageWeights(semantic, activation)


def test_ut_config_06_the_layer_that_spoils_the_sum_is_named(world: World) -> None:
    """A file whose weights are right is not blamed for the variable that overrides one of them."""
    world.write(user=weights(0.7, 0.3))
    with pytest.raises(ConfigError) as caught:
        world.load({f"{WEIGHT_VARIABLE}ACTIVATION": "0.6"})
    assert caught.value.message == (
        f"Invalid config in the environment ({WEIGHT_VARIABLE}ACTIVATION):\n"
        f"  - {WEIGHTS}: Must sum to 1.0 (got 1.3)"
    )


@pytest.mark.parametrize(
    ("given", "total"),
    [("bm25: 0.5", "1.2"), ("semantic: 0", "0.6"), ("bm25: 0, activation: 0", "0.4")],
)
def test_three_weights_must_sum_to_1_with_those_not_given(
    world: World, given: str, total: str
) -> None:
    """Those of `staged` are judged together, like the two of its second stage."""
    world.write(user=f"search:\n  hybrid:\n    weights: {{{given}}}\n")
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert caught.value.message == (
        f"Invalid config in {USER}:\n  - search.hybrid.weights: Must sum to 1.0 (got {total})"
    )


def test_three_weights_that_sum_to_1(world: World) -> None:
    world.write(
        user="search:\n  hybrid:\n    weights: {bm25: 0.2, semantic: 0.7, activation: 0.1}\n"
    )
    assert world.load().settings.search.hybrid.weights == HybridWeights(0.2, 0.7, 0.1)


@pytest.mark.parametrize("value", ["1.0e+308", "1000001", "1" + "0" * 400])
def test_a_k1_with_which_scores_would_overflow_is_refused(world: World, value: str) -> None:
    world.write(user=k1(value))
    with pytest.raises(ConfigError, match=r"search\.bm25\.k1: Must be (≤ 1e\+06|a number) \(got 1"):
        world.load()


def test_ut_config_07_changes_take_effect_on_the_next_search(world: World) -> None:
    """Made, edited, broken, repaired and deleted: the next call sees each, without a restart."""
    files = world.files()
    assert files.current().settings == Settings()
    world.write(user=k1(1.25))
    assert files.current().settings == with_k1(1.25)
    world.write(user=k1(-1))
    with pytest.raises(ConfigError):
        files.current()
    world.write(user=k1(2))
    assert files.current().settings == with_k1(2.0)
    world.user_file.unlink()
    assert files.current() == LoadedSettings(Settings())


def test_ut_config_07_an_edit_that_keeps_size_and_time_is_seen(world: World) -> None:
    """Two writes within one tick of the file system's clock have the same size and time."""
    world.write(user=k1(1.2))
    files, then = world.files(), world.user_file.stat()
    assert files.current().settings == with_k1(1.2)
    world.write(user=k1(1.9))
    os.utime(world.user_file, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert files.current().settings == with_k1(1.9)


def test_nothing_is_read_again_while_nothing_changes(world: World) -> None:
    """Unchanged files give the very same settings."""
    world.write(user=k1(1.2), project=k1(1.3))
    files = world.files()
    assert files.current() is files.current()


def test_flag_beats_environment_beats_project_beats_user_beats_default(world: World) -> None:
    """Each layer hides the one below it, and the origin says which one won."""
    environ = {"AURORA_SEARCH_BM25_K1": "1.3"}
    flags = {"search.bm25.k1": 1.4}
    key, variable = "search.bm25.k1", "the environment (AURORA_SEARCH_BM25_K1)"
    assert world.load() == LoadedSettings(with_k1(1.5))
    world.write(user=k1(1.1))
    assert world.load() == LoadedSettings(with_k1(1.1), {key: USER})
    world.write(project=k1(1.2))
    assert world.load() == LoadedSettings(with_k1(1.2), {key: PROJECT})
    assert world.load(environ) == LoadedSettings(with_k1(1.3), {key: variable})
    assert world.load(environ, flags) == LoadedSettings(
        with_k1(1.4), {key: "the command line (-c)"}
    )


def test_layers_are_merged_by_setting_not_by_file(world: World) -> None:
    """A project that sets one value leaves the user's others alone."""
    world.write(user="search: {bm25: {k1: 1.1, b: 0.5}}", project="store:\n  path: own.db\n")
    search = SearchSettings(bm25=BM25Settings(1.1, 0.5, "robertson"))
    assert world.load({"AURORA_SEARCH_BM25_IDF": "robertson"}) == LoadedSettings(
        Settings(search=search, store=StoreSettings("own.db")),
        {
            "search.bm25.k1": USER,
            "search.bm25.b": USER,
            "store.path": PROJECT,
            "search.bm25.idf": "the environment (AURORA_SEARCH_BM25_IDF)",
        },
    )


def test_all_problems_of_all_layers_are_told_at_once(world: World) -> None:
    """Two broken files, a variable and a flag make one error with a block for each."""
    world.write(user=TWO_PROBLEMS, project=k1("many") + "ui: {default_search_format: fancy}\n")
    with pytest.raises(ConfigError) as caught:
        world.load({"AURORA_SEARCH_BM25_B": "7"}, {"search.hybrid.stage1_top_k": 9})
    assert str(caught.value) == (
        f"{FR_9_3}\n"
        f"Invalid config in {PROJECT}:\n"
        "  - search.bm25.k1: Must be a number (got 'many')\n"
        "  - ui.default_search_format: Must be one of enhanced, legacy (got 'fancy')\n"
        "Invalid config in the environment (AURORA_SEARCH_BM25_B):\n"
        "  - search.bm25.b: Must be in [0.0, 1.0] (got 7)\n"
        "Invalid config in the command line (-c):\n"
        "  - search.hybrid.stage1_top_k: Must be ≥ 10 (got 9)" + HINT
    )


def test_the_command_fails_with_the_exact_text_of_fr_9_3(world: World) -> None:
    """The real `aur` says both problems on stderr, nothing on stdout, and ends with 2."""
    world.write(user=TWO_PROBLEMS)
    aur = Path(sys.executable).with_name("aur")
    environ = {"HOME": str(world.root), "PATH": os.environ["PATH"]}
    options = {"cwd": world.root, "env": environ, "capture_output": True, "encoding": "utf-8"}
    ran = subprocess.run([aur, "config", "get"], check=False, **options)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"Error: {FR_9_3}{HINT}\n")
