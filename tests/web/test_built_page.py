"""The built page: small, the same on every machine, and without another host."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import aurora

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "web"
BUILT = Path(aurora.__file__).parent / "web" / "page"
BIN = Path(sys.executable).parent


def read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_page_is_at_most_150_kilobytes() -> None:
    loaded = {name: gzip.compress(data) for name, data in read(BUILT).items()}
    assert {"index.html", "page.js", "page.css"} <= set(loaded)
    assert sum(map(len, loaded.values())) <= 150_000


def test_the_page_names_no_other_host() -> None:
    names_of_formats = {b"http://www.w3.org"}  # of SVG and MathML: nothing is loaded from there
    for name in ("index.html", "page.js", "page.css"):
        hosts = set(re.findall(rb"https?://[\w.-]+", (BUILT / name).read_bytes()))
        assert hosts <= names_of_formats


def test_the_page_never_makes_markup_of_a_text() -> None:
    for path in (SOURCES / "src").rglob("*.ts*"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(",
                             path.read_text(encoding="utf-8"), re.IGNORECASE), path  # fmt: skip


def test_what_builds_the_page_has_exact_versions_and_no_address_of_a_registry() -> None:
    package = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    assert all(
        re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values()
    )
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock


def test_the_sources_build_the_committed_page(tmp_path: Path) -> None:
    assert (SOURCES / "node_modules" / "vite").is_dir(), "run `make page` first"
    environ = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = [BIN / "npm", "run", "build", "--", "--outDir", tmp_path / "page"]
    done = subprocess.run(
        command, cwd=SOURCES, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert read(tmp_path / "page") == read(BUILT), "`make page` builds it anew"
