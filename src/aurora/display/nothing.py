"""What to say when nothing was found, and what to do about it."""

from __future__ import annotations

from aurora.types import SearchResults

_SUGGESTIONS = (
    "use fewer or other words: every word counts, none is required",
    "check that the files are indexed: aur mem stats",
    "read new files first: aur mem index .",
)


def render_nothing(answer: SearchResults) -> str:
    suggestions = list(_SUGGESTIONS)
    if answer.filtered:
        suggestions.insert(0, "ask for more: without a filter, or with a wider one")
    if answer.nearest:
        suggestions.insert(0, f"did you mean {', '.join(answer.nearest)}?")
    lines = "\n".join(f"  - {suggestion}" for suggestion in suggestions)
    return f"No relevant results found\n\nSuggestions:\n{lines}"
