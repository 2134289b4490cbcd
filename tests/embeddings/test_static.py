"""WordLlama, as the extra `static` has it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from aurora.embeddings.aurora.weights import read_safetensors
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.static import MODEL, StaticProvider
from aurora.errors import EmbeddingError
from tests.embeddings.test_pieces import FILE, Tokenizer
from tests.threads import together

WEIGHTS = FILE.parents[1] / "weights" / "l2_supercat_256.safetensors"


@pytest.fixture(scope="module")
def provider() -> StaticProvider:
    return StaticProvider(ProviderOptions())


def cosine(provider: StaticProvider, first: str, second: str) -> float:
    a, b = provider.embed_batch([first, second])
    return float(np.dot(a, b))


def test_it_is_what_it_says(provider: StaticProvider) -> None:
    assert (provider.name, provider.dimension) == ("static/wordllama-256", 256)
    (vector,) = provider.embed_batch(["def parse_config(path): ..."])
    assert len(vector) == 256
    assert math.isclose(np.linalg.norm(vector), 1.0, abs_tol=1e-6)


def test_what_means_the_same_is_nearer_than_what_does_not(provider: StaticProvider) -> None:
    for near, far in (
        (("delete a file", "remove the document"), ("delete a file", "boil an egg")),
        (("the car is fast", "a quick automobile"), ("the car is fast", "sum of two numbers")),
        (("open a database connection", "connect to the SQL server"),
         ("open a database connection", "the cat sleeps on the sofa")),
    ):  # fmt: skip
        assert cosine(provider, *near) > cosine(provider, *far) + 0.1


def test_a_vector_is_the_mean_of_the_tokens_that_the_library_finds(
    provider: StaticProvider,
) -> None:
    """By the tokenizers library and numpy alone, for words between single spaces."""
    (table,) = read_safetensors(WEIGHTS).values()
    tokenizer = Tokenizer.from_file(str(FILE))
    text = "how to parse a configuration file and keep its comments"
    rows = np.asarray(table)[tokenizer.encode(text, add_special_tokens=False).ids]
    mean = rows.astype(np.float32).mean(axis=0)
    assert np.dot(provider.embed_query(text), mean / np.linalg.norm(mean)) == pytest.approx(1.0)


def test_a_text_has_the_same_vector_whatever_is_beside_it(provider: StaticProvider) -> None:
    texts = ["parse the config", "用户认证", "", "x" * 5000, "parse  the\nconfig", "🙂 \0 \ud800"]
    beside = np.asarray(provider.embed_batch(texts))
    alone = np.asarray([provider.embed_batch([text])[0] for text in texts])
    assert np.abs(beside - alone).max() < 1e-6
    assert np.abs(beside[0] - beside[4]).max() < 1e-6  # white space means nothing
    assert not beside[2].any()  # and nothing has no direction
    assert np.isfinite(beside).all()


def test_no_text_gives_no_vector(provider: StaticProvider) -> None:
    assert len(provider.embed_batch([])) == 0


def test_many_threads_get_what_one_gets(provider: StaticProvider) -> None:
    texts = [f"question number {n} about files" for n in range(50)]
    one: Sequence[Sequence[float]] = provider.embed_batch(texts)
    fresh = StaticProvider(ProviderOptions())
    found = together(8, lambda: fresh.embed_batch(texts))
    assert len(found) == 8
    for vectors in found:
        assert np.array_equal(vectors, one)


def test_only_the_rows_that_are_needed_are_touched() -> None:
    """The table stays a map of the file: a question makes no copy of it."""
    provider = StaticProvider(ProviderOptions())
    provider.embed_query("where is the config")
    table = provider._table
    assert isinstance(table, np.memmap) or isinstance(table.base, np.memmap)
    assert not table.flags.owndata


def test_nothing_heavier_than_numpy_is_imported() -> None:
    code = """
import sys
from aurora.embeddings.registry import make_provider
from aurora.embeddings.base import ProviderOptions
provider = make_provider("static", ProviderOptions())
assert "numpy" not in sys.modules  # making it costs nothing
provider.embed_query("where is the config")
heavy = {"wordllama", "pydantic", "requests", "safetensors", "huggingface_hub", "torch",
         "onnxruntime", "transformers", "tokenizers", "httpx2"}
assert not heavy & {name.partition(".")[0] for name in sys.modules}, heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_there_is_one_model() -> None:
    assert StaticProvider(ProviderOptions(MODEL)).dimension == 256
    with pytest.raises(EmbeddingError, match="no model 'llama-70b'") as refused:
        StaticProvider(ProviderOptions("llama-70b"))
    assert MODEL in refused.value.hint


def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)  # as Python is told that there is none
    with pytest.raises(EmbeddingError, match=r"wordllama.*is not installed") as missing:
        StaticProvider(ProviderOptions()).embed_query("anything")
    assert "aurora-memory[static]" in missing.value.hint
