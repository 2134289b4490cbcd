"""The expected results of the twenty queries in docs/search-quality.md (seed 000, appendices A, D).

`passes` is the approved outcome. When the results change it, `quality.py` fails: then update
`passes` and `why`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Row = tuple[str, ...]  # file, type, name, lines, score


@dataclass(frozen=True)
class Question:
    """One query. Patterns are matched with `file | type | name` of a row."""

    expected: str  # text for the page
    why: str
    passes: bool = True
    first: str = ""  # the first row matches
    among: tuple[str, ...] = ()  # each matches one of the rows
    every: str = ""  # all rows match
    says: str = ""  # the beginning of the output, if it is not a table

    def is_met(self, answer: str, rows: list[Row]) -> bool:
        lines = [" | ".join(row[:3]) for row in rows]
        return (
            re.match(self.says or "File ", answer) is not None
            and (not self.first or any(re.search(self.first, line) for line in lines[:1]))
            and all(any(re.search(pattern, line) for line in lines) for pattern in self.among)
            and all(re.search(self.every, line) for line in lines)
        )


_CODE = r"\| (function|method|class|code) \|"

# By the number of the shell test.
QUESTIONS = {
    1: Question(
        "1. `orchestrator.py: SOAROrchestrator`, then the code that uses it",
        "The definition is first, although `soar_patterns.py` contains the name more often and "
        "was opened five times today.",
        first=r"/orchestrator\.py \| class \| SOAROrchestrator$",
    ),
    2: Question(
        "1. `auth_manager.py: authenticate_user`, then its callers and tests",
        "The definition is first, before a view that contains the name three times.",
        first=r"/auth_manager\.py \| function \| authenticate_user$",
    ),
    3: Question(
        "1. `bm25_scorer.py: BM25Scorer`, then the code that uses it",
        "The definition is first, then its methods. The function that uses it is sixth.",
        first=r"/bm25_scorer\.py \| class \| BM25Scorer$",
    ),
    4: Question(
        "1. `base_chunk.py: BaseChunk.chunk_id`, then its callers",
        "The property of four lines is first, before the store, which contains `chunk_id` often.",
        first=r"/base_chunk\.py \| method \| BaseChunk\.chunk_id$",
    ),
    5: Question(
        "1. `hybrid_retriever.py: HybridRetriever`, then the code that uses it",
        "The definition is first, then its methods and the service that uses it.",
        first=r"/hybrid_retriever\.py \| class \| HybridRetriever$",
    ),
    6: Question(
        "`auth_manager.py: authenticate_user`, the OAuth conversation, the auth pattern",
        "The function is first, the conversation second, the pattern third, and all results are "
        "about authentication.",
        among=(r"\| function \| authenticate_user$", r"oauth-impl.* \| know", r"\| reas \| Auth"),
        every="(?i)auth",
    ),
    7: Question(
        "`indexer.py: MemoryIndexer`, the conversation about indexing, a lesson about indexes",
        "The conversation and the class are found, and all results are about the memory. The "
        'lesson contains "index" once and no other word of the query: it is not in the first five.',
        passes=False,
        among=(_CODE, r"\| know \|", r"\| reas \|"),
        every="(?i)index|memory",
    ),
    8: Question(
        "`error_handler.py`, the lesson about errors",
        "Both are found, and an error class. The conversation about failing uploads is sixth.",
        among=(r"/error_handler\.py", r"\| reas \| Error handling"),
        every="(?i)error",
    ),
    9: Question(
        "code of the configuration, `configuration.md`, the conversation about settings",
        "All three are found, and nothing else.",
        among=(r"\| class \| ConfigManager", r"^docs/configuration\.md", r"/config-layers"),
        every="(?i)config",
    ),
    10: Question(
        "`git_metadata.py`, the conversation about git in results",
        "Conversation and code are first, and all results are about git.",
        among=(r"/git_metadata\.py \| class \| GitMetadata", r"git-blame.* \| know"),
        every=r"(?i)\bgit",
    ),
    11: Question(
        "1. `user_manager.py: UserManager`, and only functions and classes",
        "As in appendix A.",
        first=r"/user_manager\.py \| class \| UserManager$",
        every=r"\| (function|class) \|",
    ),
    12: Question(
        "1. the third phase of the OAuth conversation, and only conversations",
        "It is first. All results are knowledge, but notes of the project are knowledge too, and "
        'a section called "Setup" is among them.',
        passes=False,
        first=r"oauth-impl.* \| know \| .*Decomposition$",
        every=r"/conversations/.* \| know \|",
    ),
    13: Question(
        "only lessons, those called decomposition patterns first",
        "Two lessons contain the words. A third, of type decomposition, contains neither.",
        first=r"\| reas \| (Auth d|D)ecomposition pattern",
        every=r"\| reas \|",
    ),
    14: Question(
        "code, lessons and knowledge about searching",
        "Three types are in the first four rows, all about searching.",
        among=(_CODE, r"\| know \|", r"\| reas \|"),
        every="(?i)search|vectors",
    ),
    15: Question(
        "only functions, those of `perf` first",
        "Functions with one of the words come first, then similar ones by meaning. There is no "
        "method or class.",
        first=r"/perf/",
        every=r"\| function \|",
    ),
    16: Question(
        "no results, with a clear message",
        "The message names the next steps. The exit status is 0.",
        says="No relevant results found",
    ),
    17: Question(
        "1. `https_connection.py: HTTPSConnection`, then the code that uses it",
        "The definition is first, then its methods and the client that imports it.",
        first=r"/https_connection\.py \| class \| HTTPSConnection$",
        among=(r"/http_client\.py",),
    ),
    18: Question(
        "1. `profile.py: get_user_data`, 2. `userApi.js: getUserData`",
        "A dot stands for any separator; both spellings come before a type called `Data`.",
        first=r"(?i)\| get_?user_?data$",
    ),
    19: Question(
        "1. `userApi.js: getUserData`, 2. `profile.py: get_user_data`",
        "The exact spelling is first, then the other spelling, then names with its parts.",
        first=r"^web/userApi\.js \| function \| getUserData$",
        among=(r"/profile\.py \| function \| get_user_data$",),
    ),
    20: Question(
        "an error",
        "An error with the next step, and exit status 2.",
        says="Error: The query is empty",
    ),
}  # fmt: skip
