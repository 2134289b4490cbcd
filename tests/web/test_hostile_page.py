"""Names, code, headings and lessons that try to run in the page are shown, and nothing runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.web.conftest import Open, Site, serve

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
NAME = f"{IMAGE}'\"&{{}}.py"
FILES = {
    f"src/{NAME}": f'"""{SCRIPT} {IMAGE}"""\n\n\ndef zebra_stripes():\n    return "{SCRIPT}"\n',
    "docs/zebra.md": f"# {IMAGE} [zebra](javascript:alert(3))\n\n<iframe src='javascript:alert(4)'>"
    f"</iframe>\n\n## {SCRIPT}\n\nzebra headings\n",
    "data/wide.txt": "zebra " + "<b>" * 3_500_000,  # 10 MB in a line
    "data/wide.js": f"const zebra = '{'y' * 900_000}';\n",
}
LONG = "a_project_with_a_long_name_" * 6
MARKUP = "document.querySelectorAll('img, iframe, object, b, [onerror], #page script').length"


@pytest.fixture(scope="module")
def zebra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("hostile")
    write_tree(root / LONG, FILES)
    shell = Shell(root / LONG, root / ".aurora")
    shell.bash("git init --quiet")
    shell.ok("index", "--quick")
    shell.ok("mem", "learn", f"zebra lesson {IMAGE} {SCRIPT}")
    shell.ok("mem", "add", "--document-type", IMAGE, str(root / LONG / "docs/zebra.md"))
    (root / "long.txt").write_text("zebra " + "<b>" * 30_000)
    shell.ok("mem", "add", str(root / "long.txt"))
    with serve(shell) as site:
        yield site


def expect_only_text(page: Page) -> None:
    expect(page.get_by_role("main")).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    assert page.evaluate(MARKUP) == 0


def test_a_search_and_all_its_results(open_page: Open, zebra: Site) -> None:
    page = open_page("/?q=zebra", at=zebra)
    expect(page.get_by_text("zebra_stripes").first).to_be_visible()
    expect_only_text(page)
    rows = page.request.get(f"{zebra.address}/api/search?q=zebra").json()["results"]

    assert {"src", "docs"} <= {(row["path"] or "").partition("/")[0] for row in rows}
    for row in rows:
        address = urlencode({"q": "zebra", "id": row["id"], "memory": row["memory"]})
        page.goto(f"{zebra.address}/?{address}")
        expect(page.locator(".result")).to_be_visible()
        expect_only_text(page)


@pytest.mark.parametrize(
    "path",
    [f"/?q={quote(IMAGE)}", f"/?q={quote(SCRIPT)}", "/lessons", "/map", "/health", "/agents"],
)
def test_a_view_shows_markup_as_text(open_page: Open, zebra: Site, path: str) -> None:
    page = open_page(path, at=zebra, width=360)
    expect_only_text(page)
    for box in ("document.documentElement", "document.querySelector('main')"):
        assert page.evaluate(f"{box}.scrollWidth") == 360  # the project's name is long


def test_a_document_in_a_long_line_is_cut(open_page: Open, zebra: Site) -> None:
    page = open_page("/lessons", at=zebra)
    expect(page.get_by_text(re.compile(r"8\d,\d{3} more characters"))).to_be_visible()
    rows = page.request.get(f"{zebra.address}/api/search?q=zebra&facets=0").json()["results"]
    id_ = next(row["id"] for row in rows if row["name"] == "long.txt")
    page.goto(f"{zebra.address}/?{urlencode({'q': 'zebra', 'id': id_})}")
    expect(page.locator(".result .plain")).to_contain_text("<b><b>")
    assert page.evaluate("document.body.innerText.length") < 50_000


def test_an_exported_file(zebra: Site, tmp_path: Path) -> None:
    file = tmp_path / "zebra.html"
    zebra.shell.ok("ui", "--export", str(file), f"zebra {SCRIPT}")

    text = file.read_text(encoding="utf-8")

    assert text.count("<script") == 2  # the data and the page
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert len(text) < 1_000_000
