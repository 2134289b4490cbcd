"""What is indexed of a chunk, the same in every index: its name, its labels and its content.

A name says more about a chunk than a line of its body, however long the body is: it counts a few
times, and again for every so many characters. docs/concepts/ranking.md has the measurements.
"""

from __future__ import annotations

from aurora.types import Chunk

RECIPE = 2  # grows when a chunk gives another text: indexes are then rebuilt
_NAME_TIMES, _NAME_EVERY = 3, 50


def name_times(chunk: Chunk) -> int:
    """How often the name counts."""
    return _NAME_TIMES + len(chunk.content) // _NAME_EVERY


def chunk_labels(chunk: Chunk) -> str:
    """What counts beside the content: the qualified name, the signature, the path."""
    signature = chunk.metadata.get("signature", "")
    return f"{chunk.qualified_name}\n{signature}\n{chunk.telling_path}"


def chunk_text(chunk: Chunk) -> str:
    """All of it as one text."""
    names = f"{chunk.name}\n" * name_times(chunk)
    return f"{names}{chunk_labels(chunk)}\n{chunk.content}"
