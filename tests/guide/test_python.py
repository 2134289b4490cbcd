"""docs/guide/python.md: every example of it, run in order on a real project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import aurora
from tests.guide.shop import make_shop

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.long
def test_every_example_prints_what_the_page_says(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    make_shop(shop)
    blocks = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    program = "print('-' * 9)\n".join(code for code, _ in blocks)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AURORA_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=shop, env={**environ, "HOME": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.split("-" * 9 + "\n") == [printed for _, printed in blocks]
    assert (shop / ".aurora" / "memory.db").exists()
    assert not (tmp_path / ".aurora" / "memory.db").exists()


def test_every_verb_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for verb in ("open", "index", "search", "get", "add", "add_all", "learn", "forget", "stats",
                 "export", "watch", "close"):  # fmt: skip
        assert re.search(rf"[.`]{verb}\b", text), verb
        assert hasattr(aurora.Memory, verb)
