"""The API of the page: the objects of `--json`, and what only the page needs."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from aurora import Memory, Places, Settings
from aurora.config.schema import UiSettings
from aurora.web.api import TABLE
from aurora.web.file_text import editor_link
from tests.cli.conftest import Shell
from tests.web.conftest import PATIENCE, Site, serve
from tests.web.shop import HOSTILE

REVOKE = "src/auth.py:revoke_session"


class Client:
    """Asks as the page does."""

    def __init__(self, site: Site) -> None:
        headers = {"Origin": site.address}
        cookies = dict([site.cookie])
        self.http = httpx2.Client(
            base_url=site.address, headers=headers, cookies=cookies, timeout=PATIENCE / 1000
        )

    def get(self, path: str, **params: Any) -> Any:
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return read(answer.text)

    def post(self, path: str, **body: Any) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def api(site: Site) -> Iterator[Client]:
    client = Client(site)
    yield client
    client.http.close()


def printed(shell: Shell, *words: str) -> Any:
    return read(shell.ok(*words, "--json"))


def read(text: str) -> Any:
    """A score changes by the second, as uses get older."""
    return json.loads(text, parse_float=lambda digits: round(float(digits), 3))


def test_a_search_is_that_of_the_command_line(api: Client, shop: Shell) -> None:
    query = "type:function check a password"
    answer = api.get("/api/search", q=query, limit=3)
    command = printed(shop, "mem", "search", query, "--limit", "3", "--context", "2")

    extra = {name: answer.pop(name) for name in ("parsed", "facets", "generation", "milliseconds")}
    confidences = [row.pop("confidence") for row in answer["results"]]
    answer["index"].pop("age_seconds")
    command["index"].pop("age_seconds")
    assert answer == command
    assert all(0 < each <= 1 for each in confidences)
    assert extra["parsed"] == {
        "words": "check a password",
        "filters": [{"text": "type:function", "key": "type", "value": "function"}],
    }
    assert set(extra["facets"]) == {"layer", "kind", "language", "folder", "agent", "time"}


def test_a_facet_s_filter_finds_as_many_as_it_counts(api: Client) -> None:
    facets = api.get("/api/search", q="total of prices")["facets"]
    checked = [facet for name in ("kind", "language", "folder") for facet in facets[name]]

    assert len(checked) >= 3
    for facet in checked:
        narrowed = api.get("/api/search", q=f"total of prices {facet['filter']}", limit=100)
        assert len(narrowed["results"]) >= facet["count"], facet
    assert api.get("/api/search", q="total of prices", facets=0)["facets"] == {}


def test_a_chunk_is_that_of_the_command_line(api: Client, shop: Shell) -> None:
    chunk = api.get("/api/chunk", id=REVOKE)

    assert chunk.pop("memory") == "shop"
    assert chunk == printed(shop, "mem", "get", REVOKE)


def test_a_file_has_its_lines_with_the_classes_of_their_words(api: Client, shop: Shell) -> None:
    file = api.get("/api/file", id=REVOKE)

    lines = ["".join(text for _, text in line) for line in file["lines"]]
    assert lines == (shop.cwd / "src/auth.py").read_text().split("\n")
    assert ["k", "def"] in file["lines"][3]
    assert "TokenStore.rotate" in [entry["name"] for entry in file["outline"]]
    assert re.fullmatch(r"vscode://file/.*/shop/src/auth\.py:9", file["editor_link"])
    part = api.get("/api/file", **{"id": REVOKE, "from": 4, "to": 5})
    assert (part["first"], part["lines"]) == (4, file["lines"][3:5])


@pytest.mark.parametrize(
    ("pattern", "link"),
    [
        ("cursor://file{path}:{line}", "cursor://file/"),
        ("javascript:alert('{path}')", "vscode://file/"),
        (" javascript:alert('{path}')", "vscode://file/"),
        ("java\tscript:alert('{path}')", "vscode://file/"),
        ("https://evil.example{path}", "vscode://file/"),
        ("never", "vscode://file/"),
    ],
)
def test_the_editor_is_chosen_by_the_settings_and_is_no_script(
    shop: Shell, pattern: str, link: str
) -> None:
    settings = Settings(ui=UiSettings(links=pattern))
    with Memory(Places(shop.home, shop.cwd), settings) as memory:
        address = editor_link(memory, memory.get(REVOKE))
    assert address is not None
    assert address.startswith(link)


def test_a_long_line_is_cut(api: Client) -> None:
    found = api.get("/api/search", q="needle path:data/long.txt")["results"]
    file = api.get("/api/file", id=found[0]["id"])

    text = file["lines"][0][0][1]
    assert text.startswith("needle xxx")
    assert text.endswith("more characters")
    assert len(text) < 3_000


def test_what_led_to_a_chunk(api: Client, shop: Shell) -> None:
    charge = "src/billing.py:charge_customer"
    history = api.get("/api/history", id=charge)
    why = api.get("/api/why", id=charge)

    assert [commit["subject"] for commit in history["commits"]] == ["Charge five times", "A shop"]
    assert history["uses"]
    command = printed(shop, "mem", "why", charge)
    assert why["entries"] == command["entries"]
    assert {entry["kind"] for entry in why["entries"]} >= {"commit", "session"}


def test_similar_chunks_are_near_in_meaning(api: Client) -> None:
    near = api.get("/api/similar", id="src/totals/net.py:net_total", limit=3)["results"]

    assert len(near) == 3
    assert all(row["name"].endswith("_total") for row in near)
    scores = [row["score"] for row in near]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


def test_sessions_are_those_of_the_command_line(api: Client, shop: Shell) -> None:
    sessions = api.get("/api/sessions")
    assert sessions == {**printed(shop, "sessions", "list"), "more": False}

    newest, oldest = sessions["sessions"]
    assert newest["title"] == f"Titles with {HOSTILE}"
    assert api.get("/api/sessions", q="mondays")["sessions"] == [oldest]
    assert api.get("/api/sessions", before=newest["ended"])["sessions"] == [oldest]
    assert api.get("/api/sessions", limit=1) == {"sessions": [newest], "more": True}
    assert api.get("/api/sessions", agent="codex")["sessions"] == []
    talk = api.get(f"/api/sessions/{oldest['id']}")
    assert talk == printed(shop, "sessions", "show", oldest["id"])


def test_lessons_are_learned_replaced_and_forgotten(api: Client, shop: Shell) -> None:
    learned = api.post("/api/learn", text="deploy on Tuesdays", score=0.8)
    decision = api.post("/api/learn", text="We deploy by hand.", title="Deploys", kind="decision")
    later = api.post("/api/replace", id=learned["id"], text="deploy on Thursdays")["id"]

    current = {row["id"]: row for row in api.get("/api/lessons")["lessons"]}
    replaced = {row["id"]: row for row in api.get("/api/lessons", state="replaced")["lessons"]}
    assert (current[later]["score"], current[later]["kind"]) == (0.8, "lesson")
    assert (current[decision["id"]]["title"], current[decision["id"]]["kind"]) == (
        "Deploys", "decision",
    )  # fmt: skip
    assert learned["id"] not in current
    assert replaced[learned["id"]]["replaced_by"] == later
    history = api.get("/api/lessons/history", id=later)
    assert history == printed(shop, "mem", "history", later)
    preview = api.post("/api/forget/preview", id=decision["id"])
    assert preview["chunks"] == 1
    assert preview["what"] == ["1 chunk of the memory shop goes for good."]
    for id_ in (later, decision["id"], learned["id"]):
        assert api.post("/api/forget", id=id_) == {"forgotten": 1}
    after = api.get("/api/lessons")["lessons"]
    assert {row["id"] for row in after}.isdisjoint({later, decision["id"]})


def test_what_agents_see(api: Client, shop: Shell) -> None:
    prompt = "How do we retry a payment?"
    recalled = api.get("/api/recall", moment="prompt", text=prompt)
    assert recalled == printed(shop, "recall", prompt)

    shop.run("hook", "claude-code", "session-start")
    assert api.get("/api/calls")["more"] is False
    assert api.get("/api/savings") == printed(shop, "savings")


def test_the_map(api: Client, shop: Shell) -> None:
    files = {row[0]: row[1:] for row in api.get("/api/map/files")["files"]}
    size = (shop.cwd / "src/billing.py").stat().st_size
    bytes_, lines, chunks, uses, commits, changed, _ = files["src/billing.py"]
    assert (bytes_, lines, chunks >= 2, uses >= 1, commits) == (size, 15, True, True, 2)
    assert changed > 0

    points = api.get("/api/map/points")
    count, answer = points["count"], api.http.get("/api/map/points.bin").content
    assert len(answer) == 9 * count
    numbers = struct.unpack(f"<{2 * count}f", answer[: 8 * count])
    assert max(answer[8 * count :]) < len(points["kinds"])
    lit = api.get("/api/map/lit", q="revoke_session")["points"]
    place, id_, rank = lit[0]
    assert (id_, rank) == (REVOKE, 1)
    x, y = numbers[2 * place : 2 * place + 2]
    assert api.get("/api/map/points/near", x=x, y=y)["id"] == REVOKE


def test_health(api: Client, shop: Shell) -> None:
    health = api.get("/api/health")
    stats = printed(shop, "mem", "stats")
    assert health["stats"] == stats
    settings = {row["key"]: row for row in health["settings"]}
    assert settings["search.limit"] == {"key": "search.limit", "value": "10", "origin": "default"}
    assert health["model"]["name"] == stats["embedder"]["name"]
    findings = api.get("/api/doctor")["findings"]
    assert {finding["area"] for finding in findings} >= {"program", "memory", "settings"}


def test_another_process_s_index_run_is_told_to_all_pages(api: Client, shop: Shell) -> None:
    with (
        api.http.stream("GET", "/api/events", timeout=30) as one,
        api.http.stream("GET", "/api/events", timeout=30) as other,
    ):
        generations = [read_generations(stream) for stream in (one, other)]
        before = [next(each) for each in generations]
        Path(shop.cwd, "src/new.py").write_text("def brand_new():\n    pass\n")
        shop.ok("index", "--quick")
        changed = [next(each) for each in generations]

    assert changed[0] > before[0]
    assert changed[1] > before[1]
    assert api.get("/api/search", q="brand_new")["results"][0]["name"] == "brand_new"


def read_generations(stream: httpx2.Response) -> Iterator[int]:
    """The generations that an open page is told."""
    lines = stream.iter_lines()
    for line in lines:
        if line == "event: change":
            yield json.loads(next(lines).removeprefix("data: "))["generation"]


def test_every_route_is_described(api: Client) -> None:
    described = api.get("/api/openapi.json")
    operations = {
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    }

    routes = {(each.method, each.path.replace(":path", "")) for each in TABLE}
    assert operations == {*routes, ("GET", "/api/events")}
    search = described["paths"]["/api/search"]["get"]
    assert search["parameters"][0] == {
        "name": "q", "in": "query", "required": True, "schema": {"type": "string"},
    }  # fmt: skip
    learn = described["paths"]["/api/learn"]["post"]["requestBody"]["content"]["application/json"]
    assert learn["schema"]["required"] == ["text"]
    assert all(
        operation["summary"]
        for methods in described["paths"].values()
        for operation in methods.values()
    )


def test_a_folder_without_a_memory(tmp_path: Path) -> None:
    """The page opens, and says what to do."""
    folder = tmp_path / "empty"
    folder.mkdir()
    with serve(Shell(folder, tmp_path / ".aurora")) as site:
        client = Client(site)
        assert client.get("/api/start")["exists"] is False
        answer = client.http.get("/api/search?q=a")
        assert (answer.status_code, "aur mem index" in answer.json()["hint"]) == (404, True)
        for path in ("/api/sessions", "/api/lessons", "/api/calls", "/api/health", "/api/doctor"):
            client.get(path)
        client.http.close()


@pytest.mark.parametrize("way", ["search", "session"])
def test_an_export_is_one_safe_file(shop: Shell, tmp_path: Path, way: str) -> None:
    file = tmp_path / "out.html"
    session = printed(shop, "sessions", "list")["sessions"][0]["id"]
    what = [HOSTILE] if way == "search" else ["--session", session]

    shop.ok("ui", "--export", str(file), *what)

    text = file.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="aurora-data">(.*?)</script>', text)
    assert data
    held = json.loads(data[1])
    paths = [answer["path"] for answer in held["answers"]]
    assert paths[0] == "/api/start"
    assert {"search": "/api/search", "session": f"/api/sessions/{session}"}[way] in paths
    assert "<img" not in text
    assert str(shop.cwd) not in text
    assert "default-src 'none'; script-src 'sha256-" in text
    assert "img-src data:; base-uri 'none'; form-action 'none'\">" in text
    assert not re.search(r'(src|href)="(?!data:,")', text.partition("<style>")[0])


def test_an_export_is_redacted(shop: Shell, tmp_path: Path) -> None:
    """Also where the settings keep secrets."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    keep = ("-c", "indexing.redact_secrets=false")
    id_ = shop.ok(*keep, "mem", "learn", f"the zebra token is {secret}").strip()
    file = tmp_path / "out.html"

    shop.ok(*keep, "ui", "--export", str(file), "zebra token")
    shop.ok("mem", "forget", id_, "--yes")

    text = file.read_text(encoding="utf-8")
    assert "zebra" in text
    assert secret not in text


def test_export_needs_a_query_or_a_session(shop: Shell, tmp_path: Path) -> None:
    for words in (["--export", str(tmp_path / "x.html")], ["a query"], ["--session", "x"]):
        assert shop.run("ui", *words).returncode == 2


def test_without_its_extra_the_page_says_how_to_add_it(shop: Shell) -> None:
    start = "sys.argv = ['aur', 'ui']; from aurora.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['uvicorn'] = None; {start}"],
        cwd=shop.cwd, env=shop.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "hint: " in done.stderr
    assert "aurora-memory[ui]" in done.stderr
