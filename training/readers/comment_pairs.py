"""Pairs from comments inside code: a comment on its own lines → the lines below it."""

import re
import textwrap
from collections.abc import Iterator

from training.corpus import Pair
from training.readers.texts import clean_comment, is_telling, lot, make_pair

LONGEST_BLOCK = 16  # lines of code below a comment
CODE_SIGNS = re.compile(r"[;{}=<>]|\(\)|^\s*(if|for|return|import|def|var|const|let)\b.*[:;({]")


def inner_comments(text: str, source: str, *, sign: str) -> Iterator[Pair]:
    """`sign` begins a comment that goes to the end of the line."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        if not lines[place].lstrip().startswith(sign):
            place += 1
            continue
        comment, place = _take_comment(lines, place, sign)
        if comment is None:
            continue
        block = _take_block(lines, place, sign)
        said = clean_comment(comment)
        if (
            len(block) >= 2
            and is_telling(said, 4)
            and not CODE_SIGNS.search(said)
            and lot(said) < 0.5
        ):
            pair = make_pair(said, textwrap.dedent("\n".join(block)), kind="code", source=source)
            if pair is not None:
                yield pair


def _take_comment(lines: list[str], place: int, sign: str) -> tuple[str | None, int]:
    """The comment that begins at `place`, if one does, and the place after it."""
    indent = _indent(lines[place])
    if not indent or not lines[place].lstrip().startswith(f"{sign} "):
        return None, place + 1  # comments at the margin are headings and licences
    said = []
    while (
        place < len(lines)
        and lines[place].lstrip().startswith(sign)
        and _indent(lines[place]) == indent
    ):
        said.append(lines[place].strip().lstrip("/#*! "))
        place += 1
    return " ".join(said), place


def _take_block(lines: list[str], place: int, sign: str) -> list[str]:
    """Code until an empty line, a comment at the same depth, or the end of the outer block."""
    if place >= len(lines) or not lines[place].strip():
        return []
    indent = _indent(lines[place])
    block = []
    for line in lines[place : place + LONGEST_BLOCK]:
        ended = not line.strip() or _indent(line) < indent
        if ended or (_indent(line) == indent and line.lstrip().startswith(sign)):
            break
        block.append(line)
    return block


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
