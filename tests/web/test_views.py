"""Sessions, lessons, agents, the map and health, in a real browser: one way through each."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.web.conftest import Open, serious
from tests.web.shop import FILES


def test_sessions_are_read_by_keys_alone(open_page: Open) -> None:
    page = open_page()
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.type("gs")
    rows = page.get_by_role("list", name="Sessions").get_by_role("link")
    expect(rows).to_have_count(2)
    assert serious(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Payments fail on Mondays")
    exchange = page.get_by_role("region", name="Exchange 1 of 1")
    expect(exchange).to_contain_text("charge_customer now tries five times")
    expect(exchange.get_by_role("link", name="src/billing.py")).to_be_visible()
    expect(exchange).to_contain_text("$ git commit --quiet --all")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(rows).to_have_count(2)


def test_a_lesson_is_learned_replaced_and_forgotten_by_keys_alone(open_page: Open) -> None:
    page = open_page("/lessons")
    lessons = page.get_by_role("list", name="Lessons").get_by_role("listitem")
    expect(lessons.first).to_contain_text("retry a payment with a growing pause")
    page.get_by_role("button", name="Learn").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Text")).to_be_focused()
    page.keyboard.type("Taxes are rounded once, at the end.")
    assert serious(page) == []
    page.get_by_role("spinbutton").fill("0.2")
    page.keyboard.press("Enter")
    expect(lessons).to_have_count(2)
    lesson = lessons.filter(has_text="Taxes are rounded once")
    expect(lesson).to_contain_text("did not work")
    assert serious(page) == []

    lesson.get_by_role("button", name="Edit").press("Enter")
    page.get_by_role("textbox", name="Text").fill("Taxes are rounded for every line.")
    page.get_by_role("button", name="Replace", exact=True).press("Enter")
    lesson = lessons.filter(has_text="Taxes are rounded for every line")
    lesson.get_by_role("button", name="Versions").press("Enter")
    versions = page.get_by_role("dialog").get_by_role("listitem")
    expect(versions).to_contain_text(["for every line", "once, at the end"])
    page.keyboard.press("Escape")

    lesson.get_by_role("button", name="Forget").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 chunk of the memory shop goes for good")
    expect(dialog).to_contain_text("1 earlier version")
    dialog.get_by_role("button", name="Forget").press("Enter")
    expect(lesson).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("Forgot 1 chunk.")


def test_a_recall_says_what_each_line_costs(open_page: Open) -> None:
    page = open_page("/agents")
    page.get_by_role("combobox", name="Moment").select_option("Prompt")
    field = page.get_by_role("searchbox")
    field.fill("what should be done to retry a payment that failed with a growing pause")
    told = page.get_by_role("region", name="What the agent is told").get_by_role("row")
    expect(told.nth(1)).to_contain_text("growing pause")
    tokens = [int(cell) for cell in told.locator("td:first-child").all_inner_texts()]
    expect(page.locator(".used")).to_contain_text(f"{sum(tokens)} of 400 tokens")
    assert serious(page) == []


def test_files_are_as_large_on_the_map_as_on_the_disk(open_page: Open) -> None:
    page = open_page("/map?folder=src")
    table = page.get_by_role("region", name="What is in src").get_by_role("row")
    expect(table).to_contain_text(["Name", "totals/", "auth.py", "billing.py"])
    areas = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".treemap svg > svg")].map(
            (tile) => [tile.textContent, tile.width.baseVal.value * tile.height.baseVal.value]))"""
    )
    sizes = {name: len(FILES[f"src/{name}"]) for name in ("auth.py", "billing.py")}
    ratio = areas["auth.py"] / areas["billing.py"]
    assert abs(ratio - sizes["auth.py"] / sizes["billing.py"]) < 0.05
    assert serious(page) == []
    page.get_by_role("button", name="totals/").press("Enter")
    page.get_by_role("link", name="gross.py").press("Enter")
    expect(page.get_by_role("searchbox")).to_have_value("path:src/totals/gross.py")


def test_the_results_of_a_query_are_lit_up(open_page: Open) -> None:
    page = open_page("/map?by=meaning")
    expect(page.get_by_role("img", name="chunks by meaning")).to_be_visible()
    dark = "(canvas) => canvas.toDataURL()"
    before = page.locator("canvas").evaluate(dark)
    page.get_by_role("searchbox").fill("charge a customer")
    lit = page.get_by_role("list", name="Results that are lit up").get_by_role("link")
    expect(lit.first).to_have_text("src/billing.py:charge_customer")
    page.wait_for_function(
        "(before) => document.querySelector('canvas').toDataURL() !== before", arg=before
    )
    assert serious(page) == []
    lit.first.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("range(5)")


def test_health_shows_numbers_findings_and_settings(open_page: Open) -> None:
    page = open_page("/health")
    expect(page.get_by_role("article", name="Memory shop")).to_contain_text("none changed since")
    expect(page.get_by_role("article", name="Memory personal")).to_be_visible()
    expect(page.get_by_text("things are in order")).to_be_visible()
    page.get_by_role("checkbox", name="also the defaults").check()
    settings = page.get_by_role("region", name="Settings with their origin")
    expect(settings.get_by_role("row", name="search.bm25.k1")).to_contain_text("1.5")
    assert serious(page) == []
