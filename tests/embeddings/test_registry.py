"""Providers by name: ours, and those of other packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
from aurora.embeddings.registry import OURS, make_provider, provider_names
from aurora.errors import ConfigError, EmbeddingError
from tests.builders import write_tree

LENGTHS = """
class LengthProvider:
    name, dimension, fingerprint, batch_size = "lengths/1", 2, "1", 8

    def __init__(self, options):
        self.options = options

    def embed_batch(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0, 0.0] if len(text) < 10 else [0.0, 1.0]

def needs_more(options):
    raise RuntimeError("there is no model " + options.model)

def hints(options):
    from aurora.errors import EmbeddingError
    raise EmbeddingError("No model", hint="get one")
"""

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package with one entry point, `NAME = MODULE:OBJECT`, as pip would."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)

    def install(line: str) -> None:
        write_tree(tmp_path, {
            "lengths_of_texts.py": LENGTHS,
            "broken_provider.py": "import a_package_that_nobody_has\n",
            "lengths-1.0.dist-info/METADATA": "Name: lengths\nVersion: 1.0\n",
            "lengths-1.0.dist-info/entry_points.txt": f"[aurora.embedding_providers]\n{line}\n",
        })  # fmt: skip

    yield install
    for name in set(sys.modules) - modules:
        if name in ("lengths_of_texts", "broken_provider"):
            del sys.modules[name]


def test_our_names_come_first_and_none_last() -> None:
    names = provider_names()
    assert names[:4] == ["aurora", "onnx", "sentence-transformers", "openai"]
    assert names[-1] == "none"


def test_only_what_stays_on_this_machine_counts_as_local() -> None:
    assert {name for name, kind in OURS.items() if kind.is_local} == {"aurora", "onnx"}


def test_a_name_gives_its_provider_with_the_options() -> None:
    made = make_provider("openai", ProviderOptions(model="m"))
    assert isinstance(made, OpenAIProvider)
    assert made.name == "openai/m"


@pytest.mark.parametrize("name", ["opnai", "", "OPENAI", "os:system", "none"])
def test_an_unknown_name_is_told_with_all_that_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no embedding provider {name!r}") as caught:
        make_provider(name, ProviderOptions())
    assert caught.value.hint == f"set `embedding.provider` to one of {', '.join(provider_names())}"


def test_an_installed_package_brings_a_provider(install: Install) -> None:
    install("lengths = lengths_of_texts:LengthProvider")
    assert provider_names()[-2:] == ["lengths", "none"]

    made = make_provider("lengths", ProviderOptions(model="m"))
    assert (made.name, made.dimension) == ("lengths/1", 2)
    assert made.embed_batch(["short", "rather a long one"]) == [[1.0, 0.0], [0.0, 1.0]]
    assert made.options.model == "m"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("lengths = broken_provider:make", "cannot be loaded: No module named 'a_package_that"),
        ("lengths = not_there_at_all:make", "cannot be loaded: No module named 'not_there_at_all'"),
        ("lengths = lengths_of_texts:missing", "cannot be loaded: .* has no attribute 'missing'"),
        ("lengths = lengths_of_texts:needs_more", "cannot be made: there is no model m"),
        ("lengths = lengths_of_texts:LENGTHS", "cannot be loaded: .* has no attribute 'LENGTHS'"),
        ("lengths = sys:maxsize", "cannot be made: 'int' object is not callable"),
    ],
)
def test_a_package_that_fails_is_named(install: Install, line: str, words: str) -> None:
    install(line)
    with pytest.raises(EmbeddingError, match=f"The embedding provider 'lengths'.* {words}"):
        make_provider("lengths", ProviderOptions(model="m"))


def test_an_error_of_a_package_keeps_its_hint(install: Install) -> None:
    install("lengths = lengths_of_texts:hints")
    with pytest.raises(EmbeddingError, match=r"^No model\n\nhint: get one$"):
        make_provider("lengths", ProviderOptions())


def test_a_package_cannot_take_one_of_our_names(install: Install) -> None:
    before = provider_names()
    install("openai = lengths_of_texts:LengthProvider\nnone = lengths_of_texts:LengthProvider")

    assert provider_names() == before
    assert isinstance(make_provider("openai", ProviderOptions()), OpenAIProvider)
    with pytest.raises(ConfigError):
        make_provider("none", ProviderOptions())
