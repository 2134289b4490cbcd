"""Who embeds: the settings choose, a memory keeps to its own, and a stranger's file has no say."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.config.schema import EmbeddingSettings
from aurora.embeddings.aurora import provider
from aurora.embeddings.aurora.provider import WEIGHTS, AuroraProvider
from aurora.embeddings.openai import OpenAIProvider
from aurora.embeddings.registry import share_of
from aurora.endpoints import EMBEDDING
from aurora.engine.embedders import Embedders
from aurora.errors import ConfigError, EmbedderMismatchError, EmbeddingError
from aurora.indexing import embedding
from aurora.stores.base import Embedder
from aurora.types import Event, Note
from tests.builders import NOW, write_tree
from tests.embedders import WordsProvider

REMOVED = Embedder("static/wordllama-256", 256, "l2_supercat-1")
OWN = Embedder("aurora/deep", 256, f"{WEIGHTS}-2")
QUICK = Embedder("aurora/shallow", 256, f"{WEIGHTS}-1")


def embedders(environ: Mapping[str, str] | None = None, **settings: str) -> Embedders:
    chosen = EmbeddingSettings(**settings)
    return Embedders(chosen, models=Path("none"), environ=environ or {})


def test_the_default_is_our_own_model() -> None:
    chosen = embedders().chosen()
    assert isinstance(chosen, AuroraProvider)
    assert embedders().of(OWN).name == chosen.name == "aurora/deep"


def test_a_provider_is_made_once() -> None:
    some = embedders()
    assert some.chosen() is some.chosen()


def test_another_process_can_make_the_same_provider() -> None:
    some = embedders(model="deep")
    make = some.recipe_of(some.chosen())
    assert make is not None
    again = pickle.loads(pickle.dumps(make))()  # noqa: S301 - as between our own processes
    assert (again.name, again.fingerprint) == (OWN.name, OWN.fingerprint)
    assert again is not some.chosen()


def test_what_asks_an_endpoint_or_was_brought_along_is_not_made_elsewhere() -> None:
    remote = embedders({"OPENAI_API_KEY": "sk-secret"}, provider="openai", model="m")
    assert remote.recipe_of(remote.chosen()) is None
    own = Embedders(EmbeddingSettings(), models=Path("none"), environ={}, given=WordsProvider())
    assert own.recipe_of(own.chosen()) is None


def test_a_memory_is_followed_to_a_model_that_is_here() -> None:
    assert isinstance(embedders(provider="openai").of(OWN), AuroraProvider)


def test_a_memory_of_a_removed_provider_says_what_to_do() -> None:
    with pytest.raises(EmbedderMismatchError, match="vectors of static/wordllama-256") as refused:
        embedders().of(REMOVED)
    assert refused.value.hint == "make its vectors again with `aur mem reembed`"


def test_a_removed_provider_in_the_settings_says_what_to_do() -> None:
    some = embedders(provider="static")
    for ask in (some.chosen, lambda: some.of(REMOVED)):
        with pytest.raises(ConfigError, match=r"'static' \(WordLlama\) was removed") as wrong:
            ask()
        assert "unset `embedding.provider`" in wrong.value.hint
        assert "aur mem reembed" in wrong.value.hint


@pytest.mark.parametrize("name", ["openai/big", "sentence-transformers/../../x", "evil", "evil/x"])
def test_a_memory_is_not_followed_elsewhere(name: str) -> None:
    with pytest.raises(EmbedderMismatchError, match="and the embedder chosen is aurora") as refused:
        embedders().of(Embedder(name, 3, "1"))
    assert "aur mem reembed" in refused.value.hint


def test_a_name_in_a_memory_never_leads_out_of_the_models() -> None:
    with pytest.raises(EmbeddingError, match="is not the name of a model"):
        embedders().of(Embedder("onnx/../../etc", 3, "1"))


def test_none_is_none() -> None:
    off = embedders(provider="none")
    assert off.are_off
    for ask in (off.chosen, lambda: off.of(OWN)):
        with pytest.raises(EmbeddingError, match=r"`embedding\.provider` is none"):
            ask()


def test_a_provider_that_is_not_there_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigError, match="no embedding provider 'statik'") as wrong:
        embedders(provider="statik").chosen()
    assert "aurora, onnx, sentence-transformers, openai" in wrong.value.hint


@pytest.mark.parametrize(
    ("endpoint", "environ", "sent"),
    [
        ("", {"OPENAI_API_KEY": "theirs"}, "theirs"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "theirs"}, "theirs"),
        ("http://localhost:11434/v1", {"OPENAI_API_KEY": "theirs"}, ""),
        ("https://api.openai.com.evil.example/v1", {"OPENAI_API_KEY": "theirs"}, ""),
        (
            "http://localhost:11434/v1",
            {"OPENAI_API_KEY": "theirs", EMBEDDING.variable: "ours"},
            "ours",
        ),
        ("", {"OPENAI_API_KEY": "theirs", EMBEDDING.variable: "ours"}, "ours"),
    ],
)
def test_a_key_for_openai_goes_to_openai_alone(
    endpoint: str, environ: dict[str, str], sent: str
) -> None:
    some = embedders(environ, provider="openai", endpoint=endpoint)
    assert some._options("openai", "").api_key == sent
    assert isinstance(some.chosen(), OpenAIProvider)
    assert some._options("aurora", "").api_key == ""  # who is not chosen gets nothing


def test_what_meaning_weighs_is_the_models_unless_it_is_set(tmp_path: Path) -> None:
    own, minilm = share_of("aurora/deep"), share_of("onnx/all-minilm-l6-v2")
    assert own < minilm < share_of("onnx/multilingual-e5-small") == share_of("") == 0.7
    root = write_tree(tmp_path / "project", {"a.py": "def f(): pass\n"})
    places = Places(tmp_path / "home", root)
    with Memory(places, now=lambda: NOW) as memory:
        memory.index(root)
        assert memory.admin.retriever._config.hybrid_search_alpha == own
    files = SettingsFiles(places, {"AURORA_SEARCH_WEIGHTED_SEMANTIC": "0.6"})
    with Memory(places, files, now=lambda: NOW) as memory:
        assert memory.admin.retriever._config.hybrid_search_alpha == 0.6


def test_a_program_may_bring_its_own_and_take_a_memory_over(tmp_path: Path) -> None:
    """With the real model before, and searches that go on by it until then."""
    root = write_tree(tmp_path / "project", {"auth.py": "def authenticate(): pass\n"})
    places = Places(tmp_path / "home", root)
    with Memory(places, now=lambda: NOW) as memory:
        memory.index(root)
    heard: list[Event] = []
    own = WordsProvider(dimension=64)
    with Memory(places, now=lambda: NOW, embedder=own, listen=heard.append) as memory:
        assert memory.admin.vectors_of() == OWN
        answer = memory.search("login", mode="semantic")
        assert ("semantic" in answer.signals, own.questions) == (True, [])
        assert memory.admin.reembed().is_done
        assert memory.search("login", mode="semantic").results[0].chunk.name == "authenticate"
        assert own.questions == ["login"]
        assert memory.admin.vectors_of() == Embedder("words", 64, "1")
    assert [event for event in heard if isinstance(event, Note) and event.warning] == []


def test_what_is_added_or_learned_is_found_by_meaning_at_once(tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home", None), now=lambda: NOW) as memory:
        memory.add("The automobile was repaired in the garage.")
        learned = memory.learn("verify credentials first")
        assert memory.stats().embedded == 2
        assert memory.search("car", mode="semantic").results[0].content.startswith("The automobile")
        memory.learn("verify credentials first")
        assert memory.get(learned.id).id == learned.id


def test_where_no_vector_can_be_made_a_document_is_kept_and_that_is_said(tmp_path: Path) -> None:
    heard: list[Event] = []
    files = SettingsFiles(
        places := Places(tmp_path / "home", None), {"AURORA_EMBEDDING_PROVIDER": "onnx"}
    )
    with Memory(places, files, now=lambda: NOW, listen=heard.append) as memory:
        memory.add("The automobile was repaired.")
        assert memory.search("automobile").results
    told = [event.text for event in heard if isinstance(event, Note) and event.warning]
    assert told[0].startswith(
        "The model all-minilm-l6-v2 is not installed: get it with `aur models"
    )


class Broken(WordsProvider):
    """One that cannot even tell its name."""

    @property  # type: ignore[misc]
    def name(self) -> str:
        raise RuntimeError("no licence")

    @name.setter
    def name(self, value: str) -> None: ...


def test_a_provider_that_cannot_tell_its_name_costs_no_index(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "project", {"a.py": "def sharpen(): pass\n"})
    told = "The embedding provider failed: RuntimeError('no licence')"
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW, embedder=Broken()) as memory:
        assert told in memory.index(root).warnings
        assert memory.search("sharpen").results
        with pytest.raises(EmbeddingError, match="no licence"):
            memory.admin.reembed()


class Project(NamedTuple):
    places: Places
    root: Path


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with more chunks than a first index lets the better model embed."""
    monkeypatch.setattr(embedding, "QUICK_FROM", 3)
    files = {f"m{at}.py": f"def authenticate_{at}(): pass\n" for at in range(4)}
    root = write_tree(tmp_path / "project", files)
    return Project(Places(tmp_path / "home", root), root)


