"""Pages of other sites in the same browser read nothing and change nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.web.conftest import FLAGS, Site, find_chromium

NAME = "rebound.example"  # a name of another site, made to lead to this machine

# Each way answers what it could read of the page.
WAYS = """
async ([address, lesson]) => {
  const read = {};
  const attempt = async (name, ask) => {
    try { read[name] = await ask(); } catch { read[name] = ""; }
  };
  const post = (mode, type) => fetch(`${address}/api/learn`, {
    method: "POST", mode, credentials: "include", headers: type ? { "Content-Type": type } : {},
    body: JSON.stringify({ text: lesson }),
  }).then((answer) => answer.text());
  await attempt("fetch", () =>
    fetch(`${address}/api/start`, { credentials: "include" }).then((answer) => answer.text()));
  await attempt("opaque", () =>
    fetch(`${address}/api/start`, { mode: "no-cors", credentials: "include" })
      .then((answer) => answer.text()));
  await attempt("post", () => post("cors", "application/json"));
  await attempt("simple post", () => post("no-cors", "text/plain"));
  await attempt("script", () => new Promise((done) => {
    const script = document.createElement("script");
    script.onload = () => done("loaded");
    script.onerror = () => done("");
    script.src = `${address}/api/start`;
    document.head.append(script);
  }));
  await attempt("events", () => new Promise((done) => {
    const events = new EventSource(`${address}/api/events`, { withCredentials: true });
    events.onmessage = () => done("heard");
    events.addEventListener("change", () => done("heard"));
    events.onerror = () => done("");
  }));
  await attempt("frame", () => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.onload = () => {
      try { done(frame.contentDocument.body.innerText); } catch { done(""); }
    };
    frame.src = address;
    document.body.append(frame);
  }));
  await attempt("form", () => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.name = "target";
    document.body.append(frame);
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: `${address}/api/learn`, target: "target" });
    form.enctype = "text/plain";
    const field = document.createElement("input");
    Object.assign(field, { name: `{"text": "${lesson}", "title": "`, value: `"}` });
    form.append(field);
    document.body.append(form);
    frame.onload = () => done("");
    form.submit();
    setTimeout(() => done(""), 2000);
  }));
  return read;
}
"""


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another site</title>")

    def log_message(self, *_: object) -> None: ...


@contextmanager
def another_site() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One in which a foreign name leads to this machine."""
    program, environ = find_chromium()
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=program, args=flags, env={**environ})
        yield browser
        browser.close()


@pytest.fixture
def signed_in(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.add_cookies([{"name": site.cookie[0], "value": site.cookie[1], "url": site.address}])
    yield context
    context.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", NAME])
def test_another_site_reads_and_changes_nothing(
    signed_in: BrowserContext, site: Site, host: str
) -> None:
    """Another port of this machine is the same site for cookies: only Origin tells them apart."""
    lesson = f"planted from {host}"
    with another_site() as port:
        page = signed_in.new_page()
        page.goto(f"http://{host}:{port}/")
        read = page.evaluate(WAYS, [site.address, lesson])
    assert {way: text for way, text in read.items() if text} == {}
    answer = json.loads(site.shell.ok("mem", "search", lesson, "--json", "--context", "9"))
    assert lesson not in str((answer["results"], answer["weak"]))


def test_a_name_that_was_made_to_lead_here_is_refused(
    signed_in: BrowserContext, site: Site
) -> None:
    page = signed_in.new_page()
    port = site.address.rpartition(":")[2]
    answer = page.goto(f"http://{NAME}:{port}/")
    assert answer is not None
    assert answer.status == 403
    assert "shop" not in answer.text()


def test_without_the_link_there_is_nothing(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    page = context.new_page()
    for path in ("/", "/?token=", "/?token=wrong", "/sessions", "/api/start"):
        answer = page.goto(site.address + path)
        assert answer is not None
        assert answer.status == 401, path
        expect(page.locator("body")).not_to_contain_text("shop")
    context.close()
