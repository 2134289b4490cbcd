"""Maps a file suffix to its parser."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import PurePosixPath

from aurora.parsers.base import Parsed, Parser
from aurora.parsers.conversation import KnowledgeParser, is_conversation
from aurora.parsers.languages import GRAMMARS, PLAIN_LANGUAGES, PROSE
from aurora.parsers.lessons import is_lesson_path, parse_lesson
from aurora.parsers.plain import PlainParser
from aurora.parsers.prose import NotesParser
from aurora.quick_classes import replace
from aurora.types import Document, Kind

logger = logging.getLogger(__name__)


def parser_for(path: str) -> Parser:
    """Return a grammar's parser, a parser for prose, or one that splits by lines."""
    return _parser_for_suffix(PurePosixPath(path).suffix.lower())


@cache
def _parser_for_suffix(suffix: str) -> Parser:
    if suffix in PROSE:
        return MarkdownParser() if PROSE[suffix] == "markdown" else NotesParser(PROSE[suffix])
    if suffix not in GRAMMARS:
        return PlainParser(Kind.CODE, PLAIN_LANGUAGES.get(suffix, ""))
    grammar = GRAMMARS[suffix]
    try:
        from aurora.parsers.code import CodeParser  # noqa: PLC0415 - tree-sitter only when needed

        return CodeParser(grammar)
    except ImportError as exc:
        logger.warning("no grammar for %s, its files are cut by lines: %s", grammar.language, exc)
        return PlainParser(Kind.CODE, grammar.language)


class MarkdownParser:
    """Parses conversation logs, lessons of a team and other notes, which share a suffix."""

    def __init__(self) -> None:
        self._notes, self._logs = NotesParser("markdown"), KnowledgeParser()

    def parse(self, document: Document) -> Parsed:
        lesson, problem = None, ""
        if is_lesson_path(document.path):
            lesson, problem = parse_lesson(document)
        if lesson is not None:
            return lesson
        parsed = (self._logs if is_conversation(document) else self._notes).parse(document)
        return replace(parsed, problem=problem) if problem else parsed
