"""The text of one document that a person named, or why it cannot be had."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.sources.reading import MAX_DOCUMENT_BYTES, read_document, read_stream
from tests.builders import write_tree

ALWAYS_UNREADABLE = Path("/proc/self/mem")  # even for root, who may read a file of mode 000


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(SourceError) as caught:
        read_document(path)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param("é 走 🐍\n".encode(), "é 走 🐍\n", id="utf-8"),
        pytest.param(b"\xef\xbb\xbfHi\r\n", "Hi\r\n", id="byte-order-mark"),
        pytest.param(b"// @generated\n", "// @generated\n", id="generated"),
    ],
)
def test_text_is_read_as_it_is(tmp_path: Path, content: bytes, text: str) -> None:
    """Generated files too: what was named is wanted."""
    write_tree(tmp_path, {"package-lock.json": content})
    assert read_document(tmp_path / "package-lock.json") == text


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        pytest.param(b"\x7fELF\x02\0\0\0", "is binary", "pdftotext", id="program"),
        pytest.param(b"x" * 9000 + b"\0", "is binary", "only text", id="late-zero-byte"),
        pytest.param(b"%PDF-1.4\n%\xe2\xe3\n1 0 obj", "is binary", "pdftotext FILE", id="pdf"),
        pytest.param(b"PK\x03\x04\x14word/x.xml", "is binary", "pandoc -t markdown", id="office"),
        pytest.param("text".encode("utf-16"), "is not UTF-8", "iconv", id="utf-16"),
        pytest.param("é".encode("latin-1"), "is not UTF-8", "iconv", id="latin-1"),
        pytest.param(b"x" * 9000 + b"\xff", "is not UTF-8", "iconv", id="late-bad-byte"),
    ],
)
def test_what_is_not_text_says_why(tmp_path: Path, content: bytes, message: str, hint: str) -> None:
    path = write_tree(tmp_path, {"a.txt": content}) / "a.txt"
    said, step = refusal(path)
    assert (said, hint in step) == (f"{path} {message}", True)


@pytest.mark.parametrize("name", ["nothing.md", "a.md/below"])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {"a.md": "text"})
    message, hint = refusal(tmp_path / name)
    assert str(tmp_path / name) in message
    assert hint


def test_a_folder_is_for_the_index(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        f"{tmp_path} is a folder", f"`aur mem index {tmp_path}` reads all the files in it",
    )  # fmt: skip


def test_a_pipe_by_its_name_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    message, hint = refusal(tmp_path / "pipe")
    assert message == f"{tmp_path}/pipe is not a regular file"
    assert hint == f"pipe it: aur mem add - < {tmp_path}/pipe"


def test_a_secret_is_not_taken_by_accident(tmp_path: Path) -> None:
    """Nor through a link with a harmless name."""
    write_tree(tmp_path, {".env": "TOKEN=1", "id_rsa": "-----", ".env.example": "TOKEN="})
    (tmp_path / "notes.md").symlink_to(".env")
    for name in (".env", "id_rsa", "notes.md"):
        message, hint = refusal(tmp_path / name)
        assert message == f"{tmp_path / name} looks like a secret"
        assert hint.endswith(f"aur mem add - < {tmp_path / name}")
    assert read_document(tmp_path / ".env.example") == "TOKEN="


def test_links_that_lead_round_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "cannot be read" in refusal(tmp_path / "a")[0]


@pytest.mark.skipif(not ALWAYS_UNREADABLE.exists(), reason="Linux only")
def test_a_file_that_cannot_be_read_says_why() -> None:
    assert refusal(ALWAYS_UNREADABLE)[0] == "/proc/self/mem cannot be read: Input/output error"


def test_a_file_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(MAX_DOCUMENT_BYTES + 1)  # a hole: it takes no room on the disk
    assert refusal(tmp_path / "big.txt")[0] == f"{tmp_path}/big.txt is larger than 256 MiB"


class Endless(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size > 0, "would never end"
        return b"y" * size


def test_a_stream_that_never_ends_is_left_after_a_while() -> None:
    with pytest.raises(SourceError, match="Standard input is larger than 256 MiB"):
        read_stream(Endless(), "Standard input")
