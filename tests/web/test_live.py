"""What another process writes shows in every open page without reloading."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.web.conftest import Open, Site


def test_two_browsers_see_a_change_without_reloading(open_page: Open, site: Site) -> None:
    pages = [open_page("/?q=refund+a+customer") for _ in range(2)]
    rows = [page.get_by_role("list", name="Results").get_by_role("link") for page in pages]
    for row in rows:
        expect(row.first).to_be_visible()
        expect(row.filter(has_text="refund_customer")).to_have_count(0)
    code = 'def refund_customer(customer: str) -> None:\n    """Refund a customer."""\n'
    (site.shell.cwd / "src" / "refunds.py").write_text(code, encoding="utf-8")
    site.shell.ok("index")
    for row in rows:
        expect(row.first).to_contain_text("refund_customer")
