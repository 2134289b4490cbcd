"""How long a person waits for the page of `aur ui`, in a real browser.

    python benchmarks/speed/page.py [--sizes 10000 500000] [--questions 60]

The chunks and questions are those of `corpus.py`; vectors are drawn by lot beyond 100,000 chunks.
The browser, which `make test` installs, is headless and on the machine of the server. Milliseconds:

    link         from the start of `aur ui` to the printed link
    paint        from the navigation to the first paint, with nothing in the cache of the browser
    first        from the navigation to the rows of a query in the address: the first search of
                 the server
    keystroke    from the last key of a question to the frame with its rows, p50 and p95; keys come
                 every 80 ms, so there are requests for its beginnings, too
    request      of these searches, as the browser sees the request
    server       of these searches, as the server says

`loaded` is what a first visit loads, in bytes. `busy` is how many times as long as its CPU time a
loop of Python takes then: 1 where nothing else is at work. A run with both sizes writes its result.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import corpus
import ours
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2]))
import record
from embedders import DrawnVectors, default_embedder

from tests.web.conftest import FLAGS, find_chromium

TINY = "AURORA_BENCHMARK_TINY" in os.environ
SIZES = (10_000, 500_000)
EMBEDDED = 100_000  # chunks of the largest memory with vectors of its own
BATCH = 5_000
BETWEEN_KEYS = 80  # milliseconds

# Answers with the milliseconds from the last key to the frame that shows the rows of a query.
WATCH = """
query => {
  performance.clearResourceTimings();  // the browser keeps 250
  let pressed = 0;
  document.addEventListener("keydown", () => { pressed = performance.now(); }, { capture: true });
  window.shown = new Promise(done => {
    const look = () => requestAnimationFrame(() => {
      const is_shown = document.querySelector(".results")?.dataset.query === query;
      is_shown ? requestAnimationFrame(() => done(performance.now() - pressed)) : look();
    });
    look();
  });
}
"""
FIRST = """
query => new Promise(done => {
  const look = () => requestAnimationFrame(() => {
    const is_shown = document.querySelector(".results")?.dataset.query === query;
    is_shown ? requestAnimationFrame(() => done(performance.now())) : look();
  });
  look();
})
"""
PAINT = """
() => new Promise(done => {
  const painted = list => list.getEntriesByName("first-contentful-paint").at(0)?.startTime;
  new PerformanceObserver(list => painted(list) && done(painted(list)))
    .observe({ type: "paint", buffered: true });
})
"""
LOADED = """
performance.getEntries().filter(entry => entry.transferSize && !entry.name.includes('/api/'))
  .reduce((sum, entry) => sum + entry.transferSize, 0)
"""
REQUEST = """
query => performance.getEntriesByType("resource").filter(entry =>
  entry.name.includes("/api/search") && new URL(entry.name).searchParams.get("q") === query &&
  new URL(entry.name).searchParams.get("facets") === "0").at(-1).duration
"""


def prepare(size: int) -> Path:
    """A project with a memory of so many chunks, made once."""
    project = corpus.CACHE / "page" / str(size)
    folder = project / ".aurora"
    if not (project / "made").exists():
        folder.mkdir(parents=True)
        found = corpus.chunks(size)
        while batch := list(islice(found, BATCH)):
            ours.put_chunks(folder, batch)
        ours.add_vectors(folder, default_embedder() if size <= EMBEDDED else DrawnVectors())
        (folder / ours.VECTORS).touch()
        ours.refresh_index(folder)
        (project / "made").touch()
    return project


@contextmanager
def serving(project: Path) -> Iterator[tuple[str, float]]:
    """The link of a fresh server, and the milliseconds to it."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "aurora", "ui", "--no-open", "--read-only"],
            cwd=project, env={**os.environ, "AURORA_HOME": home}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stderr is not None
        try:
            line = next(line for line in server.stderr if "token=" in line)
            took = 1e3 * (time.perf_counter() - start)
            yield line[line.index("http") :].strip(), took
        finally:
            server.terminate()
            server.wait()


def measure(browser: Browser, project: Path, questions: Sequence[str]) -> dict[str, float]:
    first, *others = questions
    busy = measure_busy()
    with serving(project) as (link, ready):
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(link)
        paint, loaded = page.evaluate(PAINT), page.evaluate(LOADED)
        page.goto(link.split("?")[0] + "?" + "q=" + first.replace(" ", "+"))
        answered = page.evaluate(FIRST, first)
        waits = [ask(page, text) for text in others]
        page.close()
    columns = zip(("keystroke", "request", "server"), zip(*waits, strict=True), strict=True)
    return {
        "busy": (busy + measure_busy()) / 2,
        "link": ready,
        "paint": paint,
        "first": answered,
        "loaded": loaded,
        **{f"{name}_{share}": at(times, share) for name, times in columns for share in (50, 95)},
    }


def measure_busy() -> float:
    wall, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.5:
        pass
    return (time.perf_counter() - wall) / (time.process_time() - cpu)


def ask(page: Page, text: str) -> tuple[float, float, float]:
    """Type a question; milliseconds to its rows, of the request, and of the server."""
    field = page.get_by_role("searchbox")
    field.fill("")
    page.evaluate(WATCH, text)
    with page.expect_response(lambda answer: is_of(answer.url, text)) as response:
        field.press_sequentially(text, delay=BETWEEN_KEYS)
    shown = page.evaluate("window.shown")
    return shown, page.evaluate(REQUEST, text), response.value.json()["milliseconds"]


def is_of(url: str, text: str) -> bool:
    given = parse_qs(urlsplit(url).query)
    return given.get("q") == [text] and given.get("facets") == ["0"]


def at(times: Sequence[float], share: int) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[share - 1]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--questions", type=int, default=60)
    given = options.parse_args()
    corpus.CACHE.mkdir(parents=True, exist_ok=True)
    corpus.fetch_packages()
    asked = [question.text for question in corpus.questions()][: given.questions + 1]
    program, environ = find_chromium()
    measured: dict[str, dict[str, float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS), env=environ)
        for size in given.sizes:
            measured[str(size)] = measure(browser, prepare(size), asked)
            cells = (f"{name} {value:,.0f}" for name, value in measured[str(size)].items())
            print(f"{size:,} chunks: " + ", ".join(cells))
        browser.close()
    if set(given.sizes) >= set(SIZES) and not TINY:
        record.save("page", {"sizes": measured}, packages=("playwright",))


if __name__ == "__main__":
    main()
