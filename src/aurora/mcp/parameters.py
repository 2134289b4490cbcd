"""The parameters of tools: type, bounds and the description that agents read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

LONGEST_QUERY = 10_000  # characters; a query of 96,000 words takes 11 s
LONGEST_TEXT = 2_000_000  # of a document; `aur mem add` takes larger ones
_LONGEST_ID = 2_000
_LONGEST_WORD = 500  # of a name, a path, a label

Scalar = str | int | float | bool


UNLISTED = "unlisted"  # marks a parameter that is taken, but not shown to agents


def _about(  # Any: as pydantic types it
    description: str, *, most: int = _LONGEST_WORD, listed: bool = True
) -> Any:
    """An optional text, list or table of at most so many letters or items."""
    return Field(max_length=most, description=description, json_schema_extra=_mark(listed))


def _mark(listed: bool) -> dict[str, JsonValue] | None:
    return None if listed else {UNLISTED: True}


def _old(description: str) -> Any:
    """A parameter that agents need not know: of older clients, or for rare uses."""
    return Field(description=description, json_schema_extra=_mark(listed=False))


def _required(description: str, *, most: int) -> Any:
    return Field(min_length=1, max_length=most, description=description)


def _number(description: str, least: float, most: float) -> Any:
    return Field(ge=least, le=most, description=description)


# --- Searching ---

Kind = Literal["function", "method", "class", "code", "reasoning", "knowledge"]

ALL = "all"  # the name for every memory
_QUERY = 'Words, a name or a question. May hold "exact phrase", -word, type: path: lang: since:'
Text = Annotated[str, _required(_QUERY, most=LONGEST_QUERY)]
_FILTERS = "until: source: agent: session: branch:"
AnyText = Annotated[str, _required(f"{_QUERY} {_FILTERS}", most=LONGEST_QUERY)]
MemoryName = Annotated[
    str,
    _about("Of a memory (aurora_status) or workspace repository; all: every one."),
]
Namespace = Annotated[str | None, _about("")]
DocumentType = Annotated[str | None, _about("Only documents of this type.", listed=False)]
Kinds = Annotated[
    list[Kind] | None,
    _about("Only these kinds of chunks; knowledge is prose.", most=6, listed=False),
]
PathGlob = Annotated[str | None, _about("Only files like src/** or *.py.")]
Since = Annotated[
    str | None, _about("Only what changed since: 2026-01-31, 7d, 3mo.", most=50, listed=False)
]
Language = Annotated[
    str | None, _about("Only this language, such as python or go.", most=50, listed=False)
]
Filters = Annotated[
    dict[str, Scalar] | None,
    _about("Only documents with this metadata, as status: agreed.", most=20, listed=False),
]
Limit = Annotated[int | None, _number("Of results: 10.", 1, 100)]
Threshold = Annotated[
    float | None,
    Field(ge=0.0, le=1.0),
    _old("Leave out lower confidences. Unset: the default limit."),
]
SearchMode = Annotated[
    Literal["hybrid", "semantic", "keyword"],
    _old("What to search by: words and meaning, or one of them."),
]
OldMode = Annotated[Literal["semantic", "keyword", "hybrid"] | None, _old("Another name for mode.")]
UseHybrid = Annotated[bool, _old("False: mode semantic.")]
ExpandQuery = Annotated[
    bool | None, _old("Have the language model of the user's settings add related terms.")
]
RerankBy = Annotated[
    Literal["none", "local", "llm"] | None,
    _old("Reranker of the first 20; unset: as the user's settings say."),
]
Detail = Annotated[Literal["brief", "full"], Field(description="full: all fields.")]
FullText = Annotated[bool, _old("Full detail, with whole chunks instead of snippets.")]
Repeat = Annotated[bool, Field(description="Send again what was sent.")]
Tokens = Annotated[
    int | None,
    _number("", 200, 200_000),
]
CursorWord = Annotated[str, _about("", most=200)]
ChunkId = Annotated[
    str,
    _required("An id, its end if no other has it, or FILE:LINE.", most=_LONGEST_ID),
]

History = Annotated[bool, Field(description="All versions, newest first.")]
Prompt = Annotated[str, _about("", most=LONGEST_QUERY)]

WhyFile = Annotated[str, _about("Or FILE:LINE, FILE:NAME.", most=_LONGEST_ID)]
Command = Annotated[str, _about("", most=LONGEST_QUERY)]
ErrorText = Annotated[str, _about("", most=LONGEST_QUERY)]

# --- Storing, removing and indexing ---

Content = Annotated[str, _required("Markdown or plain text.", most=LONGEST_TEXT)]
DocumentLabel = Annotated[str, _about("Such as decision or plan.")]
Source = Annotated[str, _about("The author or origin.", listed=False)]
Group = Annotated[str, _about("A name that a group shares.")]
Metadata = Annotated[dict[str, JsonValue] | None, _about("To filter by later.", most=50)]
_PATTERN = "Understandable on its own."
Pattern = Annotated[str, _required(_PATTERN, most=LONGEST_QUERY)]
Replaces = Annotated[str, _about("Id of what it makes outdated.", most=_LONGEST_ID)]
About = Annotated[
    Sequence[Annotated[str, Field(max_length=_LONGEST_ID)]],
    _about("Files that it is about; else those it names.", most=50, listed=False),
]
Model = Annotated[str, _about("The model that writes it.", listed=False)]
PatternType = Annotated[str, _about("What kind: debugging, recovery, workflow, …", listed=False)]
_SCORE = "How well it worked; below 0.5: it did not."
Score = Annotated[float, _number(_SCORE, 0.0, 1.0)]
Context = Annotated[str, _about("Where it applies, and why.", most=LONGEST_QUERY)]
Team = Annotated[bool, Field(description="Also to docs/lessons, in git.")]
What = Annotated[
    str,
    _required("An id, a file or folder, or namespace:NAME.", most=_LONGEST_ID),
]
Several = Annotated[bool, Field(description="Needed to remove more than one.")]
IndexPath = Annotated[str, _about("Empty: all of the project.", most=_LONGEST_ID)]
_WAIT = "Seconds to wait for the end."
Wait = Annotated[float, Field(ge=0.0, le=3_600.0), _old(_WAIT)]
Git = Annotated[bool, _old("Also read the history of the files from git.")]
