"""The memories that were kept, one of every schema there ever was."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "memories"


def kept(kind: str) -> list[str]:
    """Names of those of a kind (`sqlite`, `postgres`, `export`), oldest first."""
    names = [path.name for path in FOLDER.glob(f"{kind}-*.gz")]
    return sorted(names, key=lambda name: (number(name), name))


def number(name: str) -> int:
    """Of its schema, or of its format."""
    found = re.search(r"-(\d+)", name)
    assert found is not None, name
    return int(found[1])


def content(name: str) -> bytes:
    return gzip.decompress((FOLDER / name).read_bytes())


def unpack(name: str, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(content(name))
    return to
