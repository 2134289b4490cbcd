"""The parameters of tools: type, bounds and the description that agents read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

LONGEST_QUERY = 10_000  # characters; a query of 96,000 words takes 11 s
LONGEST_TEXT = 2_000_000  # of a document; `aur mem add` takes larger ones
_LONGEST_ID = 2_000
_LONGEST_WORD = 500  # of a name, a path, a label

Scalar = str | int | float | bool


def _about(description: str, *, most: int = _LONGEST_WORD) -> Any:  # Any: as pydantic types it
    """An optional text, list or table of at most so many letters or items."""
    return Field(max_length=most, description=description)


def _required(description: str, *, most: int) -> Any:
    return Field(min_length=1, max_length=most, description=description)


def _number(description: str, least: float, most: float) -> Any:
    return Field(ge=least, le=most, description=description)


# --- Searching ---

_QUERY = (
    'Plain words, an identifier or a question. Optional inside: "exact phrase", -word, '
    "type: path: lang: name: since:"
)
_EXPAND = (
    "Have a language model add related terms. Off unless the user's settings say otherwise: "
    "you can add terms yourself."
)
Kind = Literal["function", "method", "class", "code", "reasoning", "knowledge"]

ALL = "all"  # the name for every memory
Text = Annotated[str, _required(_QUERY, most=LONGEST_QUERY)]
MemoryName = Annotated[
    str,
    _about(
        "Name of a memory (aurora_status) or workspace repository; empty: default; all: search all."
    ),
]
Namespace = Annotated[str | None, _about("Only documents of this namespace.")]
DocumentType = Annotated[str | None, _about("Only documents of this type.")]
Kinds = Annotated[
    list[Kind] | None, _about("Only these kinds of chunks; knowledge is prose.", most=6)
]
PathGlob = Annotated[
    str | None, _about("Only files that match, as in .gitignore: src/**, *.py, docs/")
]
Since = Annotated[str | None, _about("Only what changed since: 2026-01-31, 7d, 3mo.", most=50)]
Language = Annotated[str | None, _about("Only this language, such as python or go.", most=50)]
Filters = Annotated[
    dict[str, Scalar] | None,
    _about("Only documents with this metadata, such as status: agreed.", most=20),
]
Limit = Annotated[int, _number("How many results on a page.", 1, 100)]
Threshold = Annotated[
    float | None, _number("Leave out lower scores. Unset: the default limit.", 0.0, 1.0)
]
UseHybrid = Annotated[bool, Field(description="By words and meaning; false: by meaning alone.")]
SearchMode = Annotated[
    Literal["semantic", "keyword", "hybrid"],
    Field(description="What to search by: meaning, words, or both."),
]
ExpandQuery = Annotated[bool | None, Field(description=_EXPAND)]
RerankBy = Annotated[
    Literal["none", "local", "llm"] | None,
    Field(description="Reranker of the first 20; unset: as the user's settings say."),
]
FullText = Annotated[bool, Field(description="Whole chunks instead of snippets.")]
Tokens = Annotated[int, _number("About how many tokens the answer may take.", 200, 200_000)]
CursorWord = Annotated[str, _about("next_cursor of the page before, for the next one.", most=200)]
ChunkId = Annotated[
    str,
    _required(
        "An id from a result, an ending of it that no other has, or FILE:LINE.", most=_LONGEST_ID
    ),
]

# --- Storing, removing and indexing ---

Content = Annotated[str, _required("The text, as Markdown or plain.", most=LONGEST_TEXT)]
DocumentLabel = Annotated[str, _about("What it is: plan, decision, …")]
Source = Annotated[str, _about("The author or origin of the text.")]
Group = Annotated[str, _about("A name that a group shares.")]
Metadata = Annotated[
    dict[str, JsonValue] | None, _about("More about it, to filter by later.", most=50)
]
_PATTERN = "What to do again, or not to: one pattern, understandable on its own."
Pattern = Annotated[str, _required(_PATTERN, most=LONGEST_QUERY)]
PatternType = Annotated[str, _about("What kind: debugging, recovery, workflow, …")]
_SCORE = "How well it worked. Below 0.5 it is kept, but not found again."
Score = Annotated[float, _number(_SCORE, 0.0, 1.0)]
Context = Annotated[str, _about("Where and when it applies, and why.", most=LONGEST_QUERY)]
Team = Annotated[
    bool,
    Field(description="Write it to docs/lessons too: a file that git shares with the team."),
]
What = Annotated[
    str,
    _required("An id, a file or folder of the project, or namespace:NAME.", most=_LONGEST_ID),
]
Several = Annotated[
    bool,
    Field(description="Must be true to remove more than one chunk; if false, they are listed."),
]
IndexPath = Annotated[
    str, _about("A file or folder inside the project; empty: all of it.", most=_LONGEST_ID)
]
_WAIT = "Seconds to wait for the end; a longer run continues in the background."
Wait = Annotated[float, _number(_WAIT, 0.0, 3_600.0)]
Git = Annotated[bool, Field(description="Also read the history of the files from git.")]
