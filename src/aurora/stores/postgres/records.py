"""What hangs on chunks in PostgreSQL: reasoning, accesses and git histories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from aurora.stores.base import SEARCHABLE_SUCCESS, Reasoning
from aurora.stores.postgres.chunks import PostgresChunks
from aurora.stores.postgres.nul import show
from aurora.stores.postgres.rows import history_from, moment, reasoning_from
from aurora.stores.replacing import PAGE, portions
from aurora.text import is_text
from aurora.types import ChunkHistory, Lines

_PUT_REASONING = """
    INSERT INTO reasoning
        SELECT "row", namespace, %s, %s, %s, %s FROM chunks WHERE id = %s
    ON CONFLICT ("row", namespace) DO UPDATE SET
        pattern_type = excluded.pattern_type, success_score = excluded.success_score,
        usage_count = excluded.usage_count, created_at = excluded.created_at"""
# Commits come as the text of an array: arrays of arrays must all be of one length.
_PUT_HISTORIES = """
    INSERT INTO histories AS known
        SELECT chunks."row", chunks.namespace, given.tracking, given.commits::bigint[],
            given.uncommitted
        FROM unnest(%s::text[], %s::text[], %s::text[], %s::boolean[])
            AS given (id, tracking, commits, uncommitted) JOIN chunks ON chunks.id = given.id
    ON CONFLICT ("row", namespace) DO UPDATE SET tracking = excluded.tracking,
        commits = excluded.commits, uncommitted = excluded.uncommitted
    WHERE (known.tracking, known.commits, known.uncommitted)
        IS DISTINCT FROM (excluded.tracking, excluded.commits, excluded.uncommitted)"""
_FAR = 1 << 63


class PostgresRecords(PostgresChunks):
    """The part of `Store` that is about what is known of chunks beside their text."""

    # Reasoning and accesses

    def put_reasoning(self, chunk_id: str, reasoning: Reasoning) -> None:
        with self.transaction():
            written = self._write(
                _PUT_REASONING,
                (
                    reasoning.pattern_type,
                    reasoning.success_score,
                    reasoning.usage_count,
                    reasoning.created_at,
                    chunk_id,
                ),
            )
            if written:
                self._show(chunk_id, is_found=reasoning.success_score >= SEARCHABLE_SUCCESS)

    def _show(self, chunk_id: str, *, is_found: bool) -> None:
        """Let a chunk be found, or not; its words come and go with that."""
        changed = self._execute(
            "UPDATE chunks SET is_found = %s WHERE id = %s AND is_found <> %s",
            (is_found, chunk_id, is_found),
        )
        if changed and is_found:
            self._add_words(self.get_chunks([chunk_id]))
        elif changed:
            self._remove_words([chunk_id])

    def get_reasoning(self, chunk_id: str) -> Reasoning | None:
        if not is_text(chunk_id):
            return None
        rows = self._rows(
            "SELECT pattern_type, success_score, usage_count, reasoning.created_at "
            'FROM reasoning JOIN chunks USING ("row", namespace) WHERE chunks.id = %s',
            (chunk_id,),
        )
        return reasoning_from(rows[0]) if rows else None

    def _add_accesses(self, accesses: Iterable[tuple[str, datetime]]) -> None:
        for some in portions(accesses, PAGE):
            self._execute(
                'INSERT INTO accesses SELECT chunks."row", chunks.namespace, given.at '
                "FROM unnest(%s::text[], %s::timestamptz[]) AS given (id, at) "
                "JOIN chunks ON chunks.id = given.id",
                ([chunk_id for chunk_id, _ in some], [at for _, at in some]),
            )

    def get_accesses(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[datetime, ...]]:
        found: dict[str, tuple[datetime, ...]] = {}
        for some in portions(filter(is_text, chunk_ids), PAGE):
            rows = self._rows(
                "SELECT chunks.id, array_agg(at ORDER BY at) FROM accesses "
                'JOIN chunks USING ("row", namespace) WHERE chunks.id = ANY(%s) GROUP BY chunks.id',
                (some,),
            )
            for id_, moments in rows:
                found[show(id_)] = tuple(map(moment, moments))
        return found

    # Histories

    def iter_lines(self, path: str) -> Iterator[tuple[str, Lines]]:
        rows = self._rows(
            "SELECT id, start_line, end_line FROM chunks "
            "WHERE path = %s AND start_line IS NOT NULL",
            (path,),
        )
        return ((show(id_), Lines(start, end)) for id_, start, end in rows)

    def put_histories(self, histories: Mapping[str, ChunkHistory]) -> int:
        changed = 0
        with self.transaction():
            for some in portions(histories.items(), PAGE):
                told = [history for _, history in some]
                changed += self._execute(
                    _PUT_HISTORIES,
                    (
                        [id_ for id_, _ in some],
                        [str(history.tracking) for history in told],
                        [_as_array(history.commits) for history in told],
                        [history.uncommitted for history in told],
                    ),
                )
        return changed

    def get_histories(self, chunk_ids: Sequence[str]) -> Mapping[str, ChunkHistory]:
        return {
            show(row[0]): history_from(row[1:])
            for some in portions(filter(is_text, chunk_ids), PAGE)
            for row in self._rows(
                "SELECT chunks.id, tracking, commits, uncommitted, history_read_at "
                'FROM histories JOIN chunks USING ("row", namespace) '
                "LEFT JOIN files ON files.path = chunks.path WHERE chunks.id = ANY(%s)",
                (some,),
            )
        }


def _as_array(commits: Sequence[int]) -> str:
    return "{" + ",".join(str(max(-_FAR, min(at, _FAR - 1))) for at in commits) + "}"
