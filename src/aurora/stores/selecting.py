"""Which chunks fit all criteria: each criterion is one question, and sets meet.

What an index can answer is asked first; texts are read only for what is left to decide by them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from aurora.types import Criteria


class Selecting(ABC):
    """`find_rows`, for a store that can answer each criterion alone."""

    def find_rows(self, criteria: Criteria) -> array[int]:
        hidden, sets = self._hidden_rows(), self._fitting(criteria)
        rows = next(sets, None)
        if rows is None:
            rows = self._all_rows()
        for fitting in sets:
            rows &= fitting
            if not rows:
                break
        for word in criteria.without:
            rows -= self._with_phrase(word) or set()
        return array("q", sorted(rows - hidden))

    def _fitting(self, criteria: Criteria) -> Iterator[set[int]]:
        """The rows that fit each criterion, the quickest to answer first."""
        labels = {
            "kind": [str(kind) for kind in criteria.kinds],
            "language": [language.lower() for language in criteria.languages],
            "namespace": criteria.namespaces,
            "document_type": criteria.document_types,
        }
        if any(labels.values()):
            yield self._labelled({label: values for label, values in labels.items() if values})
        if criteria.paths:
            yield self._under(criteria.paths)
        if criteria.names:
            yield set().union(*map(self._named, criteria.names))
        for phrase in criteria.phrases:
            found = self._with_phrase(phrase)
            if found is not None:
                yield found
        for key, value in criteria.metadata:
            yield self._with_metadata(key, value)
        if criteria.since is not None:
            yield self._since(criteria.since)

    @abstractmethod
    def _all_rows(self) -> set[int]: ...

    @abstractmethod
    def _hidden_rows(self) -> set[int]:
        """Those that may not be found; any criterion may give some of them."""

    @abstractmethod
    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        """The rows with one of the values of each label. Languages are in small letters."""

    @abstractmethod
    def _under(self, globs: Sequence[str]) -> set[int]: ...

    @abstractmethod
    def _named(self, glob: str) -> set[int]:
        """The rows whose name or qualified name fits a glob."""

    @abstractmethod
    def _with_phrase(self, phrase: str) -> set[int] | None:
        """The rows that have these words next to each other; None if there is no word."""

    @abstractmethod
    def _with_metadata(self, key: str, value: str) -> set[int]: ...

    @abstractmethod
    def _since(self, moment: datetime) -> set[int]:
        """Dated, committed, or - where no date is known or edits wait - written to disk since."""
