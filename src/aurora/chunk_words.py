"""What is indexed of a chunk, the same in every index: its name, its labels and its content.

A name says more about a chunk than a line of its body, however long the body is: it counts a few
times, and again for every so many characters. So does what its author says of it, beside how it is
done. docs/concepts/ranking.md has the measurements.
"""

from __future__ import annotations

import re

from aurora.types import Chunk

RECIPE = 4  # grows when a chunk gives another text: indexes are then rebuilt
SUMMARY_TIMES = 2  # beside once in the content
_NAME_TIMES, _NAME_EVERY = 3, 50
_BEGINNING, _LONG = 120, 200  # characters: of a shorter text all is the beginning
_SUMMARY = 600  # characters of a summary; what comes later is detail
# A docstring in the first lines, or the comment that a definition begins with. What is possessive
# is never tried anew: a text of stars or spaces alone would take the square of its length.
_DOCSTRING = re.compile(r'[^\n]*(?:\n[^\n]*){0,12}?"""(.*?)"""', re.DOTALL)
_COMMENT = re.compile(
    r"\s*+(?:/\*++(?:(?<=\*\*)/|(.*?)\*/)|((?:[ \t]*+(?://++!?|#++|--)[^\n]*+\n)+))", re.DOTALL
)


def name_times(chunk: Chunk) -> int:
    """How often the name counts, beside where it stands in the content."""
    return 0 if _is_untitled(chunk) else _NAME_TIMES + len(chunk.content) // _NAME_EVERY


def chunk_labels(chunk: Chunk) -> str:
    """What counts beside the content: the qualified name, the signature, the path.

    A text without a title mostly says at once what it is about: so how it begins stands for one.
    """
    name = _beginning(chunk.content) if _is_untitled(chunk) else chunk.qualified_name
    return f"{name}\n{chunk.metadata.get('signature', '')}\n{chunk.telling_path}"


def _is_untitled(chunk: Chunk) -> bool:
    """Whether its name is only to show it by, and not a title or a file's: it says nothing more."""
    has_own = bool(chunk.qualified_name or chunk.path)
    return chunk.kind.is_prose and (not has_own or chunk.content.startswith(chunk.name))


def _beginning(text: str) -> str:
    return text.lstrip()[:_BEGINNING].partition("\n")[0] if len(text) >= _LONG else ""


def chunk_summary(chunk: Chunk) -> str:
    """What the author of code says that it does: its docstring, or the comment above it."""
    if chunk.kind.is_prose:
        return ""
    found = _DOCSTRING.match(chunk.content) or _COMMENT.match(chunk.content)
    return next(filter(None, found.groups()), "")[:_SUMMARY] if found else ""


def chunk_text(chunk: Chunk) -> str:
    """All of it as one text."""
    names = f"{chunk.name}\n" * name_times(chunk)
    summaries = f"\n{chunk_summary(chunk)}" * SUMMARY_TIMES
    return f"{names}{chunk_labels(chunk)}\n{chunk.content}{summaries}"
