"""Colour and links, for terminals that have them; without, every text stays as it is.

Plain escape sequences: a library that knows more of terminals takes longer to import than a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aurora.types import Chunk

_RESET = "\033[0m"
_LINK = "\033]8;;{url}\033\\{text}\033]8;;\033\\"  # OSC 8


@dataclass(frozen=True, slots=True)
class Paint:
    """How to mark a text. `link` gives the address of the line that a chunk begins at."""

    colour: bool = False
    link: Callable[[Chunk, int], str] | None = None

    def head(self, text: str) -> str:
        return self.styled("1", text)

    def faint(self, text: str) -> str:
        return self.styled("2", text)

    def name(self, text: str) -> str:
        return self.styled("1;36", text)

    def match(self, text: str) -> str:
        return self.styled("1;31", text)  # as grep does

    def place(self, text: str, chunk: Chunk, line: int | None = None) -> str:
        """A text that leads to a line of a chunk's file, to its first one unless told."""
        if self.link is None or not chunk.path:
            return text
        first = chunk.lines.start if chunk.lines else 1
        return _LINK.format(url=self.link(chunk, line or first), text=text)

    def styled(self, code: str, text: str) -> str:
        """By the code of an SGR sequence."""
        return f"\033[{code}m{text}{_RESET}" if self.colour and text.strip() else text


PLAIN = Paint()
