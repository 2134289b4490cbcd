"""A search or a session as one file, opened from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.conftest import Shell
from tests.web.conftest import note_problems, serious
from tests.web.shop import HOSTILE


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """One without a network."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)
    page = context.new_page()
    problems: list[str] = []
    note_problems(page, "file://", problems, is_refused=False)
    yield page
    context.close()
    assert problems == []


def test_a_search_as_a_file(shop: Shell, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "search.html"
    shop.ok("ui", "--export", str(file), f"heading with markup {'that is long ' * 5}")
    page.goto(file.as_uri())
    rows = page.get_by_role("list", name="Results").get_by_role("link")
    rows.filter(has_text="heading with markup").first.click()
    pane = page.get_by_role("article")
    expect(pane).to_contain_text(f"A heading with markup: {HOSTILE}")
    expect(pane).not_to_contain_text("does not hold")
    expect(page.locator("[onerror]")).to_have_count(0)
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.keyboard.press("Escape")
    expect(pane).to_have_count(0)
    assert str(shop.cwd) not in file.read_text(encoding="utf-8")


def test_a_session_as_a_file(shop: Shell, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "session.html"
    shop.ok("ui", "--export", str(file), "--session", "session-1")
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("Payments fail on Mondays")
    expect(page.get_by_role("main")).to_contain_text("The gateway is slow on Mondays")
    assert serious(page) == []
