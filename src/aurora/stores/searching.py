"""`Search` as far as both databases do it alike: by criteria, by name and by parts of words."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import ClassVar

from aurora.errors import StoreFormatError
from aurora.session_facts import SESSION
from aurora.stores.base import Definition, Search
from aurora.stores.matching import has_wildcard, like, literal_parts, name_test, phrase_pattern
from aurora.stores.shared import D, Parameters, Part, Row
from aurora.text import fold_name, has_cjk, is_text
from aurora.types import Criteria, Json, Kind, symbols_of

# Code and lessons are told by their kind.
_SOURCE_KINDS = {
    "code": [str(kind) for kind in Kind if not kind.is_prose],
    "lesson": [str(Kind.REASONING)],
}
_SHORTEST_LIKE = 3  # shorter words are part of nearly every text


class SearchPart(Part[D], Search):
    """`Search`. The abstract methods may include hidden rows."""

    cjk_only: ClassVar[str]  # `AND …`: chunks with CJK text
    has_symbol: ClassVar[str]  # a condition: the chunk has a symbol with the folded name `?`

    @abstractmethod
    def all_rows(self) -> set[int]: ...

    @abstractmethod
    def hidden_rows(self) -> set[int]:
        """The rows that are not searchable."""

    @abstractmethod
    def rows_with_labels(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """Rows with one of the values of each label. Languages are in lower case."""

    @abstractmethod
    def rows_under(self, globs: Sequence[str]) -> set[int]: ...

    @abstractmethod
    def rows_with_phrase(self, phrase: str) -> set[int] | None:
        """Rows with these words next to each other; None if there is no word."""

    @abstractmethod
    def rows_with_metadata(self, key: str, value: str) -> set[int]: ...

    @abstractmethod
    def rows_with_metadata_from(self, key: str, start: str) -> set[int]:
        """Rows with a text at this key of their metadata that begins like this."""

    @abstractmethod
    def rows_since(self, moment: datetime) -> set[int]:
        """Rows dated or committed since; by file time if there is no date, or edits wait."""

    def find_definitions(self, name: str, *, limit: int) -> list[Definition]:
        folded, database = fold_name(name), self._database
        if not name or not is_text(name):
            return []
        # `_` and `__` both fold to nothing, so these are compared as they are.
        named = f"{database.folded_name} = ? AND (? OR name = ?)"
        chunks = self._defining(named, folded, folded != "", name, limit=limit)
        found = [definition for definition, _ in chunks]
        for chunk, metadata in self._defining(self.has_symbol, folded, limit=limit - len(found)):
            found += [
                chunk._replace(
                    name=symbol.name,
                    qualified_name=f"{chunk.qualified_name}.{symbol.name}".lstrip("."),
                    symbol=symbol,
                )
                for symbol in symbols_of(metadata)
                if fold_name(symbol.name) == folded and (folded or symbol.name == name)
            ]
        return found[:limit]

    def _defining(
        self, condition: str, *values: object, limit: int
    ) -> list[tuple[Definition, dict[str, Json]]]:
        """Chunks with a condition, and their metadata."""
        database = self._database
        rows = database.rows(
            f"SELECT {database.row}, kind, name, qualified_name, path, {database.metadata_text} "
            f"{database.searchable} AND {condition} ORDER BY {database.row} LIMIT ?",
            (*values, limit),
        )
        return [_definition(row) for row in rows]

    def iter_names(self) -> Iterator[str]:
        # Without a qualified name, a name is the beginning of a text: of an exchange, of a note.
        rows = self._database.rows(
            f"SELECT DISTINCT name {self._database.searchable} AND qualified_name <> ''"
        )
        return (name for (name,) in rows)

    def rows_named(self, glob: str) -> set[int]:
        """Rows whose name or qualified name matches. The database only preselects."""
        if not is_text(glob):
            return set()
        fits, pattern, database = name_test(glob), like(*literal_parts(glob)), self._database
        by_name, first = f"{database.folded_name} = ?", fold_name(glob)
        if has_wildcard(glob):
            by_name, first = self._like("name"), pattern
        rows = database.rows(
            f"SELECT {database.row}, name, qualified_name {database.searchable} "
            f"AND ({by_name} OR {self._like('qualified_name')})",
            (first, pattern),
        )
        return {row for row, name, qualified in rows if fits(name, qualified)}

    def _like(self, column: str) -> str:
        return f"{column} {self._database.like} ? ESCAPE '!'"

    def having_words(self, words: Sequence[str]) -> tuple[str, Parameters]:  # noqa: ARG002
        """A condition that chunks with all these words fulfil, `AND …`, and its values."""
        return "", ()

    def having_parts(self, parts: Sequence[str]) -> tuple[str, Parameters]:  # noqa: ARG002
        """A condition that chunks with one of these parts of words fulfil, and its values."""
        return "", ()

    def rows_by_text(self, words: Sequence[str], condition: str = "") -> set[int]:
        """Rows with a phrase in their texts. LIKE, which may ignore only ASCII case, preselects."""
        pattern = like(*(word for word in words if word.isascii() or has_cjk(word)))
        having, values = self.having_words(words)
        rows = self._database.rows(
            f"SELECT {self._database.row}, name, content {self._database.searchable} {condition} "
            f"{having} AND ({self._like('name')} OR {self._like('content')})",
            (*values, pattern, pattern),
        )
        return with_phrase(words, rows)

    def find_by_like(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """By the number of terms in name or content, then by the number of terms in the name."""
        kept = [term for term in terms if has_cjk(term) or len(term) >= _SHORTEST_LIKE]
        if not kept:
            return []
        in_name, in_content = self._like("name"), self._like("content")
        # LIKE is slow to reject CJK in a text without CJK, and AND would evaluate both sides.
        skips = ("WHEN NOT has_cjk THEN 0 " if has_cjk(term) else "" for term in kept)
        either = (f"CASE {skip}WHEN {in_name} OR {in_content} THEN 1 ELSE 0 END" for skip in skips)
        names = " + ".join([f"CASE WHEN {in_name} THEN 1 ELSE 0 END"] * len(kept))
        points = f"{' + '.join(either)} + CAST({names} AS double precision) / {len(kept) + 1}"
        condition = self.cjk_only if all(map(has_cjk, kept)) else ""
        patterns = [like(term) for term in kept]
        having, values = self.having_parts(kept)
        # The inner limit keeps the database from computing the points once per use.
        rows = self._database.rows(
            f"SELECT * FROM (SELECT {self._database.row} AS number, {points} AS points "
            f"{self._database.searchable} {condition} {having} LIMIT {sys.maxsize}) AS judged "
            "WHERE points > 0 ORDER BY points DESC, number LIMIT ?",
            (*(pattern for pattern in patterns for _ in range(2)), *patterns, *values, limit),
        )
        return [(row, points / (1 + points)) for row, points in rows]

    def find_rows(self, criteria: Criteria) -> array[int]:
        hidden, sets = self.hidden_rows(), self._matching(criteria)
        rows = next(sets, None)
        if rows is None:
            rows = self.all_rows()
        for matching in sets:
            rows &= matching
            if not rows:
                break
        for phrase in criteria.without:
            rows -= self.rows_with_phrase(phrase) or set()
        if criteria.until is not None:
            rows -= self.rows_since(criteria.until)
        return array("q", sorted(rows - hidden))

    def _matching(self, criteria: Criteria) -> Iterator[set[int]]:
        """The rows of each criterion, the fastest first: texts are read last."""
        labels = {
            "kind": [str(kind) for kind in criteria.kinds],
            "language": [language.lower() for language in criteria.languages],
            "namespace": criteria.namespaces,
            "document_type": criteria.document_types,
        }
        for values, matching in (
            (criteria.sessions, self._of_session),
            (criteria.projects, self._of_project),
            (criteria.branches, partial(self.rows_with_metadata, "branch")),
            (criteria.agents, partial(self.rows_with_metadata, "agent")),
            (criteria.sources, self._of_source),
        ):
            if values:
                yield set().union(*map(matching, values))
        if any(labels.values()):
            yield self.rows_with_labels({name: values for name, values in labels.items() if values})
        if criteria.paths:
            yield self.rows_under(criteria.paths)
        if criteria.names:
            yield set().union(*map(self.rows_named, criteria.names))
        for phrase in criteria.phrases:
            rows = self.rows_with_phrase(phrase)
            if rows is not None:
                yield rows
        for key, value in criteria.metadata:
            yield self.rows_with_metadata(key, value)
        if criteria.since is not None:
            yield self.rows_since(criteria.since)

    def _of_session(self, word: str) -> set[int]:
        """Rows of the session with this id, or else of those whose ids begin like this."""
        if not word:
            return set()
        return self.rows_with_metadata(SESSION, word) or self.rows_with_metadata_from(SESSION, word)

    def _of_project(self, folder: str) -> set[int]:
        above = f"{folder.rstrip('/')}/"
        rows = self.rows_with_metadata("project", folder)
        return rows | self.rows_with_metadata_from("project", above)

    def _of_source(self, source: str) -> set[int]:
        if source in _SOURCE_KINDS:
            return self.rows_with_labels({"kind": _SOURCE_KINDS[source]})
        return self.rows_with_metadata("source", source)


def with_phrase(words: Sequence[str], rows: Sequence[Row]) -> set[int]:
    """The rows of those of these texts that have the phrase."""
    if not rows:  # the usual case: compiling the pattern takes 20 ms
        return set()
    found = phrase_pattern(words).search
    return {row for row, *texts in rows if any(map(found, texts))}


def _definition(columns: Row) -> tuple[Definition, dict[str, Json]]:
    row, kind, name, qualified, path, written = columns
    try:
        metadata = json.loads(written, strict=False)
        is_whole = metadata.get("part", 1) == 1 and not metadata.get("overload")
        return Definition(row, Kind(kind), name, qualified, path, is_whole=is_whole), metadata
    except (ValueError, TypeError, AttributeError) as exc:  # Aurora never writes such a row
        raise StoreFormatError(
            f"The chunk of row {row} is damaged: {exc}", hint="`aur doctor` looks for more damage"
        ) from exc
