"""docs/guide/quickstart.md: every command, run on a real project in its own environment.

After a change that is meant: `python -m tests.guide.test_quickstart` fills in what they print now.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from tests.guide.pages import filled_in, read_steps, run_steps, without_time
from tests.guide.shop import make_shop

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "quickstart.md"


def run_guide(folder: Path) -> list[str]:
    """What its commands print, in a home and a folder with nothing but the shop and a clone."""
    make_shop(folder / "shop")
    (folder / "aurora").symlink_to(ROOT)
    commands = [step.command for step in read_steps(PAGE.read_text(encoding="utf-8"))]
    python = Path(sys.executable).resolve().parent
    environment = {
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(python), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # test_packaging.py installs what Aurora depends on; here it comes from our environment.
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    printed = run_steps(commands, cwd=folder, env=environment)
    return [text.replace(str(folder), "~") for text in printed]


@pytest.mark.long
def test_every_command_of_the_quickstart_prints_what_it_says(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for step, printed in zip(read_steps(page), run_guide(tmp_path), strict=True):
        assert without_time(printed) == without_time(step.printed), step.command


def test_the_quickstart_shows_what_a_newcomer_needs() -> None:
    """So that no command gets lost from it."""
    commands = " ".join(step.command for step in read_steps(PAGE.read_text(encoding="utf-8")))
    for word in ("index", "search", "get", "add", "learn", "forget", "stats", "export", "import"):
        assert f"aur mem {word}" in commands
    for word in ("--show-scores", "--context", "--json", "doctor", "completion"):
        assert word in commands


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a | 2 days ago", "a | 3 weeks ago", True),
        ("a   | b\n----+--", "a | b\n--+--", True),
        ("a | 0.980", "a | 0.979", True),
        ("a | 0.980\nb | 0.970", "b | 0.980\na | 0.970", False),
        ("a", "a\nb", False),
    ],
)
def test_only_time_and_space_may_differ(said: str, printed: str, *, same: bool) -> None:
    assert (without_time(said) == without_time(printed)) is same


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(filled_in(page, run_guide(Path(name).resolve())), encoding="utf-8")
