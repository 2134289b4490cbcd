"""A terminal for tests: a real pseudo-terminal, and what a person sees on it.

`Screen` understands exactly what we mean to write: text, line ends, a return to the start of the
line, erasing to its end, and colours. Anything else (a cursor that jumps or hides) is an error.
"""

from __future__ import annotations

import codecs
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len

if sys.platform != "win32":  # which has no such terminals
    import fcntl
    import pty
    import termios

_PIECE = re.compile(r"\r|\n|\033\[(?:0?K|[\d;]*m)|[^\r\n\033]")
_TIMEOUT = 60.0  # seconds; only a test that fails waits as long


class Screen:
    """Rows without an end at the bottom. A full row wraps; a wide letter has two cells."""

    def __init__(self, columns: int = 80) -> None:
        self.seen: list[str] = []  # the last row, whenever it was about to change
        self._columns = columns
        self._rows: list[list[str]] = [[]]
        self._at = 0  # the cursor's cell in the last row

    @property
    def rows(self) -> list[str]:
        return ["".join(row) for row in self._rows]

    def feed(self, text: str) -> None:
        text = text.replace("\r\n", "\n")  # what a terminal makes of a line end
        pieces = _PIECE.findall(text)
        assert "".join(pieces) == text, f"not understood: {_PIECE.sub('', text)!r}"
        for piece in pieces:
            self._take(piece)

    def _take(self, piece: str) -> None:
        if piece == "\r":
            self.seen.append(self.rows[-1])
            self._at = 0
        elif piece == "\n":
            self._rows.append([])
            self._at = 0
        elif piece.endswith("K") and piece.startswith("\033"):
            del self._rows[-1][self._at :]
        elif not piece.startswith("\033"):
            self._put(piece)

    def _put(self, letter: str) -> None:
        cells = [letter, ""][: cell_len(letter)]
        if self._at + len(cells) > self._columns:
            self._take("\n")
        self._rows[-1][self._at : self._at + len(cells)] = cells
        self._at += len(cells)


class Terminal:
    """A program on a pseudo-terminal of its own, which also is where its Ctrl-C comes from."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(columns)
        self._process = subprocess.Popen(
            argv, cwd=cwd, env={"PATH": os.environ["PATH"], "TERM": "xterm", **env},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )  # fmt: skip
        os.close(theirs)
        self.written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read(self, until: Callable[[str], bool] = lambda _: False) -> str:
        """Everything written so far, once it is as wanted; without a wish, up to the end."""
        while not until(self.written):
            try:
                part = os.read(self._ours, 65536)
            except OSError:  # Linux says EIO when the last writer is gone
                break
            if not part:
                break
            self.written += self._decoder.decode(part)  # a read may end within a letter
        return self.written

    def wait(self) -> int:
        """Read everything to the end; returns the exit status."""
        self.read()
        return self.close()

    def close(self) -> int:
        """Close the window, as it were; returns the exit status."""
        os.close(self._ours)
        return self._process.wait(_TIMEOUT)