def test_a_large_first_index_is_quick_and_its_better_vectors_follow(many: Project) -> None:
    heard: list[Event] = []
    with Memory(many.places, now=lambda: NOW, listen=heard.append) as memory:
        report = memory.index(many.root)
        assert (report.embedded.made, memory.admin.vectors_of()) == (4, OWN)
        assert not memory.index(many.root).embedded.wanted
    notes = [event.text for event in heard if isinstance(event, Note)]
    assert sum("better vectors of aurora/deep follow" in text for text in notes) == 1


def test_a_quick_index_leaves_better_vectors_to_the_next_one(many: Project) -> None:
    with Memory(many.places, now=lambda: NOW) as memory:
        memory.index(many.root, quick=True)
        assert memory.admin.vectors_of() == QUICK
        assert len(memory.search("login", mode="semantic").results) == 4
        memory.index(many.root)
        assert memory.admin.vectors_of() == OWN


def test_vectors_of_an_earlier_version_are_made_again(
    many: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setitem(provider._RECIPES, provider.DEEP, 0)
        with Memory(many.places, now=lambda: NOW) as memory:
            memory.index(many.root)
            assert memory.admin.vectors_of() == OWN._replace(fingerprint=f"{WEIGHTS}-0")
    write_tree(many.root, {"new.py": "def log_out(): pass\n"})
    heard: list[Event] = []
    with Memory(many.places, now=lambda: NOW, listen=heard.append) as memory:
        memory.index(many.root, quick=True)
        assert memory.admin.is_improvable
        assert memory.admin.improve().made == 5
        assert (memory.admin.vectors_of(), memory.stats().embedded) == (OWN, 5)
        assert not memory.admin.is_improvable
    assert not [event for event in heard if isinstance(event, Note) and event.warning]


def test_killed_before_the_better_vectors_all_is_found_and_the_next_index_goes_on(
    many: Project,
) -> None:
    heard: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, Note) and "better vectors" in event.text:
            raise KeyboardInterrupt

    with Memory(many.places, now=lambda: NOW, listen=stop) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.index(many.root)
        assert memory.admin.vectors_of() == QUICK
        assert len(memory.search("login", mode="semantic").results) == 4
    write_tree(many.root, {"new.py": "def log_out(): pass\n"})
    with Memory(many.places, now=lambda: NOW, listen=heard.append) as memory:
        assert memory.index(many.root).embedded.made == 1
        assert (memory.admin.vectors_of(), memory.stats().embedded) == (OWN, 5)
    assert not [event for event in heard if isinstance(event, Note) and event.warning]


@pytest.mark.parametrize("model", ["deep", "shallow"])
def test_a_model_that_is_named_embeds_from_the_beginning(many: Project, model: str) -> None:
    files = SettingsFiles(many.places, {"AURORA_EMBEDDING_MODEL": model})
    heard: list[Event] = []
    with Memory(many.places, files, now=lambda: NOW, listen=heard.append) as memory:
        memory.index(many.root)
        assert memory.admin.vectors_of() == {"deep": OWN, "shallow": QUICK}[model]
    assert not [event for event in heard if isinstance(event, Note) and "better" in event.text]
