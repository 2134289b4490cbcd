"""What can be done in the search and with a result, in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Locator, expect

from tests.web.conftest import Open, serious
from tests.web.shop import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

BILLING = "/?q=payment&id=src%2Fbilling.py%3Aretry_payment&memory=shop"


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Results").get_by_role("link")


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox").fill(text)
    expect(page).to_have_url(re.compile(re.escape(quote_plus(text)) + "$"))


def hold(page: Page, text: str) -> list[Route]:
    """Keep back searches for a text until they are let go."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/search?q={text}*", keep)
    return held


def test_a_facet_narrows_and_a_pill_widens_again(open_page: Open) -> None:
    page = open_page("/?q=payment")
    page.get_by_role("group", name="Kind").get_by_role("button", name="function").click()
    expect(page).to_have_url(re.compile(r"type%3Afunction"))
    expect(page.get_by_role("searchbox")).to_have_value("payment type:function")
    expect(rows(page).first).to_contain_text("retry_payment")
    expect(page.locator(".results .kind").filter(has_not_text="function")).to_have_count(0)
    page.get_by_role("button", name="Remove the filter type:function").click()
    expect(page.get_by_role("searchbox")).to_have_value("payment")
    expect(page.locator(".results .kind").filter(has_text="knowledge")).not_to_have_count(0)


def test_the_last_answer_wins(open_page: Open) -> None:
    page = open_page()
    held = hold(page, "authenticate")
    search(page, "authenticate")
    search(page, "cart")
    expect(rows(page).first).to_contain_text("addToCart")
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_timeout(300)
    expect(rows(page).first).to_contain_text("addToCart")


def test_old_rows_stay_until_the_new_ones_come(open_page: Open) -> None:
    page = open_page("/?q=cart")
    expect(rows(page).first).to_contain_text("addToCart")
    held = hold(page, "authenticate")
    search(page, "authenticate")
    expect(rows(page).first).to_contain_text("addToCart")
    held[0].continue_()
    expect(rows(page).first).to_contain_text("authenticate_user")


def test_the_address_holds_the_query_and_the_open_result(open_page: Open) -> None:
    page = open_page("/?q=payment")
    rows(page).filter(has_text="retry_payment").first.click()
    expect(page).to_have_url(re.compile(re.escape(BILLING)))
    page.reload()
    expect(page.get_by_role("article").get_by_role("heading", level=2)).to_have_text(
        "retry_payment"
    )
    page.go_back()
    expect(page.get_by_role("article")).to_have_count(0)
    expect(page.get_by_role("searchbox")).to_have_value("payment")


def test_bars_add_up_to_the_score(open_page: Open) -> None:
    page = open_page("/?q=charge+customer")
    expect(rows(page).first).to_contain_text("charge_customer")
    for row in rows(page).all()[:5]:
        score = float(row.locator(".score").inner_text())
        shares = row.locator(".bar").evaluate(
            "bar => [...bar.children].map(part => part.getBoundingClientRect().width"
            " / bar.getBoundingClientRect().width)"
        )
        assert sum(shares) == pytest.approx(score, abs=0.01)


def test_why_a_row_is_not_first(open_page: Open) -> None:
    page = open_page("/?q=charge+customer")
    rows(page).nth(1).click()
    pane = page.get_by_role("article")
    pane.get_by_text("Why is this not first?").click()
    values = pane.get_by_role("region", name="Why this score").locator("td.count").all_inner_texts()
    score = float(rows(page).nth(1).locator(".score").inner_text())
    assert sum(map(float, values)) == pytest.approx(score, abs=0.02)
    above = pane.locator(".above")
    expect(above).to_contain_text("charge_customer above scores")
    gap = float(re.findall(r"scores ([\d.]+) more", above.inner_text())[0])
    differences = above.locator("td.count").all_inner_texts()
    assert sum(float(text.replace("−", "-")) for text in differences) == pytest.approx(
        gap, abs=0.03
    )


def test_the_first_row_is_not_asked_why(open_page: Open) -> None:
    page = open_page("/?q=charge+customer")
    rows(page).first.click()
    expect(page.get_by_role("region", name="Why this score")).to_be_visible()
    expect(page.get_by_text("Why is this not")).to_have_count(0)


