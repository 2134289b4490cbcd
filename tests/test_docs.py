"""The documents are true: generated pages are current, links lead somewhere, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aurora.config.schema import CATALOGUE
from tests.builders import write_tree

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]

OF_A_PROJECT = ("docs/lessons",)  # folders of a user's repository


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_setting_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert [key for key in CATALOGUE if f"`{key}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_to_a_section_name_a_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    local = [(page.parent / target if target else page, name) for target, name in links
             if "://" not in target]  # fmt: skip
    assert [name for target, name in local if name not in anchors(target)] == []


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub writes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_files_named_in_the_text_exist(page: Path) -> None:
    """Paths in backticks below the folders of this repository are real ones."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|benchmarks|training)/[\w./-]+?)(?:::\w+)?`", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert [name for name in missing if name.rstrip("/") not in OF_A_PROJECT] == []


def test_every_test_named_in_the_requirements_exists() -> None:
    """A row that says which test shows a requirement cannot name one that is gone."""
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 50
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"(def|class) {test}\b", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_every_requirement_of_the_seeds_has_a_row() -> None:
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    wanted = [
        *(f"FR-{major}.{minor}" for major, last in
          [(1, 4), (2, 3), (3, 6), (4, 4), (5, 5), (6, 5), (7, 4), (8, 5), (9, 5), (10, 5), (11, 6)]
          for minor in range(1, last + 1)),
        *(f"UT-BM25-{number:02}" for number in range(1, 16)),
        *(f"UT-HYBRID-{number:02}" for number in range(1, 13)),
        *(f"UT-KNOW-{number:02}" for number in range(1, 11)),
        *(f"UT-FILTER-{number:02}" for number in range(1, 7)),
        *(f"UT-CONFIG-{number:02}" for number in range(1, 8)),
        *(f"UT-DISPLAY-{number:02}" for number in range(1, 11)),
        *(f"ST-{number}" for number in range(1, 21)),
        *(f"REQ-F1.{number}" for number in range(1, 7)),
        *(f"REQ-F2.{number}" for number in range(1, 7)),
        *(f"REQ-T{number}" for number in range(1, 7)),
    ]  # fmt: skip
    assert [name for name in wanted if not re.search(rf"\| {re.escape(name)}\b", text)] == []


def test_the_python_example_of_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.+?)```", text, re.DOTALL)
    assert example is not None
    project = write_tree(tmp_path / "project", {"settings.py": "def parse_config(): pass\n"})
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    done = subprocess.run(
        [sys.executable, "-c", example[1]],
        cwd=project,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.match(r"0\.\d{3} settings\.py:parse_config\n", done.stdout)


def test_the_readme_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
