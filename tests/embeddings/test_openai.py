"""The openai provider with a real model behind a real server: what it sends, what it gives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
from aurora.errors import EmbeddingError
from tests.embeddings import openai_server
from tests.embeddings.openai_server import DIMENSION, MODEL, EmbeddingServer, unit_vector
from tests.threads import together

TEXTS = [
    "def delete_user(name): remove the account",
    "how to bake bread with rye flour",
    "a function that erases accounts of people",
]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def make(server: EmbeddingServer, **options: str) -> OpenAIProvider:
    return OpenAIProvider(ProviderOptions(**{"model": MODEL, "endpoint": server.url, **options}))  # type: ignore[arg-type]


def test_texts_become_the_models_vectors_in_order_and_of_length_1(server: EmbeddingServer) -> None:
    vectors = make(server).embed_batch(TEXTS)

    np.testing.assert_allclose(vectors, [unit_vector(text) for text in TEXTS], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-12)
    code, bread, erase = np.asarray(vectors)
    assert code @ erase > code @ bread


def test_a_request_is_what_the_protocol_says(server: EmbeddingServer) -> None:
    make(server).embed_batch(["one", "two"])

    [seen] = server.seen
    assert seen.path == "/v1/embeddings"
    assert seen.body == {"model": MODEL, "input": ["one", "two"], "encoding_format": "float"}
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["User-Agent"].startswith("aurora")
    assert "Authorization" not in seen.headers


def test_an_endpoint_without_tls_reads_no_certificates(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would take ten times as long as the rest of a question."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("certificates were read")

    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", read)
    assert len(make(server).embed_batch(TEXTS)) == len(TEXTS)


def test_no_texts_are_no_request(server: EmbeddingServer) -> None:
    assert make(server).embed_batch([]) == []
    assert server.seen == []


@pytest.mark.parametrize("mood", [openai_server.answers_backwards, openai_server.answers_base64])
def test_vectors_go_to_their_texts_however_they_come(
    server: EmbeddingServer, mood: openai_server.Mood
) -> None:
    server.mood = mood
    vectors = make(server).embed_batch(TEXTS)
    np.testing.assert_allclose(vectors, [unit_vector(text) for text in TEXTS], atol=1e-6)


def test_vectors_without_numbers_come_in_order(server: EmbeddingServer) -> None:
    def without_numbers(answer: dict[str, list[dict[str, object]]]) -> None:
        for item in answer["data"]:
            del item["index"]

    server.mood = openai_server.changed(without_numbers)
    vectors = make(server).embed_batch(TEXTS)
    np.testing.assert_allclose(vectors, [unit_vector(text) for text in TEXTS], atol=1e-12)


def test_questions_and_texts_get_their_prefixes(server: EmbeddingServer) -> None:
    provider = make(server, query_prefix="query: ", document_prefix="passage: ")
    provider.embed_batch(["text"])
    vector = provider.embed_query("text")

    assert server.batches == [["passage: text"], ["query: text"]]
    np.testing.assert_allclose(vector, unit_vector("query: text"), atol=1e-12)


def test_the_dimension_is_learnt_from_the_first_answer(server: EmbeddingServer) -> None:
    provider = make(server)
    provider.embed_query("anything")
    assert provider.dimension == DIMENSION
    assert len(server.seen) == 1


def test_the_dimension_can_be_asked_first_and_is_asked_once(server: EmbeddingServer) -> None:
    provider = make(server)
    assert (provider.dimension, provider.dimension) == (DIMENSION, DIMENSION)
    assert [len(batch) for batch in server.batches] == [1]


def test_name_and_fingerprint_need_no_server() -> None:
    nowhere = ProviderOptions(model="m", endpoint="http://127.0.0.1:9/v1")
    assert OpenAIProvider(nowhere).name == "openai/m"
    assert OpenAIProvider(ProviderOptions()).name == "openai/text-embedding-3-small"

    def fingerprint(**options: str) -> str:
        return OpenAIProvider(nowhere._replace(**options)).fingerprint  # type: ignore[arg-type]

    assert fingerprint() == fingerprint(endpoint="http://localhost:1/v1", api_key="k")
    different = [{}, {"model": "n"}, {"query_prefix": "x"}, {"document_prefix": "x"}]
    assert len({fingerprint(**options) for options in different}) == len(different)


@pytest.mark.parametrize("ending", ["/", "//", "/embeddings", "/embeddings/"])
def test_an_endpoint_may_be_written_in_many_ways(server: EmbeddingServer, ending: str) -> None:
    make(server, endpoint=server.url + ending).embed_query("text")
    assert server.seen[0].path == "/v1/embeddings"


@pytest.mark.parametrize(
    "endpoint",
    ["localhost:11434", "ftp://host/v1", "http://", "http://host:port", "http://a b/", "http://[::1",
     "http://host/\nX: y", "file:///etc/passwd"],
)  # fmt: skip
def test_what_is_no_address_is_told_before_anything_is_sent(endpoint: str) -> None:
    with pytest.raises(EmbeddingError, match="is not the address of an endpoint"):
        OpenAIProvider(ProviderOptions(endpoint=endpoint))


@pytest.mark.parametrize("ending", ["/v1?key=hunter2", "/v1#hunter2"])
def test_an_address_holds_no_secrets(ending: str) -> None:
    for endpoint in ("https://host" + ending, "https://me:hunter2@host/v1"):
        with pytest.raises(EmbeddingError, match="the one at host has more") as caught:
            OpenAIProvider(ProviderOptions(endpoint=endpoint))
        assert "hunter2" not in str(caught.value)


def test_many_texts_go_in_batches_and_stay_in_order(server: EmbeddingServer) -> None:
    texts = [f"text number {number}" for number in range(150)]
    vectors = make(server).embed_batch(texts)

    assert [len(batch) for batch in server.batches] == [64, 64, 22]
    np.testing.assert_allclose(vectors, [unit_vector(text) for text in texts], atol=1e-12)


def test_a_request_has_at_most_200_000_characters(server: EmbeddingServer) -> None:
    lengths = [90_000, 90_000, 30_000, 250_000, 10, 200_000, 1]
    make(server).embed_batch([("word " * length)[:length] for length in lengths])

    sizes = [[len(text) for text in batch] for batch in server.batches]
    assert sizes == [[90_000, 90_000], [30_000], [250_000], [10], [200_000], [1]]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_longer_than_the_window_is_the_mean_of_its_halves(
    server: EmbeddingServer, status: int
) -> None:
    server.mood = openai_server.refuses_longer_than(500, status)
    long = ("the quick brown fox jumps over the lazy dog. " * 40)[:1301]
    vectors = make(server).embed_batch(["short", long, "also short"])

    parts = [long[:325], long[325:650], long[650:975], long[975:]]
    mean = sum(len(part) * unit_vector(part) for part in parts)
    expected = [unit_vector("short"), mean / np.linalg.norm(mean), unit_vector("also short")]
    np.testing.assert_allclose(vectors, expected, atol=1e-12)


def test_a_long_question_is_halved_with_its_prefix(server: EmbeddingServer) -> None:
    server.mood = openai_server.refuses_longer_than(303)
    make(server, query_prefix="Q: ").embed_query("a" * 300 + "b" * 300)
    assert server.batches[1:] == [["Q: " + "a" * 300], ["Q: " + "b" * 300]]


def test_a_server_that_refuses_everything_is_not_asked_for_every_character(
    server: EmbeddingServer,
) -> None:
    server.mood = openai_server.refuses_longer_than(0)
    with pytest.raises(EmbeddingError, match=r"refuses what pieces-256 should embed \(400\)"):
        make(server).embed_batch(["secret plan " * 100] * 64)

    sizes = [len(batch[0]) for batch in server.batches]
    assert sizes == [1200] * 7 + [600, 300, 150]  # 64 texts, 32, …, 1; then its halves


@pytest.mark.parametrize(
    "text",
    ["", "\0", "a\0b", "half \ud83d of a pair", "\udc00\ud800", "😀 日本語 \u202e", "\x1b[31m\r\n",
     '"quoted" \\u0000'],
)  # fmt: skip
def test_any_text_can_be_sent(server: EmbeddingServer, text: str) -> None:
    vectors = make(server).embed_batch(["before", text, "after"])

    [[_, received, _]] = server.batches
    assert received == (re.sub("[\ud800-\udfff]", "\ufffd", text) or " ")
    np.testing.assert_allclose(vectors[1], unit_vector(received), atol=1e-12)


def test_threads_share_one_provider(server: EmbeddingServer) -> None:
    provider = make(server)
    batches = iter([[f"{word} {number}" for number in range(70)] for word in "abcdefgh"])

    def work() -> tuple[list[str], list[list[float]], int]:
        texts = next(batches)
        return texts, provider.embed_batch(texts), provider.dimension

    got = together(8, work)
    assert len(got) == 8
    for texts, vectors, dimension in got:
        assert dimension == DIMENSION
        np.testing.assert_allclose(vectors, [unit_vector(text) for text in texts], atol=1e-12)


def test_a_provider_that_was_closed_opens_again(server: EmbeddingServer) -> None:
    provider = make(server)
    first = provider.embed_query("text")
    provider.close()
    provider.close()
    assert provider.embed_query("text") == first


def test_a_process_that_used_it_ends_without_a_word(server: EmbeddingServer) -> None:
    script = f"""
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
kept = OpenAIProvider(ProviderOptions(model={MODEL!r}, endpoint={server.url!r}))
assert len(kept.embed_query("text")) == {DIMENSION}
"""
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    script = """
import json, sys
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
provider = OpenAIProvider(ProviderOptions(api_key="k"))
provider.name, provider.fingerprint, provider.batch_size
print(json.dumps([name for name in ("numpy", "httpx2", "keyring", "ssl") if name in sys.modules]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert json.loads(ran.stdout) == []


def test_a_missing_package_is_named_with_how_to_get_it(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "aurora.endpoint_client", raising=False)
    with pytest.raises(EmbeddingError, match="needs the package httpx2") as caught:
        make(server).embed_query("text")
    assert caught.value.hint == "pip install 'aurora-memory[openai]'"


def test_the_official_client_understands_the_server(server: EmbeddingServer) -> None:
    """An oracle: what the tests talk with is what the protocol means."""
    openai = pytest.importorskip("openai", reason="the official client is not installed")
    with openai.OpenAI(base_url=server.url, api_key="none") as client:
        answer = client.embeddings.create(model=MODEL, input=TEXTS)
    vectors = [item.embedding for item in answer.data]
    ours = make(server).embed_batch(TEXTS)
    for theirs, mine in zip(vectors, ours, strict=True):
        assert np.asarray(theirs) @ np.asarray(mine) / np.linalg.norm(theirs) > 0.999999
