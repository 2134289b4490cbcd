"""Take the pictures of the page of `aur ui`: this repository, with sessions and lessons made up.

make pictures        # python docs/page_pictures.py, a few minutes
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.cli.conftest import Shell  # noqa: E402
from tests.web.conftest import FLAGS, find_chromium, serve  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = ViewportSize(width=1200, height=680)
LESSONS = (
    ("Retry a commit that meets a locked database with growing pauses.", "0.8"),
    ("Compressing the posting lists with zlib: reading became four times slower.", "0.2"),
    ("Keep one SQLite connection for each thread; a shared one serialises all searches.", "0.95"),
)
LATER = "Keep one SQLite connection for each thread, and close it when the thread ends."
PROMPTS = (
    "where are the settings of a project file read and approved by the user",
    "retry a commit when the database is locked by another process",
)
QUERY = "how is a damaged index file noticed"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    program, environ = find_chromium()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shell = make_memory(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=program, args=list(FLAGS), env={"HOME": folder, **environ}
        )
        with serve(shell) as site:
            name, value = site.cookie
            for theme in ("light", "dark"):
                context = browser.new_context(viewport=SIZE, color_scheme=theme)
                context.add_cookies([{"name": name, "value": value, "url": site.address}])
                take_pictures(context.new_page(), site.address, theme)
        browser.close()


def make_memory(folder: Path) -> Shell:
    """A clone of this repository with its memory, and a home with sessions and lessons."""
    home, project = folder / "ana", folder / "ana" / "aurora"
    shutil.copytree(ROOT / "tests" / "sources" / "sessions" / "home", home)
    subprocess.run(["git", "clone", "--quiet", ROOT, project], check=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Ana\n", encoding="utf-8")
    shell = Shell(project, home / ".aurora")
    shell.ok("index")
    shell.ok("sessions", "import")
    for text, score in LESSONS:
        id_ = shell.ok("mem", "learn", text, "--score", score).strip()
    shell.ok("mem", "learn", LATER, "--score", "0.95", "--replaces", id_)
    for prompt in PROMPTS:
        asked = {"session_id": "1", "cwd": str(project), "prompt": prompt}
        event = folder / "event.json"
        event.write_text(json.dumps(asked), encoding="utf-8")
        with event.open("rb") as stdin:
            shell.run("hook", "claude-code", "UserPromptSubmit", stdin=stdin)
    return shell


def take_pictures(page: Page, address: str, theme: str) -> None:
    if theme == "dark":
        page.goto(f"{address}/map?by=meaning&q={QUERY}")
        page.get_by_role("list", name="Results that are lit up").wait_for(timeout=120_000)
        take(page, "meaning")
        page.goto(f"{address}/sessions")
        take(page, "sessions")
        return
    rows = page.get_by_role("list", name="Results").get_by_role("link")
    for _ in range(2):  # the first search of a server loads the model
        page.goto(f"{address}/?q={QUERY}")
        rows.first.wait_for(timeout=120_000)
        page.wait_for_timeout(3000)  # facets
    rows.first.click()
    take(page, "search")
    for name in ("lessons", f"agents?moment=prompt&text={PROMPTS[-1]}", "map"):
        page.goto(f"{address}/{name}")
        take(page, name.partition("?")[0])
    page.goto(f"{address}/health")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("img", name="Reliability").wait_for(timeout=120_000)
    page.get_by_role("region", name="find its own content").screenshot(
        path=PICTURES / "page-health.png"
    )


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(3000)  # the slowest answers
    page.screenshot(path=PICTURES / f"page-{name}.png")


if __name__ == "__main__":
    main()
