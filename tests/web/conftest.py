"""A real browser, a project with a past, and the page of `aur ui` over it."""

from __future__ import annotations

import platform
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.cli.conftest import Shell
from tests.web.shop import make_shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

INSTALLED = Path(sys.prefix) / "browser"  # by `make test`
AXE = INSTALLED / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
CHROME_OF_MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
NO_BROWSER = (
    "There is no Chromium for the tests of the page. On x86-64 `make test` installs one from npm; "
    "elsewhere install it with the system's packages, such as `apt install chromium`."
)
PATIENCE = 30_000  # milliseconds: a machine may be busy
NO_AXE = "axe-core is missing: `make test` installs it from npm."


@dataclass(frozen=True)
class Site:
    """A running `aur ui`."""

    shell: Shell
    address: str
    cookie: tuple[str, str]


@contextmanager
def serve(shell: Shell, *words: str) -> Iterator[Site]:
    """Start `aur ui` for a project, and end it."""
    with shell.start("ui", "--no-open", *words) as server:
        try:
            assert server.stderr is not None
            said = next((line for line in server.stderr if "token=" in line), "")
            link = re.search(r"(http://[^/]+)/\?token=\S+", said)
            assert link, server.stderr.read()
            entered = httpx2.get(link[0], timeout=PATIENCE / 1000)
            name, value = entered.headers["set-cookie"].split(";")[0].split("=", 1)
            yield Site(shell, link[1], (name, value))
        finally:
            server.send_signal(signal.SIGTERM)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return make_shop(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def site(shop: Shell) -> Iterator[Site]:
    with serve(shop) as site:
        yield site


def find_chromium() -> tuple[str, dict[str, str | float | bool]]:
    """The program, and the environment that it needs besides."""
    if platform.machine() == "x86_64" and (INSTALLED / "chromium").is_file():
        libraries = str(INSTALLED / "al2023" / "lib")  # of those that the system may lack
        fonts = {} if Path("/etc/fonts").exists() else {"FONTCONFIG_PATH": str(INSTALLED / "fonts")}
        return str(INSTALLED / "chromium"), {"LD_LIBRARY_PATH": libraries, **fonts}
    names = ("chromium", "chromium-browser", "google-chrome", CHROME_OF_MACOS)
    for path in filter(None, map(shutil.which, names)):
        return path, {}
    pytest.fail(NO_BROWSER)


@pytest.fixture(scope="module")  # while it is there, no other test of the process may use asyncio
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    program, environ = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=list(FLAGS), env={"HOME": str(Path.home()), **environ}
        )
        yield browser
        browser.close()


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Open]:
    """Opens views of the page. None may ask another host, and nothing in them may go wrong."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_page(
        path: str = "/",
        at: Site = site,
        *,
        width: int = 1400,
        is_refused: bool = False,
        **options: Any,
    ) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.add_cookies([{"name": at.cookie[0], "value": at.cookie[1], "url": at.address}])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        note_problems(page, at.address, problems, is_refused=is_refused)
        page.goto(at.address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def note_problems(page: Page, address: str, problems: list[str], *, is_refused: bool) -> None:
    """Write down errors, dialogs, and requests to another host. A refusal is an error, too."""

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error" and not (is_refused and " status of 4" in message.text):
            problems.append(message.text)

    def note_request(request: Request) -> None:
        if not request.url.startswith((f"{address}/", "data:", "blob:")):
            problems.append(f"asked {request.url}")

    page.on("console", note_message)
    page.on("request", note_request)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))


def serious(page: Page) -> list[str]:
    """What axe finds serious or worse."""
    assert AXE.is_file(), NO_AXE
    page.evaluate(AXE.read_text(encoding="utf-8"))  # `evaluate` is not bound by the page's policy
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in found
        for node in rule["nodes"]
        if rule["impact"] in ("serious", "critical")
    ]
