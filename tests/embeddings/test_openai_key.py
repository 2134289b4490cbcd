"""The key of an endpoint goes to that endpoint, and is seen nowhere else."""

from __future__ import annotations

import copy
import logging
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
from aurora.endpoints import EMBEDDING, ApiKey, find_key, parse_address
from aurora.errors import EmbeddingError
from tests.builders import write_tree
from tests.embeddings.clock import Clock
from tests.embeddings.openai_server import (
    MODEL,
    EmbeddingServer,
    Mood,
    cuts_off,
    fails,
    is_fine,
    refuses_longer_than,
    says,
)

KEY = "sk-hunter2-4242"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def other() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def make(server: EmbeddingServer, key: str = KEY) -> OpenAIProvider:
    options = ProviderOptions(model=MODEL, endpoint=server.url, api_key=key)
    return OpenAIProvider(options, timing=Clock().timing)


def test_the_key_is_sent_to_its_endpoint(server: EmbeddingServer) -> None:
    make(server).embed_query("text")
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_follows_no_redirect(
    server: EmbeddingServer, other: EmbeddingServer, status: int
) -> None:
    server.mood = says(b"", status, Location=f"{other.url}/embeddings")
    with pytest.raises(EmbeddingError, match=rf"points elsewhere \({status}\)"):
        make(server).embed_batch(["text"])
    assert (len(server.seen), other.seen) == (1, [])


