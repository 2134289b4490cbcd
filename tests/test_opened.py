"""Settings become the configuration of a retriever, and retrievers are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.engine.opening import make_config
from aurora.fusion.auto import Trust
from aurora.fusion.staged import Staged
from aurora.retrieval.config import HybridConfig
from aurora.types import Mode
from tests.builders import NOW, write_tree
from tests.embedders import WordsProvider

OWN = "aurora/deep"


def config_of(folder: Path, text: str, embedder: str = OWN) -> HybridConfig:
    home = write_tree(folder / "home", {"config.yml": text})
    return make_config(SettingsFiles(Places(home, folder)).current(), embedder=embedder)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    root = write_tree(tmp_path / "code", {"app.py": "def serve(port):\n    listen(port)\n"})
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        memory.index(root, git=False)
        yield memory


def test_without_a_setting_the_defaults_of_both_are_the_same(tmp_path: Path) -> None:
    """But for the share that seeds 001 and 004 want of any model, and ours is not."""
    assert config_of(tmp_path, "") == HybridConfig(hybrid_search_alpha=0.24)


def test_every_setting_of_a_search_arrives(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        """\
search:
  bm25: {k1: 1.2, b: 0.5, idf: robertson}
  hybrid:
    stage1_top_k: 50
    weights: {bm25: 0.2, semantic: 0.7, activation: 0.1}
  auto: {prose: 0.2, code: 0.3, activation: 0.4}
  weighted: {semantic: 0.6, activation: 0.02}
  rrf: {k: 20}
  recency: {half_life: 7}
  mode: keyword
  fusion: rrf
  keyword: fulltext
  min_score: 0.3
""",
    )
    assert config == HybridConfig(
        k1=1.2,
        b=0.5,
        idf="robertson",
        keyword="fulltext",
        mode=Mode.KEYWORD,
        fusion="rrf",
        stage1_top_k=50,
        bm25_weight=0.2,
        semantic_weight=0.7,
        activation_weight=0.1,
        hybrid_search_alpha=0.6,
        nudge=0.02,
        trust=Trust(0.2, 0.3),
        use=0.4,
        min_score=0.3,
        half_life=7.0,
        rrf_k=20,
    )


@pytest.mark.parametrize(
    ("stated", "weights"),
    [
        pytest.param("", (0.3, 0.4, 0.3), id="nothing"),
        pytest.param(
            "stage2_weights: {semantic: 0.7, activation: 0.3}", (0.0, 0.7, 0.3), id="both"
        ),
        pytest.param("stage2_weights: {semantic: 0.5}", (0.0, 0.5, 0.5), id="the-default"),
        pytest.param("weights: {bm25: 0.2, semantic: 0.5}", (0.2, 0.5, 0.3), id="all-three"),
    ],
)
def test_stage_2_has_words_only_where_its_weights_are_not_stated(
    tmp_path: Path, stated: str, weights: tuple[float, float, float]
) -> None:
    """FR-9 and FR-2.1: who states the weights of stage 2 wants keyword to choose, and no more."""
    config = config_of(tmp_path, f"search:\n  hybrid: {{{stated}}}\n")
    staged = config.make_fusion("staged")
    assert isinstance(staged, Staged)
    assert staged.weights == dict(zip(("bm25", "semantic", "activation"), weights, strict=True))


@pytest.mark.parametrize(
    ("stated", "embedder", "trust"),
    [
        ("", OWN, Trust(0.3, 0.75)),
        ("", "any/other", Trust(0.5, 0.75)),
        ("auto: {code: 0.1}", OWN, Trust(0.3, 0.1)),
        ("auto: {prose: 0.4}", "any/other", Trust(0.4, 0.75)),
    ],
)
def test_auto_trusts_a_model_as_it_is_worth_unless_it_is_stated(
    tmp_path: Path, stated: str, embedder: str, trust: Trust
) -> None:
    config = config_of(tmp_path, f"search: {{{stated}}}\n", embedder)
    assert (config.fusion, config.trust) == ("auto", trust)


@pytest.mark.parametrize(
    ("stated", "fusion"),
    [
        ("weighted: {semantic: 0.7}", "weighted"),
        ("weighted: {semantic: 0.7}, fusion: auto", "auto"),
        ("weighted: {activation: 0.1}", "auto"),
    ],
)
def test_who_states_the_share_of_meaning_means_the_fusion_that_has_it(
    tmp_path: Path, stated: str, fusion: str
) -> None:
    assert config_of(tmp_path, f"search: {{{stated}}}\n").fusion == fusion


def share_of_meaning(memory: Memory) -> float:
    """What a search gave it of the score. Contributions are scaled, all by the same number."""
    (result,) = memory.search("port", fusion="weighted").results
    weights = {part.signal: part.value / part.normalised for part in result.contributions}
    assert sum(part.value for part in result.contributions) == pytest.approx(result.score)
    return weights["semantic"] / (weights["semantic"] + weights["bm25"])


@pytest.mark.parametrize(
    ("stated", "provider", "share"),
    [
        ("", None, 0.24),
        ("", WordsProvider(), 0.7),
        ("semantic: 0.7, ", None, 0.7),
        ("semantic: 0.5, ", WordsProvider(), 0.5),
    ],
    ids=["own", "any-other", "own-but-stated", "stated"],
)
def test_meaning_has_the_share_that_its_model_is_worth_unless_it_is_stated(
    tmp_path: Path, stated: str, provider: WordsProvider | None, share: float
) -> None:
    home = write_tree(
        tmp_path / "home",
        {"config.yml": f"search:\n  weighted: {{{stated}activation: 0.0}}\n"},
    )
    root = write_tree(tmp_path / "code", {"app.py": "def serve(port):\n    listen(port)\n"})
    with Memory(Places(home, root), now=lambda: NOW, embedder=provider) as memory:
        memory.index(root, git=False)
        assert share_of_meaning(memory) == pytest.approx(share)


def test_the_share_goes_with_the_vectors_and_not_with_the_settings(memory: Memory) -> None:
    """Until the memory's vectors are those of the model that is chosen."""
    write_tree(memory.places.home, {"config.yml": "search:\n  weighted: {activation: 0.0}\n"})
    with Memory(memory.places, now=lambda: NOW, embedder=WordsProvider()) as other:
        assert share_of_meaning(other) == share_of_meaning(memory) == pytest.approx(0.24)
        assert other.admin.reembed().is_done
        assert share_of_meaning(other) == pytest.approx(0.7)


def test_unchanged_settings_keep_the_retriever(memory: Memory) -> None:
    first = memory.admin.retriever
    memory.search("port")
    assert memory.admin.retriever is first


def test_a_changed_file_gets_another_retriever_and_the_old_file_the_old_one(
    memory: Memory,
) -> None:
    first = memory.admin.retriever
    config = write_tree(memory.places.home, {"config.yml": "bm25_k1: 1.2\n"}) / "config.yml"
    second = memory.admin.retriever
    assert second is not first
    config.unlink()
    assert memory.admin.retriever is first


def test_a_setting_that_shapes_no_ranking_keeps_the_retriever(memory: Memory) -> None:
    first = memory.admin.retriever
    write_tree(memory.places.home, {"config.yml": "ui:\n  default_search_format: legacy\n"})
    assert memory.admin.retriever is first


def test_another_database_has_another_retriever(memory: Memory) -> None:
    first = memory.admin.retriever
    memory.close()
    memory.admin.path.unlink()
    memory.index(memory.places.project or Path(), git=False)
    assert memory.admin.retriever is not first
