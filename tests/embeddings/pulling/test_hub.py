"""Files of a hub, over real HTTP: what is cut off, changed, silent or elsewhere is not taken."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from aurora.embeddings.hub import HubModel
from aurora.errors import EmbeddingError
from aurora.types import Event, Note, Progress
from tests.embeddings.pulling.hub import Answer, LocalHub, running_hub

BODY = b"weights" * 300_000
DIGEST = sha256(BODY).hexdigest()
REPOSITORY, FILE = "owner/Model-v1.5", "model.onnx"
PATH = f"/{REPOSITORY}/resolve/main/{FILE}"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with running_hub() as running:
        yield running


def model(hub: LocalHub, **fields: object) -> HubModel:
    return HubModel(REPOSITORY, endpoint=hub.address, **fields)  # type: ignore[arg-type]


def test_a_file_comes_with_progress_and_without_credentials(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[PATH] = Answer(BODY, headers={"ETag": f'"{DIGEST}"'})
    heard: list[Event] = []

    assert model(hub).get(FILE, tmp_path / FILE, listen=heard.append)

    assert (tmp_path / FILE).read_bytes() == BODY
    assert heard[-1] == Progress("Downloading model.onnx (MB)", 2, 2)
    (_, headers), = hub.asked  # fmt: skip
    assert not {"authorization", "cookie"} & {name.lower() for name in headers}


def test_another_revision_is_asked_for_by_its_name(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[f"/{REPOSITORY}/resolve/refs%2Fpr%2F1/{FILE}"] = Answer(BODY)
    assert model(hub, revision="refs/pr/1").get(FILE, tmp_path / FILE)


def test_a_file_that_is_not_there_is_no_error(hub: LocalHub, tmp_path: Path) -> None:
    assert not model(hub).get(FILE, tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("header", ["X-Linked-ETag", "ETag"])
def test_what_has_another_digest_than_the_hub_tells_is_refused(
    hub: LocalHub, tmp_path: Path, header: str
) -> None:
    hub.answers[PATH] = Answer(BODY, headers={header: f'"{"a" * 64}"'})
    with pytest.raises(EmbeddingError, match="has the sha256"):
        model(hub).get(FILE, tmp_path / FILE)


def test_the_digest_of_a_large_file_is_told_where_it_leads_elsewhere(
    hub: LocalHub, tmp_path: Path
) -> None:
    """Where it lies may tell another one: the hub itself is believed."""
    elsewhere = {"Location": f"{hub.address}/elsewhere?key=secret", "X-Linked-ETag": f'"{DIGEST}"'}
    hub.answers[PATH] = Answer(status=302, headers=elsewhere)
    hub.answers["/elsewhere?key=secret"] = Answer(BODY, headers={"ETag": f'"{"b" * 64}"'})
    assert model(hub).get(FILE, tmp_path / FILE)

    hub.answers["/elsewhere?key=secret"] = Answer(BODY[1:], headers={"ETag": f'"{"b" * 64}"'})
    with pytest.raises(EmbeddingError, match=f"not {DIGEST}") as caught:
        model(hub).get(FILE, tmp_path / FILE)
    assert "secret" not in str(caught.value)


def test_an_address_with_a_key_in_it_is_never_told(hub: LocalHub, tmp_path: Path) -> None:
    for answer in (Answer(status=403), Answer(BODY, length=-1, headers={"Content-Length": "many"})):
        hub.answers[PATH] = Answer(
            status=302, headers={"Location": f"{hub.address}/elsewhere?key=secret"}
        )
        hub.answers["/elsewhere?key=secret"] = answer
        with pytest.raises(EmbeddingError) as caught:
            model(hub).get(FILE, tmp_path / FILE)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/x", "file:///etc/hostname"])
def test_a_redirect_leads_to_no_other_protocol(hub: LocalHub, tmp_path: Path, address: str) -> None:
    hub.answers[PATH] = Answer(status=302, headers={"Location": address})
    with pytest.raises(EmbeddingError):
        model(hub).get(FILE, tmp_path / FILE)


def test_weights_without_any_digest_are_taken_with_a_warning(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[PATH] = Answer(BODY, headers={"ETag": '"5f36b2ea290645ee34d943220a14b54ee5ea5be5"'})
    heard: list[Event] = []
    model(hub).get(FILE, tmp_path / FILE, listen=heard.append)
    assert heard[-1] == Note(
        "The hub declares no digest of model.onnx: it is used without a check", warning=True
    )


def test_a_file_that_is_cut_off_is_refused(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[PATH] = Answer(BODY, length=len(BODY) + 1)
    with pytest.raises(EmbeddingError, match="was cut off after 2,100,000 of 2,100,001 bytes"):
        model(hub).get(FILE, tmp_path / FILE)


def test_a_hub_that_goes_silent_is_given_up(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[PATH] = Answer(BODY, silent=True)
    with pytest.raises(EmbeddingError, match="the hub went silent"):
        model(hub, silence=0.2).get(FILE, tmp_path / FILE)


@pytest.mark.parametrize("said", [True, False], ids=["as it says", "without saying so"])
def test_a_file_that_is_too_large_is_stopped(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, said: bool
) -> None:
    monkeypatch.setattr("aurora.embeddings.hub.MOST_WEIGHTS", 1_000_000)
    hub.answers[PATH] = Answer(BODY, length=None if said else -1)
    with pytest.raises(EmbeddingError, match="too large" if said else "more than 1 MB"):
        model(hub).get(FILE, tmp_path / FILE)


def test_a_refusal_is_told_with_its_number_and_another_way(hub: LocalHub, tmp_path: Path) -> None:
    hub.answers[PATH] = Answer(status=401)
    with pytest.raises(EmbeddingError, match=r"answers model\.onnx with 401") as caught:
        model(hub).get(FILE, tmp_path / FILE)
    assert caught.value.hint == "download the files by hand, then give their folder with --from"


def test_a_hub_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EmbeddingError, match="was not downloaded: Connection refused"):
        HubModel(REPOSITORY, endpoint=address).get(FILE, tmp_path / FILE)


@pytest.mark.parametrize(
    "repository", ["model", "../../x", "a/../b", "a/b/c", "a/b?c", "a b/c", "/a", "a/.."]
)
def test_only_an_owner_and_a_name_are_a_repository(repository: str) -> None:
    with pytest.raises(EmbeddingError, match="is not a model of a hub"):
        HubModel(repository)


@pytest.mark.parametrize("revision", ["", "../x", "a/../b", "a?b", "/a"])
def test_a_revision_leads_nowhere_else(revision: str) -> None:
    with pytest.raises(EmbeddingError, match="is not a model of a hub"):
        HubModel("owner/name", revision)


@pytest.mark.parametrize(
    "endpoint", ["https://me:secret@hub.example", "file:///etc", "hub.example", "https://"]
)
def test_an_address_that_is_none_is_refused_and_not_repeated(endpoint: str) -> None:
    with pytest.raises(EmbeddingError, match="HF_ENDPOINT is not the address") as caught:
        HubModel("owner/name", endpoint=endpoint)
    assert "secret" not in str(caught.value)
