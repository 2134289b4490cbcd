"""Reads a folder into the memory."""

import hashlib
from pathlib import Path

from atlas.memory.code_chunk import parse_python


class MemoryIndexer:
    """Keeps the store in step with the files: only what changed is parsed again."""

    def __init__(self, store):
        self.store = store
        self.digests: dict[str, str] = {}

    def index_folder(self, root):
        """Number of files that were new or different."""
        changed = 0
        for path in sorted(Path(root).rglob("*.py")):
            changed += self.index_file(path)
        return changed

    def index_file(self, path):
        text = path.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if self.digests.get(str(path)) == digest:
            return False
        for chunk in parse_python(str(path), text):
            self.store.put(chunk)
        self.digests[str(path)] = digest
        return True
