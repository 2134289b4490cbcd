"""Who calls too often waits, and nobody else does for it; who guesses tokens waits long."""

from __future__ import annotations

import stat

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.mcp.http import Door, own_token
from aurora.mcp.rate import WRONG_TOKEN, Rate
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


def test_what_is_charged_is_waited_for() -> None:
    rate = Rate(1, Clock())
    rate.charge("a", WRONG_TOKEN)
    assert rate.take("a") == pytest.approx(WRONG_TOKEN - 1)


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
    monkeypatch.setattr("aurora.mcp.rate._MOST", 3)
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


def test_guessing_tokens_is_slow(project: Project) -> None:
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    bad = {**HEADERS, "Authorization": "Bearer guessed-guessed-guessed"}
    good = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}
    with project.listening("--rate", "0.05") as url:
        assert httpx2.post(url, json=CALL, headers=bad).status_code == 401
        refused = httpx2.post(url, json=CALL, headers=good)

    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > WRONG_TOKEN


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


def test_a_door_for_others_is_not_opened_without_a_token(project: Project) -> None:
    told = project.shell.run("mcp", "--http", "--no-token", "--host", "192.0.2.1").stderr
    assert "Without a token the memory is not served at 192.0.2.1" in told
    assert Door("127.0.0.1", 1).rate == 0
