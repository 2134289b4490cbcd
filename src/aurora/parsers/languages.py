"""What is known of each language: its suffixes and, where there is a grammar, its node types.

A catalogue: a language more is an entry more. The grammars are wheels of their own that carry the
compiled parser, so nothing is fetched at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language's syntax tree shows definitions."""

    language: str
    module: str  # the wheel's import name
    functions: frozenset[str]
    classes: frozenset[str]
    wrappers: frozenset[str]  # nodes around a definition that belong to it: decorators
    blocks: frozenset[str]  # nodes that are no definition but may hold some
    comments: frozenset[str]


PYTHON = Grammar(
    language="python",
    module="tree_sitter_python",
    functions=frozenset({"function_definition"}),
    classes=frozenset({"class_definition"}),
    wrappers=frozenset({"decorated_definition"}),
    blocks=frozenset({
        "block", "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause",
        "except_group_clause", "finally_clause", "with_statement", "for_statement",
        "while_statement", "match_statement", "case_clause", "ERROR",
    }),
    comments=frozenset({"comment"}),
)  # fmt: skip

GRAMMARS: Mapping[str, Grammar] = {".py": PYTHON, ".pyi": PYTHON}

PROSE: Mapping[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "restructuredtext",
    ".txt": "text",
}

LANGUAGES: Mapping[str, str] = {
    ".c": "c", ".cc": "cpp", ".cfg": "ini", ".cpp": "cpp", ".cs": "csharp", ".css": "css",
    ".go": "go", ".h": "c", ".hpp": "cpp", ".html": "html", ".ini": "ini", ".java": "java",
    ".js": "javascript", ".json": "json", ".jsx": "javascript", ".kt": "kotlin", ".php": "php",
    ".rb": "ruby", ".rs": "rust", ".scala": "scala", ".sh": "bash", ".sql": "sql",
    ".swift": "swift", ".toml": "toml", ".ts": "typescript", ".tsx": "tsx", ".xml": "xml",
    ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
