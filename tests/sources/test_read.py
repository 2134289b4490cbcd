"""The text of a file, or why it has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aurora.sources.reading import Skipped
from aurora.sources.walk import is_binary, read_text
from tests.builders import write_tree

ALWAYS_UNREADABLE = Path("/proc/self/mem")  # even for root, who may read a file of mode 000


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param("é 走 🐍\n".encode(), "é 走 🐍\n", id="utf-8"),
        pytest.param(b"\xef\xbb\xbfx = 1\n", "x = 1\n", id="byte-order-mark"),
        pytest.param(b"a\r\nb\rc\x0c\n", "a\r\nb\rc\x0c\n", id="line-ends-stay"),
        pytest.param(b"x" * 9000 + b"\0", "x" * 9000 + "\0", id="late-zero-byte"),
    ],
)
def test_text_is_read_as_it_is(tmp_path: Path, content: bytes, text: str) -> None:
    write_tree(tmp_path, {"a.txt": content})

    assert read_text(tmp_path / "a.txt") == text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"\x7fELF\x02\0\0\0", "binary", id="program"),
        pytest.param(b"%PDF-1.4\n%\xe2\xe3\n1 0 obj", "binary", id="pdf"),
        pytest.param(b"x" * 8191 + b"\0", "binary", id="zero-byte-in-the-first-8-KiB"),
        pytest.param("text".encode("utf-16"), "binary", id="utf-16"),
        pytest.param("é".encode("latin-1"), "not UTF-8", id="latin-1"),
        pytest.param("文字".encode("shift-jis"), "not UTF-8", id="shift-jis"),
        pytest.param(b"x" * 9000 + b"\xff", "not UTF-8", id="late-bad-byte"),
        pytest.param("é".encode()[:1], "not UTF-8", id="cut-in-a-character"),
        pytest.param(b"\xed\xa0\x80", "not UTF-8", id="half-a-surrogate"),
    ],
)
def test_what_is_not_text_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    write_tree(tmp_path, {"a.txt": content})

    assert read_text(tmp_path / "a.txt") == Skipped(tmp_path / "a.txt", reason)


def test_a_file_that_is_gone_or_a_folder_is_unreadable(tmp_path: Path) -> None:
    gone = tmp_path / "gone.py"

    assert read_text(gone) == Skipped(gone, "unreadable: No such file or directory")
    assert read_text(tmp_path) == Skipped(tmp_path, "unreadable: Is a directory")


@pytest.mark.skipif(not ALWAYS_UNREADABLE.exists(), reason="Linux only")
def test_a_file_that_cannot_be_read_says_why() -> None:
    assert read_text(ALWAYS_UNREADABLE) == Skipped(
        ALWAYS_UNREADABLE, "unreadable: Input/output error"
    )


def test_a_link_that_took_a_files_place_is_not_followed(tmp_path: Path) -> None:
    """Between the look at a file and its reading, somebody may have put a link there."""
    (tmp_path / "outside").write_text("secret")
    path = tmp_path / "a.py"
    path.symlink_to(tmp_path / "outside")

    found = read_text(path)

    assert isinstance(found, Skipped)
    assert found.is_unreadable
    assert not is_binary(path)


def test_a_pipe_that_took_a_files_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    assert read_text(tmp_path / "a.py") == ""
