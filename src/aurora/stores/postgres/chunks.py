"""The chunks of a memory in PostgreSQL: written, found, counted, and named by their revisions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aurora.chunk_words import chunk_labels
from aurora.stores.base import Revision
from aurora.stores.postgres.database import Parameters, PostgresDatabase
from aurora.stores.postgres.nul import show
from aurora.stores.postgres.rows import COLUMNS, WRITTEN, as_json, chunk_from, chunk_values
from aurora.stores.postgres.words import words_of
from aurora.stores.replacing import PAGE, Replacing, embedded_text, portions
from aurora.text import is_text
from aurora.types import Chunk, Kind

_UPDATES = ", ".join(
    f"{name} = excluded.{name}" for name in WRITTEN if name not in ("id", "namespace")
)
_TYPED = ", ".join(f"{name} {type_}" for name, type_ in WRITTEN.items())
# All rows of a page are one value: the driver writes arrays in Python, text by text.
_UPSERT = f"""
    INSERT INTO chunks AS known ({", ".join(WRITTEN)}, generation)
        SELECT given.*, %s FROM json_to_recordset(%s) AS given ({_TYPED})
    ON CONFLICT (id, namespace) DO UPDATE SET {_UPDATES}, generation = excluded.generation"""
_ADD_WORDS = """
    INSERT INTO words ("row", namespace, length, weights, tsv)
        SELECT chunks."row", chunks.namespace, given.length, given.weights, given.tsv::tsvector
        FROM json_to_recordset(%s) AS given (id text, length integer, weights real[], tsv text)
        JOIN chunks ON chunks.id = given.id
    WHERE chunks.is_found"""
_MOVE = """
    UPDATE chunks SET namespace = given.namespace
    FROM unnest(%s::text[], %s::text[]) AS given (id, namespace) WHERE chunks.id = given.id"""
_RELATIVE = "path <> '' AND path NOT LIKE '/%%' AND path NOT LIKE '_:/%%'"


class PostgresChunks(PostgresDatabase, Replacing):
    """The part of `Store` that is about chunks."""

    def _replace(self, known: Mapping[str, Chunk], wanted: Mapping[str, Chunk]) -> int:
        changed = [chunk for id_, chunk in wanted.items() if known.get(id_) != chunk]
        before = [known[chunk.id] for chunk in changed if chunk.id in known]
        reworded = [
            chunk
            for chunk in changed
            if chunk.id not in known or _worded(known[chunk.id]) != _worded(chunk)
        ]
        self._remove_words([chunk.id for chunk in reworded if chunk.id in known])
        self._move([wanted[old.id] for old in before if old.namespace != wanted[old.id].namespace])
        for some in portions(changed, PAGE):
            self._write(_UPSERT, (self._draw_generation(), as_json(map(chunk_values, some))))
        self._add_words(reworded)
        self._drop_vectors(
            [old.id for old in before if embedded_text(old) != embedded_text(wanted[old.id])]
        )
        return len(changed)

    def _move(self, chunks: Sequence[Chunk]) -> None:
        """Into other namespaces, with all that hangs on them."""
        if chunks:
            moved = ([chunk.id for chunk in chunks], [chunk.namespace for chunk in chunks])
            self._write(_MOVE, moved)

    def _add_words(self, chunks: Iterable[Chunk]) -> None:
        """Words of those that may be found; statistics follow by a trigger."""
        for some in portions(chunks, PAGE):
            words = ({"id": chunk.id, **words_of(chunk)._asdict()} for chunk in some)
            self._execute(_ADD_WORDS, (as_json(words),))

    def _remove_words(self, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            self._execute(
                'DELETE FROM words USING chunks WHERE words."row" = chunks."row" '
                "AND words.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def _drop_vectors(self, chunk_ids: Sequence[str]) -> None:
        """What they were made of has changed."""
        if chunk_ids:
            self._write(
                'DELETE FROM embeddings AS made USING chunks WHERE made."row" = chunks."row" '
                "AND made.namespace = chunks.namespace AND chunks.id = ANY(%s)",
                (list(chunk_ids),),
            )

    def delete_chunks(self, chunk_ids: Iterable[str]) -> int:
        gone = 0
        with self.transaction():
            for some in portions(chunk_ids, PAGE):
                self._remove_words(some)  # at once: statistics are counted by statement
                gone += self._write("DELETE FROM chunks WHERE id = ANY(%s)", (some,))
        return gone

    def get_chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        wanted = [id_ for id_ in dict.fromkeys(chunk_ids) if is_text(id_)]
        found = {
            chunk.id: chunk
            for some in portions(wanted, PAGE)
            for chunk in map(
                chunk_from,
                self._rows(f"SELECT {COLUMNS} FROM chunks WHERE id = ANY(%s)", (some,)),
            )
        }
        return [found[id_] for id_ in chunk_ids if id_ in found]

    def get_rows(self, rows: Sequence[int]) -> Mapping[int, Chunk]:
        return {revision.row: chunk for revision, chunk in self.iter_revised(rows)}

    def _ids(self, which: str, values: Parameters = ()) -> list[str]:
        rows = self._rows(f"SELECT id FROM chunks WHERE {which}", values)
        return [show(id_) for (id_,) in rows]

    def _ids_of_file(self, path: str) -> set[str]:
        return set(self._ids("path = %s", (path,)))

    def find_ids(self, suffix: str, *, limit: int) -> list[str]:
        if not suffix or not is_text(suffix):
            return []
        return self._ids(
            "right(id, length(%(end)s::text)) = %(end)s ORDER BY id LIMIT %(limit)s",
            {"end": suffix, "limit": limit},
        )

    def find_ids_from(self, prefix: str, *, limit: int) -> list[str]:
        if not is_text(prefix):
            return []
        # A range, so that the index of ids answers: nothing sorts behind the last letter there is.
        return self._ids(
            "id >= %s AND id < %s ORDER BY id LIMIT %s",
            (prefix, f"{prefix}{chr(sys.maxunicode)}", limit),
        )

    def find_below(self, path: str) -> list[str]:
        if path == ".":
            return self._ids(f"{_RELATIVE} ORDER BY id", {})
        below = "path = %(path)s OR left(path, length(%(folder)s::text)) = %(folder)s"
        values = {"path": path, "folder": f"{path.rstrip('/')}/"}
        return self._ids(f"{below} ORDER BY id", values) if is_text(path) else []

    def find_in_namespace(self, namespace: str) -> list[str]:
        if not is_text(namespace):
            return []
        return self._ids("namespace = %s ORDER BY id", (namespace,))

    def iter_chunks(self) -> Iterator[Chunk]:
        return (chunk for _, chunk in self.iter_revised())

    def iter_revised(self, rows: Sequence[int] | None = None) -> Iterator[tuple[Revision, Chunk]]:
        if rows is None:
            yield from self._iter_all()
            return
        for some in portions(sorted(set(rows)), PAGE):
            yield from self._revised('"row" = ANY(%s) ORDER BY "row"', (some,))

    def _iter_all(self) -> Iterator[tuple[Revision, Chunk]]:
        page, last = PAGE, 0
        while page == PAGE:
            revised = self._revised('"row" > %s ORDER BY "row" LIMIT %s', (last, PAGE))
            yield from revised
            page, last = len(revised), revised[-1][0].row if revised else 0

    def _revised(self, which: str, values: Sequence[object]) -> list[tuple[Revision, Chunk]]:
        rows = self._rows(
            f'SELECT {COLUMNS}, "row", generation FROM chunks WHERE is_found AND {which}', values
        )
        return [(Revision(*row[-2:]), chunk_from(row)) for row in rows]

    def revisions(self) -> Mapping[int, int]:
        return dict(
            self._rows('SELECT "row", generation FROM chunks WHERE is_found ORDER BY "row"')
        )

    def count_chunks(self) -> Mapping[Kind, int]:
        rows = self._rows("SELECT kind, count(*) FROM chunks WHERE is_found GROUP BY kind")
        return {Kind(kind): count for kind, count in rows}

    def list_languages(self) -> list[str]:
        rows = self._rows(
            "SELECT DISTINCT language FROM chunks WHERE language <> '' ORDER BY language"
        )
        return [show(language) for (language,) in rows]

    def count_namespaces(self) -> Mapping[str, int]:
        rows = self._rows("SELECT namespace, count(*) FROM chunks GROUP BY namespace")
        return {show(namespace): count for namespace, count in rows}


def _worded(chunk: Chunk) -> tuple[str, ...]:
    """What its words are made of and where they lie."""
    return (chunk.namespace, chunk.name, chunk_labels(chunk), chunk.content)
