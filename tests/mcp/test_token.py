"""The token that is made for a user: whole or not there, the same for all, and theirs alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from aurora.errors import ConfigError
from aurora.mcp.http import own_token
from tests.full_disk import files_no_longer_than

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, modes and forks")

GOOD = "a-token-that-is-long-enough-0123456789"
TOGETHER = """
import os, sys
from pathlib import Path
from aurora.mcp.http import own_token

for number in range(60):
    file = Path(sys.argv[1]) / str(number) / "home" / "mcp-token"
    begin, go = os.pipe()
    children = []
    for _ in range(6):
        if not (child := os.fork()):
            os.close(go)
            os.read(begin, 1)
            token = own_token(file)
            (file.parent.parent / f"seen-{os.getpid()}").write_text(token)
            os._exit(0)
        children.append(child)
    os.close(begin), os.close(go)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    assert len({each.read_text() for each in file.parent.parent.glob("seen-*")}) == 1
    assert [each.name for each in file.parent.iterdir()] == ["mcp-token"]
"""


def test_first_starts_at_once_agree_on_one_token(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", TOGETHER, tmp_path], check=True)


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "is empty"), (" \n", "is empty"), ("short\n", "is too short"), ("a b" * 20, "too short")],
)
def test_a_file_without_a_token_is_refused_with_the_next_step(
    tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "mcp-token"
    file.write_text(content)
    file.chmod(0o600)

    with pytest.raises(ConfigError, match=told) as refused:
        own_token(file)
    assert refused.value.hint == "delete it: the next start makes a new one"

    file.unlink()
    assert len(own_token(file)) > 40


def test_a_full_disk_leaves_no_file_behind(tmp_path: Path) -> None:
    file = tmp_path / "home" / "mcp-token"
    with files_no_longer_than(10), pytest.raises(ConfigError, match="cannot be kept"):
        own_token(file)
    assert list(file.parent.iterdir()) == []

    assert own_token(file) == file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    file = tmp_path / "mcp-token"
    file.symlink_to(other)
    for _ in range(2):  # to nothing, and to a file with a token
        with pytest.raises(ConfigError, match="cannot be kept"):
            own_token(file)
        assert file.is_symlink()
        other.write_text(GOOD)
    assert other.read_text() == GOOD


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "mcp-token"
    os.mkfifo(pipe, 0o600)

    with pytest.raises(ConfigError, match="it is not a file"):
        own_token(pipe)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o666])
def test_a_token_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "mcp-token"
    file.write_text(GOOD)
    file.chmod(mode)

    with pytest.raises(ConfigError, match="other users may read or write it"):
        own_token(file)
    file.chmod(0o600)
    assert own_token(file) == GOOD
