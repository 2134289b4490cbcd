"""Vectors that were made before, on disk: a slow model embeds a corpus once."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from aurora.embeddings.base import EmbeddingProvider


class CachedVectors:
    """Satisfies `EmbeddingProvider`: asks another one for what it has not seen yet."""

    def __init__(self, provider: EmbeddingProvider, folder: Path) -> None:
        self._provider, self._folder = provider, folder
        self.name, self.fingerprint = provider.name, provider.fingerprint
        self.dimension, self.batch_size = provider.dimension, provider.batch_size
        self.reads_cjk: bool = getattr(provider, "reads_cjk", True)

    @cached_property
    def _kept(self) -> sqlite3.Connection:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", f"{self.name}-{self.fingerprint}")
        kept = sqlite3.connect(self._folder / f"{name[:100]}.db", isolation_level=None)
        kept.execute("PRAGMA journal_mode = WAL")  # two runs may share it
        kept.execute("PRAGMA synchronous = OFF")  # what a power cut takes is made again
        kept.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB)")
        return kept

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        found = {text: self._find("text", text) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        made = self._provider.embed_batch(new) if new else []
        found |= {text: self._keep("text", text, v) for text, v in zip(new, made, strict=True)}
        return [np.frombuffer(found[text] or b"", np.float32).tolist() for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        packed = self._find("query", text)
        if packed is None:
            packed = self._keep("query", text, self._provider.embed_query(text))
        vector: list[float] = np.frombuffer(packed, np.float32).tolist()
        return vector

    def _find(self, role: str, text: str) -> bytes | None:
        sql = "SELECT vector FROM vectors WHERE digest = ?"
        row = self._kept.execute(sql, (self._digest(role, text),)).fetchone()
        return None if row is None else row[0]

    def _keep(self, role: str, text: str, vector: Sequence[float]) -> bytes:
        packed = np.asarray(vector, np.float32).tobytes()
        sql = "INSERT OR REPLACE INTO vectors VALUES (?, ?)"
        self._kept.execute(sql, (self._digest(role, text), packed))
        return packed

    def _digest(self, role: str, text: str) -> bytes:
        """The fingerprint is in it whole: of the file's name it may have been cut off."""
        told = f"{self.name}\0{self.fingerprint}\0{role}\0{text}"
        return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest()
