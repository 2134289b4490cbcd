"""A provider that another package brings: real vectors, made slowly, and every text counted.

`install` writes that package, as pip would: a module and the entry point that names it.
"""

from __future__ import annotations

from pathlib import Path

MODULE = """
import os, time
from aurora.embeddings.aurora.provider import AuroraProvider

class Turtle(AuroraProvider):
    def __init__(self, options):
        super().__init__(options._replace(model="shallow"))
        self.name, self.fingerprint, self.batch_size = "turtle/slow", "1", 2

    def embed_batch(self, texts):
        time.sleep(float(os.environ.get("TURTLE_PAUSE", "0")))
        with open(os.environ["TURTLE_LOG"], "a") as log:
            log.write("x" * sum("\\n" in text for text in texts))  # a chunk's, not a path's
        return [vector[::-1] for vector in super().embed_batch(texts)]

    def embed_query(self, text):
        return super().embed_batch([text])[0][::-1]
"""


def install(folder: Path) -> dict[str, str]:
    """The environment in which the package is installed."""
    info = folder / "turtle-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "turtle.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: turtle\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[aurora.embedding_providers]\nturtle = turtle:Turtle\n")
    return {"PYTHONPATH": str(folder), "TURTLE_LOG": str(folder / "log")}
