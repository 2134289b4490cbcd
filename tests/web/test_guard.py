"""Who may ask the page's server, and what it answers to everyone else."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from aurora.web.api import TABLE
from tests.web.conftest import PATIENCE, Site, serve

FOREIGN = "http://evil.example"
WAIT = PATIENCE / 1000
CHANGES_NOTHING = {"/api/links", "/api/selfcheck", "/api/forget/preview"}


@pytest.fixture
def client(site: Site) -> Iterator[httpx2.Client]:
    """A browser that used the link."""
    with httpx2.Client(base_url=site.address, cookies=dict([site.cookie]), timeout=WAIT) as client:
        yield client


@pytest.fixture
def stranger(site: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site.address, timeout=WAIT) as client:
        yield client


def test_a_link_works_once(client: httpx2.Client, site: Site) -> None:
    link = client.post("/api/links", json={}, headers={"Origin": site.address}).json()["link"]

    first, second = httpx2.get(link, timeout=WAIT), httpx2.get(link, timeout=WAIT)

    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}
    assert second.status_code == 401
    assert "set-cookie" not in second.headers
    assert "used up" in second.text


def test_a_browser_that_is_in_may_load_its_link_again(client: httpx2.Client) -> None:
    assert client.get("/?token=used").headers["location"] == "/"


@pytest.mark.parametrize("path", ["/", "/sessions", "/page.js", "/api/start", "/api/nothing"])
@pytest.mark.parametrize("cookie", [None, "wrong", ""])
def test_without_the_cookie_nothing_is_told(site: Site, path: str, cookie: str | None) -> None:
    headers = {} if cookie is None else {"Cookie": f"{site.cookie[0]}={cookie}"}
    answer = httpx2.get(site.address + path, headers=headers, timeout=WAIT)

    assert answer.status_code == 401
    assert "shop" not in answer.text


@pytest.mark.parametrize("token", ["", "x", "a" * 10_000, "%00", "ä"])
def test_a_wrong_token_opens_nothing(
    client: httpx2.Client, stranger: httpx2.Client, site: Site, token: str
) -> None:
    """Neither while a link waits to be used."""
    client.post("/api/links", json={}, headers={"Origin": site.address})

    answer = stranger.get("/", params={"token": token})

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_another_host_name_leads_nowhere(client: httpx2.Client, site: Site, host: str) -> None:
    """A name of another site that was made to lead to this machine."""
    port = site.address.rpartition(":")[2]

    for path in ("/", "/api/start"):
        answer = client.get(path, headers={"Host": host.format(port=port)})
        assert answer.status_code in (400, 403)
        assert "memory" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": FOREIGN},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_cannot_ask(client: httpx2.Client, headers: dict[str, str]) -> None:
    for answer in (
        client.get("/api/start", headers=headers),
        client.post("/api/learn", headers=headers, json={"text": "a lesson of another site"}),
    ):
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_a_change_must_come_from_the_page(client: httpx2.Client, site: Site) -> None:
    """A form of another site sends neither JSON nor our origin."""
    own, lesson = {"Origin": site.address}, '{"text": "a lesson of a form"}'

    answers = [
        client.post("/api/learn", json={"text": "a lesson of a form"}),
        client.post("/api/learn", headers=own, content=lesson),
        client.post("/api/learn", headers={**own, "Content-Type": "text/plain"}, content=lesson),
        client.post("/api/learn", headers=own, data={"text": "a lesson of a form"}),
    ]

    assert [answer.status_code for answer in answers] == [403, 415, 415, 415]
    assert "a lesson of a form" not in client.get("/api/lessons").text


@pytest.mark.parametrize("path", ["/", "/api/start", "/page.js", "/api/nothing", "/%2e%2e/x"])
def test_every_answer_has_the_strict_headers(client: httpx2.Client, path: str) -> None:
    headers = client.get(path).headers

    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api/") else "no-cache")


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd",
        "/%5c..%5c..%5cwindows%5cwin.ini", "//etc/passwd", "/page.js%00.html",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_built_page(client: httpx2.Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "id_", ["../../etc/passwd", "/etc/passwd", "src/../../etc/passwd:1", ".aurora/config.yml:1", ""]
)
def test_only_files_of_the_memory_are_read(client: httpx2.Client, id_: str) -> None:
    for path in ("/api/file", "/api/chunk", "/api/history", "/api/why", "/api/similar"):
        answer = client.get(path, params={"id": id_})
        assert answer.status_code in (400, 404)
        assert "root:" not in answer.text


def test_a_wrong_request_is_told_what_is_wrong(client: httpx2.Client, site: Site) -> None:
    own = {"Origin": site.address}
    answers = {
        "q is missing": client.get("/api/search"),
        "limit must be of type integer, not 'many'": client.get("/api/search?q=a&limit=many"),
        "There is no memory 'nowhere'": client.get("/api/file?id=a&memory=nowhere"),
        "text must be of type string, not '7'": client.post(
            "/api/learn", headers=own, json={"text": 7}
        ),
        "score must be from 0 to 1, not 7.0": client.post(
            "/api/learn", headers=own, json={"text": "a", "score": 7}
        ),
        "x must be of type number, not 'nan'": client.get("/api/map/points/near?x=nan&y=0"),
        "The request is no object of JSON": client.post("/api/learn", headers=own, json=[]),
        "There is no /api/nothing": client.get("/api/nothing"),
    }

    assert {answer.json()["error"]: answer.json()["error"] for answer in answers.values()} == {
        error: error for error in answers
    }
    assert {answer.status_code for answer in answers.values()} == {400, 404}


def test_a_huge_request_is_refused(client: httpx2.Client, site: Site) -> None:
    lesson = {"text": "x" * 9_000_000}

    answer = client.post("/api/learn", headers={"Origin": site.address}, json=lesson)

    assert (answer.status_code, "larger than" in answer.text) == (400, True)


def test_read_only_changes_nothing(site: Site) -> None:
    with serve(site.shell, "--read-only") as looking:
        cookies = dict([looking.cookie])
        client = httpx2.Client(base_url=looking.address, cookies=cookies, timeout=WAIT)
        uses = client.get("/api/history?id=src/auth.py:revoke_session").json()["uses"]
        own = {"Origin": looking.address}

        changes = {each.path for each in TABLE if each.method == "POST"} - CHANGES_NOTHING
        body = {"id": "x", "text": "a lesson"}
        refused = {path: client.post(path, headers=own, json=body) for path in changes}
        read = client.get("/api/chunk?id=src/auth.py:revoke_session")
        again = client.get("/api/history?id=src/auth.py:revoke_session").json()["uses"]
        told = client.get("/api/start").json()["read_only"]
        client.close()

    assert changes >= {"/api/learn", "/api/replace", "/api/forget"}
    assert {path: answer.json()["error"] for path, answer in refused.items()} == dict.fromkeys(
        changes, "This page was opened to read only"
    )
    assert (read.status_code, again, told) == (200, uses, True)
