"""Chunks in SQLite."""

import json
import sqlite3

_SCHEMA = """
CREATE TABLE IF NOT EXISTS chunks (
    chunk_id TEXT PRIMARY KEY, path TEXT, name TEXT, content TEXT, metadata TEXT
)
"""


class MemoryStore:
    """Reads and writes chunks by chunk_id; the same chunk_id replaces what was there."""

    def __init__(self, path):
        self._connection = sqlite3.connect(path)
        self._connection.execute(_SCHEMA)

    def put(self, chunk):
        """Every chunk has a chunk_id; a chunk_id is never empty."""
        self._connection.execute(
            "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)",
            (chunk.chunk_id, chunk.path, chunk.name, chunk.content, json.dumps(chunk.metadata)),
        )

    def get(self, chunk_id):
        """One row by chunk_id; None where no chunk has that chunk_id."""
        asked = "SELECT * FROM chunks WHERE chunk_id = ?"
        return self._connection.execute(asked, (chunk_id,)).fetchone()

    def delete(self, chunk_id):
        """Forget a chunk_id. A chunk_id nobody knows is no error."""
        self._connection.execute("DELETE FROM chunks WHERE chunk_id = ?", (chunk_id,))
