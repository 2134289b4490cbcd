"""Which parser cuts which file."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

from aurora.parsers.base import Parser
from aurora.parsers.languages import GRAMMARS, LANGUAGES, PROSE
from aurora.parsers.plain import PlainParser
from aurora.types import Kind


def parser_for(path: str) -> Parser:
    """A grammar where there is one, windows of lines otherwise."""
    return _parser_for_suffix(PurePosixPath(path).suffix.lower())


@cache
def _parser_for_suffix(suffix: str) -> Parser:
    if suffix in GRAMMARS:
        from aurora.parsers.code import CodeParser  # noqa: PLC0415 - tree-sitter only when needed

        return CodeParser(GRAMMARS[suffix])
    if suffix in PROSE:
        return PlainParser(Kind.KNOWLEDGE, PROSE[suffix])
    return PlainParser(Kind.CODE, LANGUAGES.get(suffix, ""))
