"""MiniLM run by onnxruntime: what its vectors promise, with the real model."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.embeddings.onnx.encoder import Encoder
from aurora.embeddings.onnx.installed import GRAPH, MANIFEST, TOKENIZER
from aurora.embeddings.onnx.provider import OnnxProvider
from aurora.embeddings.registry import make_provider
from aurora.errors import EmbeddingError
from tests.embeddings.models import MINILM, make_manifest, minilm_files
from tests.embeddings.reference import Reference
from tests.threads import together

TEXTS = [
    "How do I renew my passport?",
    "def read(path: Path) -> str:\n    return path.read_text(encoding='utf-8')",
    "The meeting was moved to Thursday because the room is taken on Wednesday.",
    "SELECT id, name FROM users WHERE deleted_at IS NULL ORDER BY name",
    "fatal: unable to access 'https://example.org/x.git/': Could not resolve host",
    "für Elise; 東京都; Привет; ¿qué tal?; 👩‍👩‍👧 🎉",
    "a",
    "",
    "nul \0 and bell \a and half a pair \ud83d",
    "word " * 200,
    "The tide comes in twice a day. " * 120,  # longer than the window
    Path(__file__).read_text(encoding="utf-8")[:3000],
]


def cosine(one: list[float], other: list[float]) -> float:
    return float(np.dot(one, other))


def test_it_is_a_provider_that_the_registry_makes(models: Path) -> None:
    provider: EmbeddingProvider = make_provider("onnx", ProviderOptions(models=models))
    assert (provider.name, provider.dimension) == (f"onnx/{MINILM}", 384)
    assert provider.batch_size > 0


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_text_has_a_vector_of_length_one(minilm: OnnxProvider, text: str) -> None:
    vector = minilm.embed_query(text)
    assert len(vector) == 384
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_eight_bits_say_what_thirty_two_say(minilm: OnnxProvider, models: Path) -> None:
    reference = Reference(minilm_files() / "model.safetensors", heads=12)
    encoder = Encoder(models / MINILM)
    short = [text for text in TEXTS if len(encoder.tokens(text)) == 1]
    wanted = [reference.vector(encoder.tokens(text)[0].ids) for text in short]
    cosines = np.sum(np.array(minilm.embed_batch(short)) * np.array(wanted), axis=1)
    assert len(short) > 8
    assert cosines.min() > 0.98
    assert cosines.mean() > 0.99


def test_a_vector_does_not_depend_on_its_neighbours(minilm: OnnxProvider) -> None:
    alone = [minilm.embed_batch([text])[0] for text in TEXTS]
    assert minilm.embed_batch(TEXTS) == alone
    places = random.Random(7).sample(range(len(TEXTS)), len(TEXTS))  # noqa: S311
    assert minilm.embed_batch([TEXTS[place] for place in places]) == [alone[p] for p in places]


def test_many_threads_get_the_same_from_one_that_is_opened_meanwhile(models: Path) -> None:
    provider = OnnxProvider(ProviderOptions(models=models))
    once = OnnxProvider(ProviderOptions(models=models)).embed_batch(TEXTS[:5])
    assert together(4, lambda: provider.embed_batch(TEXTS[:5])) == [once] * 4


def test_the_number_of_cores_changes_nothing(models: Path) -> None:
    def rows(threads: int) -> list[list[list[float]]]:
        encoder = Encoder(models / MINILM, threads=threads)
        windows = [window for text in TEXTS[:6] for window in encoder.tokens(text)]
        return [each.tolist() for each in encoder.each(lambda w: encoder.hidden(w.ids), windows)]

    assert rows(1) == rows(3)


def test_what_means_the_same_is_closer_than_what_does_not(minilm: OnnxProvider) -> None:
    pairs = [
        ("How do I renew my passport?", "Steps to get a new passport before the old one expires"),
        ("delete a file in python", "def remove(path):\n    os.unlink(path)"),
        ("The cat sleeps on the sofa", "A kitten is napping on the couch"),
    ]
    asked = np.array([minilm.embed_query(question) for question, _ in pairs])
    found = np.array(minilm.embed_batch([answer for _, answer in pairs]))
    cosines = asked @ found.T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert (np.diag(cosines) > cosines.mean() + 0.2).all()


def test_no_texts_give_no_vectors(minilm: OnnxProvider) -> None:
    assert minilm.embed_batch([]) == []


def test_the_end_of_a_long_text_counts(minilm: OnnxProvider) -> None:
    long = "The tide comes in twice a day. " * 60
    plain, other = minilm.embed_batch([long, long + "Bake the bread at 220 degrees. " * 60])
    assert cosine(plain, other) < 0.95
    question = minilm.embed_query("at which temperature is bread baked?")
    assert cosine(question, other) > cosine(question, plain) + 0.1


def test_tokens_have_vectors_of_their_own(minilm: OnnxProvider) -> None:
    """Without those around a text, and for all of a long one."""
    rows = minilm.token_vectors("remove the file")
    assert rows.shape == (3, 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert minilm.token_vectors("file " * 1000).shape == (1000, 384)
    assert minilm.token_vectors("").shape == (0, 384)


def change(models: Path, tmp_path: Path, **manifest: str) -> ProviderOptions:
    """A model of one's own, to be changed."""
    shutil.copytree(models / MINILM, tmp_path / MINILM)
    make_manifest(tmp_path / MINILM, **manifest)
    return ProviderOptions(models=tmp_path)


