"""A model run by onnxruntime: what its vectors promise."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.aurora.weights import WINDOW
from aurora.embeddings.base import EmbeddingProvider, ProviderOptions
from aurora.embeddings.compute import map_threads, products_overflow
from aurora.embeddings.model_folders import GRAPH, MANIFEST, TOKENIZER
from aurora.embeddings.onnx import DEFAULT_MODEL, Encoder, OnnxProvider
from aurora.embeddings.registry import make_provider
from aurora.errors import EmbeddingError
from tests.embeddings.models import DIMENSION, make_manifest
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
    assert (provider.name, provider.dimension) == (f"onnx/{DEFAULT_MODEL}", DIMENSION)
    assert provider.batch_size > 0


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_text_has_a_vector_of_length_one(onnx_provider: OnnxProvider, text: str) -> None:
    vector = onnx_provider.embed_query(text)
    assert len(vector) == DIMENSION
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_a_vector_does_not_depend_on_its_neighbours(onnx_provider: OnnxProvider) -> None:
    alone = [onnx_provider.embed_batch([text])[0] for text in TEXTS]
    assert onnx_provider.embed_batch(TEXTS) == alone
    places = random.Random(7).sample(range(len(TEXTS)), len(TEXTS))  # noqa: S311
    assert onnx_provider.embed_batch([TEXTS[place] for place in places]) == [
        alone[p] for p in places
    ]


def test_many_threads_get_the_same_from_one_that_is_opened_meanwhile(models: Path) -> None:
    provider = OnnxProvider(ProviderOptions(models=models))
    once = OnnxProvider(ProviderOptions(models=models)).embed_batch(TEXTS[:5])
    assert together(4, lambda: provider.embed_batch(TEXTS[:5])) == [once] * 4


def test_the_number_of_cores_changes_nothing(models: Path) -> None:
    def rows(threads: int) -> list[list[list[float]]]:
        encoder = Encoder(models / DEFAULT_MODEL)
        windows = [window for text in TEXTS[:6] for window in encoder.split(text)]
        return map_threads(lambda w: encoder.run(w.ids).tolist(), windows, threads)

    assert rows(1) == rows(3)


def test_what_means_the_same_is_closer_than_what_does_not(onnx_provider: OnnxProvider) -> None:
    pairs = [
        ("How do I renew my passport?", "Steps to get a new passport before the old one expires"),
        ("delete a file in python", "def remove(path):\n    os.unlink(path)"),
        ("The cat sleeps on the sofa", "A kitten is napping on the couch"),
    ]
    asked = np.array([onnx_provider.embed_query(question) for question, _ in pairs])
    found = np.array(onnx_provider.embed_batch([answer for _, answer in pairs]))
    cosines = asked @ found.T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert (np.diag(cosines) > cosines.mean() + 0.1).all()


def test_no_texts_give_no_vectors(onnx_provider: OnnxProvider) -> None:
    assert onnx_provider.embed_batch([]) == []


def test_the_end_of_a_long_text_counts(onnx_provider: OnnxProvider) -> None:
    long = "The tide comes in twice a day. " * 60
    plain, other = onnx_provider.embed_batch([long, long + "Bake the bread at 220 degrees. " * 60])
    assert cosine(plain, other) < 0.95
    question = onnx_provider.embed_query("at which temperature is bread baked?")
    assert cosine(question, other) > cosine(question, plain) + 0.1


def test_tokens_have_vectors_of_their_own(onnx_provider: OnnxProvider) -> None:
    """Without those around a text, and for all of a long one."""
    rows = onnx_provider.token_vectors("remove the file")
    assert rows.shape == (3, DIMENSION)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert onnx_provider.token_vectors("file " * 1000).shape == (1000, DIMENSION)
    assert onnx_provider.token_vectors("").shape == (0, DIMENSION)


def change(models: Path, tmp_path: Path, **manifest: str) -> ProviderOptions:
    """A model of one's own, to be changed."""
    shutil.copytree(models / DEFAULT_MODEL, tmp_path / DEFAULT_MODEL)
    make_manifest(tmp_path / DEFAULT_MODEL, **manifest)
    return ProviderOptions(models=tmp_path)


def test_prefixes_go_before_questions_and_before_what_is_found(
    models: Path, tmp_path: Path, onnx_provider: OnnxProvider
) -> None:
    options = change(models, tmp_path, query_prefix="query: ", document_prefix="passage: ")
    provider = OnnxProvider(options)
    assert provider.embed_query("a tree") == onnx_provider.embed_query("query: a tree")
    assert provider.embed_batch(["a tree"]) == onnx_provider.embed_batch(["passage: a tree"])
    assert provider.token_vectors("a tree").shape == (2, DIMENSION)
    asked = provider.token_vectors("a tree", is_query=True)
    assert asked.tolist() == onnx_provider.token_vectors("query: a tree")[2:].tolist()


