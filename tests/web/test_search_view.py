"""Search and a result, in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.web.conftest import Open, serious


def test_a_search_and_a_result_by_keys_alone(open_page: Open) -> None:
    page = open_page()
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("charge a customer")
    first = page.get_by_role("list", name="Results").get_by_role("link").first
    expect(first).to_contain_text("charge_customer")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    pane = page.get_by_role("article")
    expect(pane.get_by_role("heading", level=2)).to_have_text("charge_customer")
    expect(pane.get_by_role("region", name="Lines 1 to")).to_contain_text("for attempt in range(5)")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(pane).to_have_count(0)
