"""What else can be done in the views beside search, in two themes and widths, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from aurora.usage_log import UsageRecord, write_usage
from tests.builders import write_tree
from tests.web.conftest import Open, Site, serious, serve
from tests.web.shop import HOSTILE, make_shop

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.cli.conftest import Shell

VIEWS = (
    "/sessions", "/sessions/session-1", "/lessons", "/agents", "/map", "/map?by=meaning&q=payment",
    "/health",
)  # fmt: skip


def wait_until_still(page: Page) -> None:
    expect(page.locator("main h1, main h2").first).to_be_visible()
    page.wait_for_load_state("load")
    expect(page.get_by_text("Looking …")).to_have_count(0)
    expect(page.locator(".waiting")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_every_view_fits_and_can_be_read(
    open_page: Open, site: Site, theme: str, width: int
) -> None:
    page = open_page(width=width, color_scheme=theme)
    for view in VIEWS:
        page.goto(f"{site.address}{view}")
        wait_until_still(page)
        assert serious(page) == [], view
        for box in ("document.documentElement", "document.querySelector('main')"):
            assert page.evaluate(f"{box}.scrollWidth - {box}.clientWidth") == 0, view


def test_sessions_are_narrowed_by_words_and_by_agent(open_page: Open) -> None:
    page = open_page("/sessions")
    rows = page.get_by_role("list", name="Sessions").get_by_role("link")
    page.get_by_role("searchbox").fill("monday")
    expect(rows).to_have_count(1)
    page.get_by_role("combobox", name="Agent").select_option("codex")
    expect(page.get_by_role("heading", name="No session fits")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.get_by_role("combobox", name="Agent").select_option("claude-code")
    expect(rows).to_have_count(2)
    expect(page.get_by_role("img", name="Sessions from")).to_be_visible()


def test_markup_in_a_title_and_an_exchange_is_text(open_page: Open) -> None:
    page = open_page("/sessions")
    page.get_by_role("link", name=HOSTILE).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Titles with {HOSTILE}")
    expect(page.get_by_role("region", name="Exchange 1 of 1")).to_contain_text(
        f"Nothing: {HOSTILE} is text"
    )
    assert page.locator("main img").count() == 0


def test_an_entry_that_is_gone_is_an_error_in_the_dialog(open_page: Open, site: Site) -> None:
    id_ = site.shell.ok("mem", "learn", "a lesson that another browser forgets").strip()
    page = open_page("/lessons", is_refused=True)
    lesson = page.get_by_role("listitem").filter(has_text="another browser forgets")
    lesson.get_by_role("button", name="Edit").click()
    site.shell.ok("mem", "forget", id_, "--yes")
    page.get_by_role("textbox", name="Text").fill("changed")
    page.get_by_role("button", name="Replace", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(id_)
    expect(page.get_by_role("textbox", name="Text")).to_have_value("changed")


def test_escape_in_a_field_of_a_dialog_closes_the_dialog(open_page: Open) -> None:
    page = open_page("/lessons")
    page.get_by_role("button", name="Learn").click()
    expect(page.get_by_role("textbox", name="Text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_change_of_the_own_memory_shows_without_reloading(open_page: Open, site: Site) -> None:
    page = open_page("/lessons")
    expect(page.get_by_text("growing pause").first).to_be_visible()
    site.shell.ok("mem", "learn", "for me alone", "--private")
    expect(page.get_by_text("for me alone")).to_be_visible()


def test_lessons_are_chosen_by_their_state(open_page: Open, site: Site) -> None:
    site.shell.ok("mem", "learn", "prices in floats", "--score", "0.1")
    page = open_page("/lessons")
    page.get_by_role("button", name="Did not work").click()
    expect(page).to_have_url(f"{site.address}/lessons?state=failed")
    expect(page.get_by_role("list", name="Lessons").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text("prices in floats")).to_be_visible()


def test_a_decision_is_learned_with_a_title(open_page: Open) -> None:
    page = open_page("/lessons")
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("combobox", name="Kind").select_option("decision")
    expect(page.get_by_role("spinbutton")).to_have_count(0)
    page.get_by_role("textbox", name="Title").fill("Vouchers")
    page.get_by_role("textbox", name="Text").fill("They end after a year.")
    page.get_by_role("dialog").get_by_role("button", name="Learn").click()
    entry = page.get_by_role("list", name="Lessons").get_by_role("listitem").first
    expect(entry).to_contain_text("They end after a year.")
    expect(entry.get_by_role("heading", name="Vouchers")).to_be_visible()
    expect(entry).to_contain_text("decision")


def test_a_long_text_is_listed_in_part_and_edited_whole(open_page: Open, site: Site) -> None:
    site.shell.ok("mem", "learn", "parcels " + "are weighed twice " * 150 + "at the gate")
    page = open_page("/lessons")
    entry = page.get_by_role("listitem").filter(has_text="parcels are weighed")
    expect(entry).to_contain_text("more characters")
    expect(entry).not_to_contain_text("at the gate")
    entry.get_by_role("button", name="Edit").click()
    text = page.get_by_role("textbox", name="Text")
    expect(text).to_have_value(re.compile("^parcels .* at the gate$"))
    text.fill("parcels are weighed once")
    page.get_by_role("button", name="Replace", exact=True).click()
    entry = page.get_by_role("listitem").filter(has_text="parcels are weighed once")
    entry.get_by_role("button", name="Versions").click()
    first = page.get_by_role("dialog").get_by_role("listitem").last
    expect(first).not_to_contain_text("at the gate")
    first.get_by_role("button", name="more characters").click()
    expect(first).to_contain_text("at the gate")


def test_read_only_offers_no_change(shop: Shell, open_page: Open) -> None:
    with serve(shop, "--read-only") as site:
        page = open_page("/lessons", at=site)
        expect(page.get_by_text("growing pause").first).to_be_visible()
        for name in ("Learn", "Edit", "Forget"):
            expect(page.locator("main").get_by_role("button", name=name)).to_have_count(0)


def test_the_log_has_every_call(open_page: Open, site: Site) -> None:
    for number in range(120):
        record = UsageRecord(
            1.79e9 + number, "hook", "codex", "SessionStart", "start", 12, tokens=number
        )
        write_usage(site.shell.home, record)
    page = open_page("/agents")
    rows = page.get_by_role("region", name="Calls, newest first").get_by_role("row")
    expect(rows).to_have_count(101)
    expect(rows.nth(1)).to_contain_text("SessionStart · start")
    expect(rows.nth(1)).to_contain_text("119")
    page.get_by_role("button", name="Older calls").click()
    expect(rows).to_have_count(121)
    kinds = page.get_by_role("region", name="Calls by kind").get_by_role("row")
    expect(kinds.nth(1)).to_contain_text("hook start")


def test_files_can_be_coloured_and_sorted(open_page: Open) -> None:
    page = open_page("/map?folder=src/totals")
    tiles = page.locator(".treemap svg > svg")
    expect(tiles).to_have_count(8)
    page.get_by_role("combobox", name="Colour").select_option("Use")
    expect(page.locator(".treemap svg > svg.step-0")).to_have_count(8)  # never opened
    page.get_by_role("button", name="Chunks", exact=True).click()
    expect(page.get_by_role("columnheader", name="Chunks")).to_have_attribute(
        "aria-sort", "descending"
    )
    tiles.first.hover()
    expect(page.locator(".treemap figcaption")).to_contain_text("src/totals/")
    page.get_by_role("navigation", name="Folder").get_by_role("button", name="Project").click()
    table = page.get_by_role("region", name="What is in the project")
    expect(table.get_by_role("button", name="src/")).to_be_visible()


def test_the_map_of_meaning_moves_by_keys_and_names_what_is_under_the_mouse(
    open_page: Open,
) -> None:
    page = open_page("/map?by=meaning&q=charge+a+customer")
    canvas = page.locator("canvas")
    picture = "document.querySelector('canvas').toDataURL()"
    expect(
        page.get_by_role("list", name="Results that are lit up").get_by_role("link")
    ).not_to_have_count(0)
    for key in ("+", "ArrowLeft", "ArrowUp", "-", "0"):
        before = page.evaluate(picture)
        canvas.press(key)
        page.wait_for_function(f"(before) => {picture} !== before", arg=before)
    box = canvas.bounding_box()
    assert box is not None
    link = page.locator(".scatter figcaption").get_by_role("link")
    for x in range(0, int(box["width"]), 12):  # some point is near to the line across
        page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
        page.wait_for_timeout(100)
        if link.count():
            break
    expect(link).to_be_visible()
    link.click()
    expect(page.get_by_role("article")).to_be_visible()


def test_a_memory_asks_itself_and_shows_how_reliable_its_scores_are(open_page: Open) -> None:
    page = open_page("/health")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("img", name="Reliability")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("row", name="definition")).to_contain_text("%")
    assert serious(page) == []


def test_two_browsers_see_an_index_run_and_what_it_changed(open_page: Open, tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    with serve(shop) as site:
        health, files = open_page("/health", at=site), open_page("/map", at=site)
        memory = health.get_by_role("article", name="Memory shop")
        expect(memory).to_contain_text("none changed since")
        expect(files.get_by_role("button", name="totals/")).to_have_count(0)
        write_tree(
            shop.cwd, {f"new/part_{n}.py": f"def part_{n}(): return {n}\n" for n in range(900)}
        )
        with shop.start("index") as run:
            expect(health.get_by_role("progressbar")).to_be_visible()
            expect(files.locator(".corner .run")).to_be_visible()
            assert run.wait(timeout=120) == 0
        expect(health.get_by_role("progressbar")).to_have_count(0)
        expect(memory).to_contain_text("chunks of 914 files", timeout=20_000)
        expect(files.get_by_role("button", name="new/")).to_be_visible()