def test_every_window_of_a_long_text_has_the_prefix_and_fits(models: Path, tmp_path: Path) -> None:
    change(models, tmp_path, document_prefix="passage: ")
    encoder = Encoder(tmp_path / DEFAULT_MODEL)
    windows = encoder.split("one two three " * 500, "passage: ")
    head = encoder.split("", "passage: ")[0].ids[:-1]
    assert len(windows) == 13
    assert all(list(window.ids[: len(head)]) == list(head) for window in windows)
    assert all(len(window.ids) <= WINDOW for window in windows)
    assert sum(window.stop - window.start for window in windows) == 1500


def test_the_first_token_can_stand_for_the_text(models: Path, tmp_path: Path) -> None:
    options = change(models, tmp_path, pooling="cls")
    encoder = Encoder(models / DEFAULT_MODEL)
    first = encoder.run(encoder.split("a tree")[0].ids)[0]
    wanted = first / np.linalg.norm(first)
    assert OnnxProvider(options).embed_query("a tree") == pytest.approx(wanted.tolist(), abs=1e-6)


def test_the_fingerprint_tells_what_would_give_other_vectors(
    models: Path, tmp_path: Path, onnx_provider: OnnxProvider
) -> None:
    same = OnnxProvider(ProviderOptions(models=models, model=DEFAULT_MODEL))
    assert same.fingerprint == onnx_provider.fingerprint
    others = {
        OnnxProvider(change(models, tmp_path / str(n), **said)).fingerprint
        for n, said in enumerate([{"pooling": "cls"}, {"query_prefix": "query: "}])
    }
    others.add(OnnxProvider(ProviderOptions(models=models, document_prefix="x")).fingerprint)
    assert len(others | {onnx_provider.fingerprint}) == 4


def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError) as caught:
        OnnxProvider(ProviderOptions(models=tmp_path))
    assert f"{DEFAULT_MODEL} is not installed" in caught.value.message
    assert f"aur models pull {DEFAULT_MODEL}" in caught.value.hint


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_package_that_is_not_there_says_how_to_get_it(
    models: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr(
        "aurora.embeddings.onnx.find_spec", lambda name: None if name == package else name
    )
    with pytest.raises(EmbeddingError, match=f"{package} is not installed") as caught:
        OnnxProvider(ProviderOptions(models=models))
    assert "pip install 'aurora-memory[onnx]'" in caught.value.hint


@pytest.mark.parametrize("file", [GRAPH, TOKENIZER])
@pytest.mark.parametrize("fault", ["missing", "cut off", "one bit"])
def test_a_damaged_file_is_named(models: Path, tmp_path: Path, file: str, fault: str) -> None:
    options = change(models, tmp_path)
    path = tmp_path / DEFAULT_MODEL / file
    content = bytearray(path.read_bytes())
    path.unlink()
    if fault == "cut off":
        path.write_bytes(content[:-100])
    elif fault == "one bit":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(EmbeddingError, match=file) as caught:
        OnnxProvider(options).embed_query("a tree")
    assert f"aur models pull {DEFAULT_MODEL}" in caught.value.hint


@pytest.mark.parametrize("file", [GRAPH, TOKENIZER])
def test_a_file_that_is_something_else_is_named(models: Path, tmp_path: Path, file: str) -> None:
    """Also when the manifest says that this is what was installed."""
    options = change(models, tmp_path)
    (tmp_path / DEFAULT_MODEL / file).write_text("<html>Not found</html>", encoding="utf-8")
    make_manifest(tmp_path / DEFAULT_MODEL)
    with pytest.raises(EmbeddingError, match=file):
        OnnxProvider(options).embed_query("a tree")


def test_a_manifest_that_wants_the_unknown_is_refused(models: Path, tmp_path: Path) -> None:
    options = change(models, tmp_path, pooling="median")
    with pytest.raises(EmbeddingError, match="'median'"):
        OnnxProvider(options)
    (tmp_path / DEFAULT_MODEL / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(EmbeddingError, match="cannot be read"):
        OnnxProvider(options)


def test_onnxruntime_reports_to_nobody(models: Path, tmp_path: Path) -> None:
    """Where it does, it begins with a file that numbers the session."""
    (scratch := tmp_path / "scratch").mkdir()
    code = (
        "import sys; from pathlib import Path\n"
        "from aurora.embeddings.onnx import open_session\n"
        "open_session(Path(sys.argv[1]))"
    )
    environ = {name: os.environ[name] for name in os.environ if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run(
        [sys.executable, "-c", code, models / DEFAULT_MODEL / GRAPH],
        env={**environ, "TMPDIR": str(scratch)},
        check=True,
    )
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("machine", "flags", "overflow"),
    [
        ("aarch64", None, False),
        ("arm64", None, False),
        ("x86_64", "flags : fpu avx2 fma", True),
        ("x86_64", "flags : avx2 avx512bw", True),
        ("x86_64", "flags : avx2 avx512_vnni", False),
        ("x86_64", "flags : avx2 avx_vnni", False),
        ("AMD64", None, True),
    ],
)
def test_only_old_intel_processors_need_the_slow_products(
    tmp_path: Path, machine: str, flags: str | None, overflow: bool
) -> None:
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(flags, encoding="utf-8")
    assert products_overflow(machine, tmp_path / "cpuinfo") is overflow
