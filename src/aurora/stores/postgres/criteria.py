"""Which chunks fit a criterion, in PostgreSQL; `selecting` puts the answers together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.fitting import fitting_paths, metadata_fits
from aurora.stores.postgres.names import PostgresNames
from aurora.stores.postgres.nul import hide, show
from aurora.stores.postgres.rows import read_metadata
from aurora.stores.postgres.text import PostgresText
from aurora.stores.selecting import Selecting
from aurora.text import is_text

_COLUMNS = {
    "kind": "kind",
    "language": "lower(language)",
    "namespace": "namespace",
    "document_type": "document_type",
}
_COMMITTED_SINCE = 'SELECT "row" FROM histories WHERE commits[cardinality(commits)] >= %s'
_MODIFIED_SINCE = """
    SELECT chunks."row" FROM files JOIN chunks ON chunks.path = files.path
        LEFT JOIN histories USING ("row", namespace)
    WHERE files.modified_ns / 1e9 >= %s AND (
        histories.uncommitted
        OR (coalesce(cardinality(histories.commits), 0) = 0 AND chunks.created_at IS NULL))"""


class PostgresCriteria(PostgresNames, PostgresText, Selecting):
    """The part of `Store` that is about what may be a result."""

    def _all_rows(self) -> set[int]:
        return self._row_numbers("")

    def _hidden_rows(self) -> set[int]:
        return {row for (row,) in self._rows('SELECT "row" FROM chunks WHERE NOT is_found')}

    def _labelled(self, labels: Mapping[str, Sequence[str]]) -> set[int]:
        which = "".join(f" AND {_COLUMNS[label]} = ANY(%s)" for label in labels)
        return self._row_numbers(which, [list(filter(is_text, some)) for some in labels.values()])

    def _under(self, globs: Sequence[str]) -> set[int]:
        paths = (show(path) for (path,) in self._rows("SELECT DISTINCT path FROM chunks"))
        return self._row_numbers("AND path = ANY(%s)", (fitting_paths(paths, globs),))

    def _with_metadata(self, key: str, value: str) -> set[int]:
        """The index finds what holds the value, however it was typed; Python compares."""
        if not (is_text(key) and is_text(value)):
            return set()
        shapes = list(_shapes(hide(key), hide(value)))
        which = " OR ".join(["metadata @> %s::jsonb"] * len(shapes))
        rows = self._rows(
            f'SELECT "row", metadata::text FROM chunks WHERE is_found AND ({which})', shapes
        )
        return {row for row, written in rows if metadata_fits(read_metadata(written), key, value)}

    def _since(self, moment: datetime) -> set[int]:
        seconds = moment.timestamp()
        dated = self._row_numbers("AND created_at >= %s", (moment,))
        committed = self._rows(_COMMITTED_SINCE, (math.ceil(seconds),))
        modified = self._rows(_MODIFIED_SINCE, (seconds,))
        return dated | {row for (row,) in (*committed, *modified)}


def _shapes(key: str, value: str) -> Iterator[str]:
    """Metadata that has this value, or a list with it: as text, and as what it also spells."""
    values: list[object] = [value]
    try:
        spelt = json.loads(value)
    except ValueError:
        spelt = value
    if spelt is None or isinstance(spelt, bool | int | float):
        values.append(spelt)
    for one in values:
        if not (isinstance(one, float) and not math.isfinite(one)):
            yield json.dumps({key: one}, ensure_ascii=False)
            yield json.dumps({key: [one]}, ensure_ascii=False)
