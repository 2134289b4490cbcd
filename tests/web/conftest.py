"""A real browser, a project with a past, and the page of `aur ui` over it."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Shell
from tests.web.shop import make_shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

INSTALLED = Path(sys.prefix) / "browser"  # by `make test`
AXE = INSTALLED / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NO_BROWSER = (
    "There is no Chromium for the tests of the page. On x86-64 `make test` installs one from npm; "
    "elsewhere install it with the system's packages, such as `apt install chromium`."
)
NO_AXE = "axe-core is missing: `make test` installs it from npm."


@dataclass(frozen=True)
class Site:
    """A running `aur ui`."""

    shell: Shell
    link: str  # works once
    address: str


@contextmanager
def serve(shell: Shell, *words: str) -> Iterator[Site]:
    """Start `aur ui` for a project, and end it."""
    server = shell.start("ui", "--no-open", *words)
    try:
        assert server.stderr is not None
        line = next((line for line in server.stderr if "token=" in line), "")
        link = re.search(r"(http://[^/]+)/\?token=\S+", line)
        assert link, server.stderr.read()
        yield Site(shell, link[0], link[1])
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return make_shop(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="package")
def site(shop: Shell) -> Iterator[Site]:
    with serve(shop) as site:
        yield site


def find_chromium() -> tuple[str, dict[str, str | float | bool]]:
    """The program, and the environment that it needs besides."""
    if platform.machine() == "x86_64" and (INSTALLED / "chromium").is_file():
        libraries = str(INSTALLED / "al2023" / "lib")  # of those that the system may lack
        fonts = {} if Path("/etc/fonts").exists() else {"FONTCONFIG_PATH": str(INSTALLED / "fonts")}
        return str(INSTALLED / "chromium"), {"LD_LIBRARY_PATH": libraries, **fonts}
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    for path in filter(None, map(shutil.which, names)):
        return path, {}
    pytest.fail(NO_BROWSER)


@pytest.fixture(scope="module")  # while it is there, no other test of the process may use asyncio
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    program, environ = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=list(FLAGS), env={"HOME": str(Path.home()), **environ}
        )
        yield browser
        browser.close()


class _State:
    """The cookie of the first visit, for the others."""

    cookie: dict[str, object] | None = None


Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def signed_in(browser: Browser, site: Site) -> list[dict[str, object]]:
    """The cookie that the one-time link gave."""
    context = browser.new_context()
    context.new_page().goto(_new_link(site))
    cookies = context.cookies()
    context.close()
    return cookies