def test_a_path_and_an_id_are_copied_and_an_editor_is_offered(open_page: Open) -> None:
    page = open_page(BILLING, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy path").click()
    expect(page.get_by_role("status").filter(has_text="Path copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "src/billing.py"
    page.get_by_role("button", name="Copy id").click()
    expect(page.get_by_role("status").filter(has_text="Id copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "src/billing.py:retry_payment"
    link = page.get_by_role("link", name="Open in the editor").get_attribute("href")
    assert link is not None
    assert re.fullmatch(r"vscode://file/.*/src/billing\.py:\d+", link)


def test_the_outline_leads_to_the_other_parts_of_the_file(open_page: Open) -> None:
    page = open_page(BILLING)
    page.get_by_text("Outline of the file").click()
    page.get_by_role("link", name="charge_customer").last.click()
    expect(page.get_by_role("article").get_by_role("heading", level=2)).to_have_text(
        "charge_customer"
    )


def test_markup_in_names_headings_and_code_is_text(open_page: Open) -> None:
    page = open_page("/?q=heading+with+markup")
    rows(page).filter(has_text="heading with markup").first.click()
    pane = page.get_by_role("article")
    expect(pane).to_contain_text(f"A heading with markup: {HOSTILE}")
    expect(page.locator("img[src=x], [onerror]")).to_have_count(0)


def test_a_line_of_a_megabyte_is_cut_and_said(open_page: Open) -> None:
    page = open_page("/?q=needle+path%3Adata%2F**")
    rows(page).first.click()
    pane = page.get_by_role("article")
    expect(pane).to_contain_text("more characters")
    assert page.evaluate("document.body.innerText.length") < 100_000


def test_where_nothing_is_found_the_nearest_row_can_be_opened(open_page: Open) -> None:
    page = open_page("/?q=kubernetes+cluster+lang%3Atypescript")
    results = page.get_by_role("region", name="Results")
    expect(results).to_contain_text("Nothing was found")
    expect(page.get_by_role("complementary", name="Narrow the results")).to_have_count(0)
    results.get_by_role("link").click()
    expect(page.get_by_role("article")).to_contain_text("addToCart")


def test_similar_names_follow_the_rows(open_page: Open) -> None:
    page = open_page("/?q=charge_custmer")
    expect(
        page.get_by_text(re.compile("(Did you mean|Similar names).*charge_customer"))
    ).to_be_visible()


def test_a_row_shows_three_lines(open_page: Open) -> None:
    page = open_page("/?q=retry_payment")
    lines = rows(page).filter(has_text="retry_payment").first.locator(".snippet .text")
    expect(lines).to_have_count(3)
    expect(lines.first).to_contain_text("def retry_payment")


def test_a_commit_of_the_strip_is_named_under_the_mouse(open_page: Open) -> None:
    page = open_page("/?q=charge&id=src%2Fbilling.py%3Acharge_customer&memory=shop")
    past = page.get_by_role("region", name="History of these lines")
    strip = past.get_by_role("img")
    box = strip.bounding_box()
    assert box is not None
    strip.hover(position={"x": 3, "y": 4})
    expect(past.locator("figcaption")).to_contain_text("A shop")
    strip.hover(position={"x": box["width"] - 3, "y": 4})
    expect(past.locator("figcaption")).to_contain_text("Charge five times")
    strip.hover(position={"x": 3, "y": box["height"] - 4})
    expect(past.locator("figcaption")).to_contain_text("opened")


def test_a_refusal_says_what_to_do(open_page: Open) -> None:
    page = open_page("/?q=payment&in=nowhere", is_refused=True)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is no memory 'nowhere'")
    expect(alert).to_contain_text("there are shop, personal")
    page.get_by_role("searchbox").fill("cart")
    page.goto(page.url.replace("&in=nowhere", ""))
    expect(rows(page).first).to_be_visible()
    expect(alert).to_have_count(0)


def test_a_memory_alone_is_searched(open_page: Open) -> None:
    page = open_page("/?q=payment")
    page.get_by_role("group", name="Memory").get_by_role("button", name="personal").click()
    expect(page).to_have_url(re.compile("in=personal"))
    expect(rows(page).filter(has_text="retry_payment")).to_have_count(0)
    page.get_by_role("button", name="Search all memories").click()
    expect(rows(page).filter(has_text="retry_payment")).not_to_have_count(0)


def test_the_past_the_causes_and_what_is_alike(open_page: Open) -> None:
    page = open_page("/?q=charge&id=src%2Fbilling.py%3Acharge_customer&memory=shop")
    past = page.get_by_role("region", name="History of these lines")
    past.get_by_text("2 commits").click()
    expect(past.get_by_role("row")).to_have_count(3)
    expect(past).to_contain_text("Charge five times")
    causes = page.get_by_role("region", name="Sessions and decisions")
    similar = page.get_by_role("region", name="Similar")
    expect(similar.get_by_role("link")).not_to_have_count(0)
    causes.get_by_role("link", name="Payments fail on Mondays").click()
    expect(page).to_have_url(re.compile("/sessions/session-1$"))


def test_keys_go_to_views_open_the_help_and_change_the_theme(open_page: Open) -> None:
    page = open_page(BILLING)
    expect(page.get_by_role("article")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("article")).to_be_visible()
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.get_by_role("article")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("article")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    expect(page.get_by_role("searchbox")).to_have_value("payment")
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("/lessons$"))


def test_keys_move_through_rows_and_the_focus_comes_back(open_page: Open) -> None:
    page = open_page("/?q=total")
    expect(rows(page).nth(3)).to_be_visible()
    page.get_by_role("searchbox").press("ArrowDown")
    expect(rows(page).first).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(rows(page).nth(1)).to_be_focused()
    page.keyboard.press("End")
    place = page.evaluate("document.activeElement.parentElement.ariaPosInSet")
    assert int(place) >= rows(page).count()
    page.keyboard.press("Home")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_be_focused()
    page.keyboard.press("Escape")
    expect(rows(page).nth(1)).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("path", ["/", "/?q=payment", BILLING, "/?q=zzzzqqqq"])
def test_every_width_and_theme_can_be_read_and_used(
    open_page: Open, path: str, width: int, theme: str
) -> None:
    page = open_page(path, width=width, color_scheme=theme)
    page.wait_for_load_state("networkidle")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
    assert dark == (theme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []


def test_a_narrow_page_shows_one_thing_at_a_time(open_page: Open) -> None:
    page = open_page("/?q=payment", width=360, has_touch=True)
    rows(page).filter(has_text="retry_payment").first.tap()
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.get_by_role("button", name="Back to the results").tap()
    expect(page.get_by_role("searchbox")).to_be_visible()
