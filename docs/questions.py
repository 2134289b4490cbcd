"""What docs/search-quality.md expects of the twenty queries of seed 000, appendices A and D.

`passes` is a person's judgement. When what is found no longer agrees with it, `quality.py` asks to
look again: then `passes` and `why` are to be written anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Row = tuple[str, ...]  # file, type, name, lines, score


@dataclass(frozen=True)
class Question:
    """Patterns are looked for in `file | type | name` of a row."""

    expected: str  # for people
    why: str
    passes: bool = True
    first: str = ""  # the first row has this
    among: tuple[str, ...] = ()  # each is in one of the rows shown
    every: str = ""  # all rows shown have this
    says: str = ""  # the answer begins so, where it is no table

    def is_met(self, answer: str, rows: list[Row]) -> bool:
        lines = [" | ".join(row[:3]) for row in rows]
        return (
            re.match(self.says or "File ", answer) is not None
            and (not self.first or any(re.search(self.first, line) for line in lines[:1]))
            and all(any(re.search(one, line) for line in lines) for one in self.among)
            and all(re.search(self.every, line) for line in lines)
        )


_CODE = r"\| (function|method|class|code) \|"

# By the number of the shell test.
QUESTIONS = {
    1: Question(
        "1. `orchestrator.py: SOAROrchestrator`, then what uses it",
        "The definition is first, though `soar_patterns.py` says the name more often and was "
        "opened five times today: the complaint that the seed begins with.",
        first=r"/orchestrator\.py \| class \| SOAROrchestrator$",
    ),
    2: Question(
        "1. `auth_manager.py: authenticate_user`, then its callers and tests",
        "The definition is first, before a view that says the name three times.",
        first=r"/auth_manager\.py \| function \| authenticate_user$",
    ),
    3: Question(
        "1. `bm25_scorer.py: BM25Scorer`, then what uses it",
        "The definition is first, then the head of its file and the function that fills one.",
        first=r"/bm25_scorer\.py \| class \| BM25Scorer$",
    ),
    4: Question(
        "1. `base_chunk.py: BaseChunk.chunk_id`, then what asks by it",
        "The property of four lines is first; the store, full of `chunk_id`, follows.",
        first=r"/base_chunk\.py \| method \| BaseChunk\.chunk_id$",
    ),
    5: Question(
        "1. `hybrid_retriever.py: HybridRetriever`, then what uses it",
        "The definition is first, then the service that owns one.",
        first=r"/hybrid_retriever\.py \| class \| HybridRetriever$",
    ),
    6: Question(
        "`auth_manager.py: authenticate_user`, the OAuth conversation, the auth pattern",
        "The function and the conversation are there, and everything is about authentication. The "
        "pattern is the sixth, behind a second view of the login and the head of `oauth.py`.",
        passes=False,
        among=(r"\| function \| authenticate_user$", r"oauth-impl.* \| know", r"\| reas \| Auth"),
        every="(?i)auth",
    ),
    7: Question(
        "`indexer.py: MemoryIndexer`, the conversation about indexing, a lesson about indexes",
        "The conversation and the class are there, and all is about the memory. The lesson says "
        '"index" once and nothing of a memory: it is not among the first five.',
        passes=False,
        among=(_CODE, r"\| know \|", r"\| reas \|"),
        every="(?i)index|memory",
    ),
    8: Question(
        "`error_handler.py`, the lesson about errors",
        "Both are there, and an error class. The conversation about failing uploads is sixth.",
        among=(r"/error_handler\.py", r"\| reas \| Error handling"),
        every="(?i)error",
    ),
    9: Question(
        "code of the configuration, `configuration.md`, the conversation about settings",
        "All three are there, and nothing else.",
        among=(r"\| class \| ConfigManager", r"^docs/configuration\.md", r"/config-layers"),
        every="(?i)config",
    ),
    10: Question(
        "`git_metadata.py`, the conversation about git in results",
        "Conversation and code are first, and everything is about git.",
        among=(r"/git_metadata\.py \| class \| GitMetadata", r"git-blame.* \| know"),
        every=r"(?i)\bgit",
    ),
    11: Question(
        "1. `user_manager.py: UserManager`, and only functions and classes",
        "As appendix A has it.",
        first=r"/user_manager\.py \| class \| UserManager$",
        every=r"\| (function|class) \|",
    ),
    12: Question(
        "1. the third phase of the OAuth conversation, and only conversations",
        "It is first. Everything is knowledge, but notes of the project are knowledge here, too, "
        'and a section called "Setup" is one of them.',
        passes=False,
        first=r"oauth-impl.* \| know \| .*Decomposition$",
        every=r"/conversations/.* \| know \|",
    ),
    13: Question(
        "only lessons, those called decomposition patterns first",
        "Two lessons have the words. A third, of type decomposition, has neither in its text.",
        first=r"\| reas \| (Auth d|D)ecomposition pattern",
        every=r"\| reas \|",
    ),
    14: Question(
        "code, lessons and knowledge about searching",
        "Three types in the first four rows, all about searching.",
        among=(_CODE, r"\| know \|", r"\| reas \|"),
        every="(?i)search|vectors",
    ),
    15: Question(
        "only functions, those of `perf` first",
        "The functions that say one of the words come first, and no method or class at all; below "
        "them what the model takes for alike.",
        first=r"/perf/",
        every=r"\| function \|",
    ),
    16: Question(
        "no results, said gracefully",
        "Nothing is made up, and the next steps are named. The exit status is 0: the search ran.",
        says="No relevant results found",
    ),
    17: Question(
        "1. `https_connection.py: HTTPSConnection`, then what uses it",
        "The definition is first, then its file, its methods and the client that imports it.",
        first=r"/https_connection\.py \| class \| HTTPSConnection$",
        among=(r"/http_client\.py",),
    ),
    18: Question(
        "1. `profile.py: get_user_data`, 2. `userApi.js: getUserData`",
        "Dots stand for what a language writes in one; both spellings come before the type that is "
        "called just `Data`.",
        first=r"(?i)\| get_?user_?data$",
    ),
    19: Question(
        "1. `userApi.js: getUserData`, 2. `profile.py: get_user_data`",
        "As it is spelt first, then in the other spelling, then names with its parts.",
        first=r"^web/userApi\.js \| function \| getUserData$",
        among=(r"/profile\.py \| function \| get_user_data$",),
    ),
    20: Question(
        "an error",
        "An error that says what to do, with exit status 2.",
        says="Error: The query is empty",
    ),
}  # fmt: skip
