"""A client that calls too often waits, and no other waits for it; wrong tokens count apart."""

from __future__ import annotations

import stat

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import ConfigError
from aurora.mcp.http import HttpSettings, Rate, own_token
from tests.mcp.conftest import Project, ask, over_http
from tests.mcp.test_http import CALL, HEADERS, TOKEN

pytestmark = pytest.mark.one_store("refused before a memory is asked")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_let_in_and_then_so_many_a_second() -> None:
    clock = Clock()
    rate = Rate(10, clock)
    assert [rate.take("a") for _ in range(20)] == [0.0] * 20
    assert rate.take("a") == pytest.approx(0.1)
    assert rate.take("b") == 0.0

    clock.now += 0.1
    assert rate.take("a") == 0.0
    assert rate.take("a") > 0
    clock.now += 60
    assert [rate.take("a") for _ in range(21)].count(0.0) == 20  # no more than a burst is saved up


def test_less_than_a_call_a_second_is_still_a_call_now_and_then() -> None:
    clock = Clock()
    rate = Rate(0.1, clock)
    assert (rate.take("a"), rate.take("a") > 0) == (0.0, True)
    clock.now += 10.1
    assert rate.take("a") == 0.0


@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from("abc"))))
def test_nobody_makes_more_calls_than_the_rate_and_a_burst(calls: list[tuple[float, str]]) -> None:
    clock = Clock()
    rate = Rate(2, clock)
    made = dict.fromkeys("abc", 0)
    for pause, client in calls:
        clock.now += pause
        made[client] += rate.take(client) == 0.0
    assert all(count <= 4 + 2 * clock.now for count in made.values())


def test_no_more_clients_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.mcp.http._MOST", 3)
    rate = Rate(10, Clock())
    for client in "abcdef":
        rate.take(client)
    assert list(rate._buckets) == ["d", "e", "f"]


def test_who_calls_too_often_is_told_to_wait(project: Project) -> None:
    with project.listening("--rate", "0.001") as url:  # slower than any machine is
        assert httpx2.post(url, json=CALL, headers=HEADERS).status_code == 200
        refused = httpx2.post(url, json=CALL, headers=HEADERS)

        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        assert "--rate" in refused.json()["error"]


BAD = {**HEADERS, "Authorization": "Bearer guessed-guessed-guessed"}
GOOD = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}


def test_wrong_tokens_are_limited_by_the_peers_own_address(project: Project) -> None:
    """Whatever it says about itself, and without a limit of calls, too."""
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    with project.listening("--rate", "0") as url, httpx2.Client() as peer:
        answers = [
            peer.post(url, json=CALL, headers={**BAD, "X-Forwarded-For": f"192.0.2.{number}"})
            for number in range(200)
        ]
        owner = httpx2.post(url, json=CALL, headers=GOOD)

    assert {answer.status_code for answer in answers} == {401, 429}
    assert answers[0].status_code == 401
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.headers["Connection"] == "close"
    assert owner.status_code == 200


def test_wrong_tokens_take_no_call_from_the_owner(project: Project) -> None:
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    with project.listening("--rate", "0.001") as url:  # one call in all
        assert httpx2.post(url, json=CALL, headers=BAD).status_code == 401
        assert httpx2.post(url, json=CALL, headers=GOOD).status_code == 200
        assert httpx2.post(url, json=CALL, headers=GOOD).status_code == 429


@pytest.mark.parametrize(
    ("words", "statuses"),
    [
        ((), [200, 429]),
        (("--trusted-proxy", "192.0.2.1"), [200, 429]),
        (("--trusted-proxy", "127.0.0.1"), [200, 200]),
        (("--trusted-proxy", "192.0.2.1", "--trusted-proxy", "127.0.0.0/8"), [200, 200]),
    ],
)
def test_clients_are_told_apart_only_by_a_proxy_that_is_trusted(
    project: Project, words: tuple[str, ...], statuses: list[int]
) -> None:
    project.shell.environ["FORWARDED_ALLOW_IPS"] = "*"  # uvicorn's own variable means nothing here
    with project.listening("--rate", "0.001", *words) as url:
        seen = [
            httpx2.post(url, json=CALL, headers={**HEADERS, "X-Forwarded-For": client}).status_code
            for client in ("198.51.100.1", "198.51.100.2")
        ]

    assert seen == statuses


@pytest.mark.parametrize("address", ["*", "", "proxy.example.org", "10.0.0.1/24", "300.0.0.1"])
def test_a_proxy_is_trusted_by_address_alone(project: Project, address: str) -> None:
    told = project.shell.fails("mcp", "--http", "--no-token", "--trusted-proxy", address)

    assert f"{address!r} is not the address of a proxy" in told


@pytest.mark.anyio
async def test_without_a_token_one_is_made_and_asked_for(project: Project) -> None:
    kept = project.shell.home / "mcp-token"
    with project.listening("--own-token") as url:
        assert httpx2.post(url, json=CALL, headers=HEADERS).status_code == 401
        token = kept.read_text().strip()
        async with over_http(url, token=token) as client:
            assert (await ask(client, "aurora_status"))["memories"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with project.listening("--own-token") as url:
        assert httpx2.post(url, json=CALL, headers=HEADERS).status_code == 401
        assert kept.read_text().strip() == token  # the same for every server of this user
    assert own_token(kept) == token
    assert [path.name for path in kept.parent.glob("mcp-token*")] == ["mcp-token"]


def test_a_door_for_others_is_not_opened_without_a_token(project: Project) -> None:
    told = project.shell.run("mcp", "--http", "--no-token", "--host", "192.0.2.1").stderr
    assert "could read the memory at 192.0.2.1" in told
    assert HttpSettings("127.0.0.1", 1, no_token=True).rate == 0
    with pytest.raises(ConfigError, match="The server has no token"):
        HttpSettings("127.0.0.1", 1)
