"""The parameters of tools: type, bounds and the description that agents read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

LONGEST_QUERY = 10_000  # characters; a query of 96,000 words takes 11 s
LONGEST_TEXT = 2_000_000  # of a document; `aur mem add` takes larger ones
LONGEST_WORD = 500  # of a name, a path, a label

Scalar = str | int | float | bool

Text = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description="Plain words, an identifier or a question. Optional inside: "
        '"exact phrase", -word, type: path: lang: name: since:',
    ),
]
MemoryName = Annotated[
    str,
    Field(
        max_length=LONGEST_WORD,
        description="Name of a memory, as in aurora_status; empty: the default one.",
    ),
]
Namespace = Annotated[
    str | None, Field(max_length=LONGEST_WORD, description="Only documents of this namespace.")
]
DocumentType = Annotated[
    str | None, Field(max_length=LONGEST_WORD, description="Only documents of this type.")
]
Kinds = Annotated[
    list[Literal["function", "method", "class", "code", "reasoning", "knowledge"]] | None,
    Field(max_length=6, description="Only these kinds of chunks; knowledge is prose."),
]
PathGlob = Annotated[
    str | None,
    Field(
        max_length=LONGEST_WORD,
        description="Only files that match, as in .gitignore: src/**, *.py, docs/",
    ),
]
Since = Annotated[
    str | None,
    Field(max_length=50, description="Only what changed since: 2026-01-31, 7d, 3mo."),
]
Language = Annotated[
    str | None, Field(max_length=50, description="Only this language, such as python or go.")
]
Filters = Annotated[
    dict[str, Scalar] | None,
    Field(max_length=20, description="Only documents with this metadata, such as status: agreed."),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many results on a page.")]
Threshold = Annotated[
    float | None,
    Field(ge=0.0, le=1.0, description="Leave out lower scores. Unset: the default limit."),
]
UseHybrid = Annotated[bool, Field(description="By words and meaning; false: by meaning alone.")]
SearchMode = Annotated[
    Literal["semantic", "keyword", "hybrid"],
    Field(description="What to search by: meaning, words, or both."),
]
ExpandQuery = Annotated[
    bool | None,
    Field(
        description="Have a language model add related terms. Off unless the user's settings say "
        "otherwise: you can add terms yourself."
    ),
]
RerankBy = Annotated[
    Literal["none", "local", "llm"] | None,
    Field(description="Reranker of the first 20; unset: as the user's settings say."),
]
FullText = Annotated[bool, Field(description="Whole chunks instead of snippets.")]
Tokens = Annotated[
    int, Field(ge=200, le=200_000, description="About how many tokens the answer may take.")
]
CursorWord = Annotated[
    str, Field(max_length=200, description="next_cursor of the page before, for the next one.")
]
ChunkId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_000,
        description="An id from a result, or an ending of it that no other has.",
    ),
]
Content = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TEXT, description="The text, as Markdown or plain.")
]
Label = Annotated[str, Field(max_length=LONGEST_WORD)]
Metadata = Annotated[
    dict[str, JsonValue] | None,
    Field(max_length=50, description="More about it, to filter by later."),
]
Pattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description="What to do again, or not to: one pattern, understandable on its own.",
    ),
]
Score = Annotated[
    float,
    Field(
        ge=0.0, le=1.0, description="How well it worked. Below 0.5 it is kept, but not found again."
    ),
]
Context = Annotated[
    str, Field(max_length=LONGEST_QUERY, description="Where and when it applies, and why.")
]
What = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_000,
        description="An id, a file or folder of the project, or namespace:NAME.",
    ),
]
Several = Annotated[
    bool,
    Field(description="Must be true to remove more than one chunk; if false, they are listed."),
]
IndexPath = Annotated[
    str,
    Field(
        max_length=2_000,
        description="A file or folder inside the project; empty: all of it.",
    ),
]
Wait = Annotated[
    float,
    Field(
        ge=0.0,
        le=3_600.0,
        description="Seconds to wait for the end; a longer run continues in the background.",
    ),
]
Git = Annotated[bool, Field(description="Also read the history of the files from git.")]
