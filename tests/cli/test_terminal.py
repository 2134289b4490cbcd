"""What a person at a terminal sees, through a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest
from rich.cells import cell_len

from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell


def on_terminal(shell: Shell, *words: str, columns: int = 80, typed: bytes = b"") -> str:
    """Everything `aur` writes to a terminal of that width, after what a person types there."""
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [AUR, *words], cwd=shell.cwd, stdin=theirs, stdout=theirs, stderr=theirs,
        env={"PATH": os.environ["PATH"], "AURORA_HOME": str(shell.home), "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says EIO when the last writer is gone
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 0
    return written.decode().replace("\r\n", "\n")


def test_progress_is_one_line_that_goes_away(shell: Shell) -> None:
    write_tree(shell.cwd, {f"m{n}.py": "def f():\n    pass\n" for n in range(150)})
    seen = on_terminal(shell, "mem", "index")
    assert "\r\033[KIndexing: 50 % of 154" in seen
    assert "\r\033[KWarning: No conversation logs found" in seen
    assert "100 %" not in seen


def test_progress_of_a_rebuild_goes_away_before_the_table(indexed: Shell) -> None:
    """FR-8.2: told every thousand chunks."""
    functions = "\n".join(f"def f{number}():\n    pass\n" for number in range(2493))
    write_tree(indexed.cwd, {"many.py": functions})
    indexed.ok("mem", "index")
    indexed.cwd.joinpath(".aurora/indexes/bm25.idx").unlink()
    seen = on_terminal(indexed, "mem", "search", "password", "--limit", "1")
    assert "\r\033[KBuilding BM25 index: 40 % of 2500" in seen
    assert "\r\033[KBuilding BM25 index: 80 % of 2500" in seen
    assert "\r\033[KFile" in seen


def test_no_progress_in_a_pipe(shell: Shell) -> None:
    done = shell.run("mem", "index")
    assert "\r" not in done.stderr + done.stdout
    assert "Indexing:" not in done.stderr


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_the_terminal(indexed: Shell, columns: int) -> None:
    deep = "/".join(["a_long_folder_name"] * 6)
    write_tree(indexed.cwd, {f"{deep}/用户管理.py": f"def {'password_' * 12}x():\n    pass\n"})
    indexed.ok("mem", "index")
    rows = on_terminal(indexed, "mem", "search", "password", columns=columns).splitlines()
    assert max(map(cell_len, rows)) <= columns
    separators = 6 if columns > 80 else 4
    assert all(row.count(" | ") == separators for row in rows if row and not row.startswith("-"))
    assert any("…" in row and "用户管理.py" in row for row in rows)


def test_a_document_is_typed_until_control_d(indexed: Shell) -> None:
    seen = on_terminal(indexed, "mem", "add", "-", typed=b"call the dentist\n\x04")
    assert "Reading the text from the terminal: end it with Ctrl-D" in seen
    assert "doc-call-the-dentist-" in seen
    assert "call the dentist" in indexed.ok("mem", "search", "dentist")