def test_prefixes_go_before_questions_and_before_what_is_found(
    models: Path, tmp_path: Path, minilm: OnnxProvider
) -> None:
    options = change(models, tmp_path, query_prefix="query: ", document_prefix="passage: ")
    provider = OnnxProvider(options)
    assert provider.embed_query("a tree") == minilm.embed_query("query: a tree")
    assert provider.embed_batch(["a tree"]) == minilm.embed_batch(["passage: a tree"])
    assert provider.token_vectors("a tree").shape == (2, 384)
    asked = provider.token_vectors("a tree", is_query=True)
    assert asked.tolist() == minilm.token_vectors("query: a tree")[2:].tolist()


def test_every_window_of_a_long_text_has_the_prefix_and_fits(models: Path, tmp_path: Path) -> None:
    change(models, tmp_path, document_prefix="passage: ")
    encoder = Encoder(tmp_path / MINILM)
    windows = encoder.tokens("one two three " * 500, "passage: ")
    head = encoder.tokens("", "passage: ")[0].ids[:-1]
    assert len(windows) == 6
    assert all(list(window.ids[: len(head)]) == list(head) for window in windows)
    assert all(len(window.ids) <= 256 for window in windows)
    assert sum(window.stop - window.start for window in windows) == 1500


def test_the_first_token_can_stand_for_the_text(models: Path, tmp_path: Path) -> None:
    options = change(models, tmp_path, pooling="cls")
    encoder = Encoder(models / MINILM)
    first = encoder.hidden(encoder.tokens("a tree")[0].ids)[0]
    wanted = first / np.linalg.norm(first)
    assert OnnxProvider(options).embed_query("a tree") == pytest.approx(wanted.tolist(), abs=1e-6)


def test_the_fingerprint_tells_what_would_give_other_vectors(
    models: Path, tmp_path: Path, minilm: OnnxProvider
) -> None:
    same = OnnxProvider(ProviderOptions(models=models, model=MINILM))
    assert same.fingerprint == minilm.fingerprint
    others = {
        OnnxProvider(change(models, tmp_path / str(n), **said)).fingerprint
        for n, said in enumerate([{"pooling": "cls"}, {"query_prefix": "query: "}])
    }
    others.add(OnnxProvider(ProviderOptions(models=models, document_prefix="x")).fingerprint)
    assert len(others | {minilm.fingerprint}) == 4


def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        OnnxProvider(ProviderOptions(models=tmp_path))
    assert f"{MINILM} is not installed" in caught.value.message
    assert f"aur models pull {MINILM}" in caught.value.hint


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_package_that_is_not_there_says_how_to_get_it(
    models: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr(
        "aurora.embeddings.onnx.packages.find_spec", lambda name: None if name == package else name
    )
    with pytest.raises(EmbeddingError, match=f"{package} is not installed") as caught:
        OnnxProvider(ProviderOptions(models=models))
    assert "pip install 'aurora-memory[onnx]'" in caught.value.hint


@pytest.mark.parametrize("file", [GRAPH, TOKENIZER])
@pytest.mark.parametrize("fault", ["missing", "cut off", "one bit"])
def test_a_damaged_file_is_named(models: Path, tmp_path: Path, file: str, fault: str) -> None:
    options = change(models, tmp_path)
    path = tmp_path / MINILM / file
    content = bytearray(path.read_bytes())
    path.unlink()
    if fault == "cut off":
        path.write_bytes(content[:-100])
    elif fault == "one bit":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(EmbeddingError, match=file) as caught:
        OnnxProvider(options).embed_query("a tree")
    assert f"aur models pull {MINILM}" in caught.value.hint


@pytest.mark.parametrize("file", [GRAPH, TOKENIZER])
def test_a_file_that_is_something_else_is_named(models: Path, tmp_path: Path, file: str) -> None:
    """Also when the manifest says that this is what was installed."""
    options = change(models, tmp_path)
    (tmp_path / MINILM / file).write_text("<html>Not found</html>", encoding="utf-8")
    make_manifest(tmp_path / MINILM)
    with pytest.raises(EmbeddingError, match=file):
        OnnxProvider(options).embed_query("a tree")


def test_a_manifest_that_wants_the_unknown_is_refused(models: Path, tmp_path: Path) -> None:
    options = change(models, tmp_path, pooling="median")
    with pytest.raises(EmbeddingError, match="'median'"):
        OnnxProvider(options)
    (tmp_path / MINILM / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(EmbeddingError, match="cannot be read"):
        OnnxProvider(options)
