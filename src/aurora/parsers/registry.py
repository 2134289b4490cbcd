"""Which parser cuts which file."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import PurePosixPath

from aurora.parsers.base import Parsed, Parser
from aurora.parsers.conversation import ConversationParser, is_conversation
from aurora.parsers.languages import GRAMMARS, LANGUAGES, PROSE, Grammar
from aurora.parsers.plain import PlainParser
from aurora.parsers.prose import NotesParser
from aurora.types import Document, Kind

logger = logging.getLogger(__name__)


def parser_for(path: str) -> Parser:
    """A grammar where there is one, headings for prose, windows of lines otherwise."""
    return _parser_for_suffix(PurePosixPath(path).suffix.lower())


@cache
def _parser_for_suffix(suffix: str) -> Parser:
    if suffix in GRAMMARS:
        return _code_parser(GRAMMARS[suffix])
    if suffix in PROSE:
        notes = NotesParser(PROSE[suffix])
        return MarkdownParser(notes) if PROSE[suffix] == "markdown" else notes
    return PlainParser(Kind.CODE, LANGUAGES.get(suffix, ""))


def _code_parser(grammar: Grammar) -> Parser:
    """By syntax; by lines where the grammar's wheel is missing."""
    try:
        from aurora.parsers.code import CodeParser  # noqa: PLC0415 - tree-sitter only when needed

        return CodeParser(grammar)
    except ImportError as exc:
        logger.warning("no grammar for %s, its files are cut by lines: %s", grammar.language, exc)
        return PlainParser(Kind.CODE, grammar.language)


class MarkdownParser:
    """Conversation logs and other notes have one suffix; a look at the document tells them."""

    def __init__(self, notes: Parser) -> None:
        self._notes, self._logs = notes, ConversationParser()

    def parse(self, document: Document) -> Parsed:
        return (self._logs if is_conversation(document) else self._notes).parse(document)
