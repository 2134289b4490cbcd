"""Text in cells of a terminal: a wide letter takes two, an accent none."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

__all__ = ["cell_len", "keep_end", "keep_start", "pad", "wrap"]


def pad(text: str, width: int) -> str:
    """A text that fits, followed by spaces."""
    return text + " " * max(width - cell_len(text), 0)


def keep_start(text: str, width: int) -> str:
    """A text of at most so many cells; what is cut off at its end is told by `…`."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def keep_end(text: str, width: int) -> str:
    """As `keep_start`, for what matters at its end: the file's name of a path is there."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many cells, broken between words; a longer word is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(keep_start(word, width))
    return lines or [""]
