"""The files of a project that is indexed again and again while it changes."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

from tests.builders import write_tree

FILES: dict[str, str | bytes] = {
    f"part{n % 3}/m{n}.py": "".join(f"def f{n}_{i}():\n    return {i}\n\n\n" for i in range(4))
    for n in range(12)
}
_turns = itertools.count()
_lock = threading.Lock()


def edit_files(root: Path) -> None:
    """Another text in some, one gone, one back. Two processes may do so at the same time."""
    with _lock:
        turn = next(_turns)
    for name, text in list(FILES.items())[turn % 4 :: 4]:
        assert isinstance(text, str)
        write_tree(root, {name: f"{text}def turn():\n    return {turn}\n"})
    (root / f"part{turn % 3}" / f"m{turn % 12}.py").unlink(missing_ok=True)