def test_the_key_goes_through_no_proxy_that_could_read_it(
    server: EmbeddingServer, other: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, other.url.removesuffix("/v1"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    make(server).embed_query("text")
    assert (len(server.seen), other.seen) == (1, [])


@pytest.mark.parametrize(
    "mood",
    [
        is_fine, fails(3), fails(99), fails(99, 401), fails(99, 403), fails(99, 404, code=KEY),
        fails(99, 418), cuts_off(1), cuts_off(99), says(KEY.encode()), refuses_longer_than(0),
        says(f'{{"error": {{"code": "{KEY}", "message": "{KEY}"}}}}'.encode()),
    ],
)  # fmt: skip
def test_the_key_is_in_no_log_error_or_repr(
    server: EmbeddingServer, caplog: pytest.LogCaptureFixture, mood: Mood
) -> None:
    server.mood = mood
    provider = make(server)
    shown = [repr(provider), repr(vars(provider))]
    with caplog.at_level(logging.DEBUG):
        try:
            provider.embed_batch(["text"])
        except EmbeddingError as exc:
            shown += [str(exc), repr(exc), "".join(traceback.format_exception(exc))]
    endpoint = provider._endpoint
    shown += [repr(vars(endpoint)), repr(vars(endpoint._client)), repr(endpoint._client.headers)]

    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert [record for record in caplog.records if record.name.startswith("httpcore2")]
    assert [record for record in caplog.records if record.levelno == logging.DEBUG]
    for text in (*shown, caplog.text):
        assert "hunter2" not in text


@pytest.mark.parametrize("mood", [says(b"", 500), says(b"", 401), cuts_off(99), says(b"no JSON")])
def test_the_key_is_in_no_variable_on_the_way_to_an_error(
    server: EmbeddingServer, mood: Mood
) -> None:
    """Some programs print the variables of every function that failed."""
    server.mood = mood
    provider = make(server)
    with pytest.raises(EmbeddingError) as caught:
        provider.embed_batch(["text"])
    below_this_test = caught.value.with_traceback(caught.tb.tb_next)
    told = traceback.TracebackException.from_exception(below_this_test, capture_locals=True)
    shown = "".join(told.format())

    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert "patience = Patience(" in shown  # variables are seen
    assert "hunter2" not in shown


def test_options_do_not_show_the_key() -> None:
    options = ProviderOptions(model="m", api_key=KEY)
    assert "hunter2" not in f"{options} {options!r}"
    assert "model='m'" in repr(options)


def test_a_key_shows_and_copies_itself_to_nobody() -> None:
    key = ApiKey(KEY)
    assert "hunter2" not in f"{key} {key!r} {[key]} {key:}"
    assert key.reveal() == KEY
    with pytest.raises(TypeError, match="not written anywhere"):
        copy.deepcopy(key)


@pytest.mark.parametrize(
    "key", [f"{KEY}\r\nX-Evil: 1", f"{KEY}\n", f" {KEY}", f"{KEY} x", f"{KEY}\0", f"{KEY}ü", "   "]
)
def test_a_key_that_would_break_the_header_is_refused(server: EmbeddingServer, key: str) -> None:
    with pytest.raises(EmbeddingError, match="that no key has") as caught:
        make(server, key)
    assert "hunter2" not in str(caught.value)
    assert server.seen == []


FAR = ["api.example.com", "8.8.8.8", "134744072", "0x08080808", "[2606:4700::1111]",
       "localhost.example.com", "10.0.0.1.example.com", "127.0.0.1.nip.io"]  # fmt: skip
NEAR = ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "[::1]", "10.1.2.3", "192.168.0.9",
        "172.16.0.1", "[fd00::1]", "ollama", "gpu-box.local", "vllm.internal"]  # fmt: skip


@pytest.mark.parametrize("host", FAR)
def test_the_key_is_not_sent_where_others_could_read_it(host: str) -> None:
    options = ProviderOptions(endpoint=f"http://{host}:8000/v1", api_key=KEY)
    with pytest.raises(EmbeddingError, match="others could read it on the way") as caught:
        OpenAIProvider(options)
    assert "https://" in caught.value.hint
    assert "hunter2" not in str(caught.value)
    OpenAIProvider(options._replace(endpoint=f"https://{host}/v1"))
    OpenAIProvider(options._replace(api_key=""))


@pytest.mark.parametrize("host", NEAR)
def test_the_key_may_go_to_this_machine_and_a_private_network(host: str) -> None:
    key = find_key(KEY, parse_address(f"http://{host}:8000/v1", EMBEDDING))
    assert key is not None
    assert key.reveal() == KEY


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of that name, whose `get_password` is a file's."""
    file = write_tree(tmp_path, {"keyring.py": ""}) / "keyring.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "keyring", raising=False)
    yield file
    sys.modules.pop("keyring", None)


def test_without_a_key_the_keyring_is_asked_with_the_first_text(
    server: EmbeddingServer, keyring: Path
) -> None:
    provider = make(server, "")
    assert provider.name == f"openai/{MODEL}"
    keyring.write_text(
        "def get_password(service, user):\n"
        f"    return {KEY!r} if (service, user) == ('aurora', '127.0.0.1') else None\n"
    )
    provider.embed_query("text")
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("answer", ["return None", "return ''", "raise RuntimeError('locked')"])
def test_a_keyring_without_the_key_leaves_it_out(
    server: EmbeddingServer, keyring: Path, answer: str
) -> None:
    keyring.write_text(f"def get_password(service, user):\n    {answer}\n")
    make(server, "").embed_query("text")
    assert "Authorization" not in server.seen[0].headers


def test_the_key_of_the_environment_comes_before_the_keyrings(
    server: EmbeddingServer, keyring: Path
) -> None:
    keyring.write_text("def get_password(service, user):\n    return 'the-other-key'\n")
    make(server).embed_query("text")
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_key_of_the_keyring_is_not_sent_where_others_could_read_it(keyring: Path) -> None:
    keyring.write_text("def get_password(service, user):\n    return 'the-other-key'\n")
    provider = OpenAIProvider(ProviderOptions(endpoint="http://example.com/v1"))
    with pytest.raises(EmbeddingError, match="others could read it on the way"):
        provider.embed_query("text")


@pytest.mark.parametrize(("key", "words"), [(KEY, "refuses the key"), ("", "wants a key")])
def test_a_refused_key_says_where_one_is_put(server: EmbeddingServer, key: str, words: str) -> None:
    server.mood = fails(99, 401, code="invalid_api_key")
    with pytest.raises(EmbeddingError, match=words) as caught:
        make(server, key).embed_query("text")
    assert "(401, invalid_api_key)" in caught.value.message
    assert "AURORA_EMBEDDING_API_KEY" in caught.value.hint
    assert "`keyring set aurora 127.0.0.1`" in caught.value.hint
