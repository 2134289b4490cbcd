"""The door over HTTP: who may come in, and what is said to others."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import httpx2
import pytest

from aurora.endpoints import is_loopback
from aurora.errors import ConfigError
from aurora.mcp.http import LARGEST, HttpSettings
from tests.cli.conftest import AUR
from tests.mcp.conftest import Project, ask, ids, over_http

pytestmark = pytest.mark.one_store("about the door, whatever is behind it")


TOKEN = "a-token-that-nobody-guesses-0123456789"  # noqa: S105
ANYWHERE = "0.0.0.0"  # noqa: S104
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}


@pytest.mark.anyio
async def test_a_token_opens_the_door_and_nothing_else_does(project: Project) -> None:
    project.shell.environ["AURORA_MCP_TOKEN"] = TOKEN
    wrong = ["", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}",
             TOKEN, f"Bearer  {TOKEN}", "Bearer é"]  # fmt: skip
    with project.listening() as url:
        for said in wrong:
            header = {"Authorization": said.encode("latin-1")} if said else {}
            answer = httpx2.post(url, json=CALL, headers={**HEADERS, **header})
            assert answer.status_code == 401, said
            assert answer.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in answer.text
        assert httpx2.get(f"{url}/../other").status_code == 401

        async with over_http(url, token=TOKEN) as client:
            assert ids(await ask(client, "search_code", query="authenticate_user"))


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "127.0.0.1.evil.example", 421),
        ("Host", "localhost.evil.example:80", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost.evil.example", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "http://127.0.0.1:8080", 200),
    ],
)
def test_host_and_origin_are_checked(
    listening_project: str, name: str, value: str, status: int
) -> None:
    """A page in a browser, or a name that was made to point here, gets nothing."""
    answer = httpx2.post(listening_project, json=CALL, headers={**HEADERS, name: value})

    assert answer.status_code == status


@pytest.fixture(scope="module")
def listening_project(indexed: Path, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    from tests.cli.conftest import Shell

    home = tmp_path_factory.mktemp("http") / "home"
    with Project(Shell(indexed, home)).listening("--read-only") as url:
        yield url


def test_a_request_that_is_too_large_is_refused(listening_project: str) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * LARGEST + b'"}'

    answer = httpx2.post(listening_project, content=body, headers=HEADERS)

    assert answer.status_code == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_request_is_refused_and_the_server_goes_on(
    listening_project: str, body: bytes
) -> None:
    assert 400 <= httpx2.post(listening_project, content=body, headers=HEADERS).status_code < 500
    assert httpx2.post(listening_project, json=CALL, headers=HEADERS).status_code == 200


@pytest.mark.parametrize(
    ("words", "environ", "told"),
    [
        (["--host", ANYWHERE], {}, "could read the memory at 0.0.0.0"),
        (["--host", "192.0.2.1"], {}, "could read the memory at 192.0.2.1"),
        (["--host", "memory.example.org"], {}, "Without a token"),
        (["--host", ANYWHERE], {"AURORA_MCP_TOKEN": TOKEN}, "--allow-host NAME"),
        ([], {"AURORA_MCP_TOKEN": "short"}, "shorter than 16 characters"),
        ([], {"AURORA_MCP_TOKEN": ""}, "AURORA_MCP_TOKEN is empty"),
        ([], {"AURORA_MCP_TOKEN": " \t"}, "AURORA_MCP_TOKEN is empty"),
        ([], {"AURORA_MCP_TOKEN": "has a space in the middle"}, "not plain ASCII without spaces"),
        (["--token-file", "nowhere"], {}, "The token file nowhere cannot be read"),
        (["--token-file", "empty"], {}, "The token file empty is empty"),
        (["--port", "99999"], {}, "99999"),
        (["--host", "192.0.2.1"], {"AURORA_MCP_TOKEN": TOKEN}, "Cannot listen at 192.0.2.1"),
        (["--memory", "nowhere"], {}, "nowhere is not a folder"),
    ],
)
def test_a_door_that_would_stand_open_is_not_opened(
    project: Project, words: list[str], environ: dict[str, str], told: str
) -> None:
    (project.root / "empty").write_text("\n")
    project.shell.environ.update(environ)

    done = project.shell.run("mcp", "--http", *words)

    assert done.returncode == 2
    assert told in done.stderr
    assert TOKEN not in done.stderr


def test_a_port_in_use_is_named(project: Project) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        done = project.shell.run("mcp", "--http", "--port", port)

    assert done.returncode == 2
    assert f"Cannot listen at 127.0.0.1:{port}" in done.stderr


def test_a_token_file_is_read(project: Project) -> None:
    (project.root / "token").write_text(f"{TOKEN}\n")
    with project.listening("--token-file", "token") as url:
        good = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}
        assert httpx2.post(url, json=CALL, headers=HEADERS).status_code == 401
        assert httpx2.post(url, json=CALL, headers=good).status_code == 200


def test_other_names_of_this_machine_are_allowed_by_name() -> None:
    security = HttpSettings(ANYWHERE, 1, TOKEN, ("memory.example.org",)).security

    assert "memory.example.org:*" in security.allowed_hosts
    assert "https://memory.example.org" in security.allowed_origins
    assert "0.0.0.0:*" not in security.allowed_hosts


def test_the_token_is_not_shown() -> None:
    assert TOKEN not in repr(HttpSettings("127.0.0.1", 1, TOKEN))


@pytest.mark.parametrize(
    ("host", "near"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
     (ANYWHERE, False), ("::", False), ("192.168.1.1", False), ("localhost.example", False)],
)  # fmt: skip
def test_what_is_this_machine_alone(host: str, near: bool) -> None:
    assert is_loopback(host) is near
    if not near:
        with pytest.raises(ConfigError, match="Without a token"):
            HttpSettings(host, 1)


def test_without_the_package_the_next_step_is_told(project: Project) -> None:
    """As after `pip install aurora-memory` without the extra."""
    script = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['aur', 'mcp'];"
        "from aurora.__main__ import main; main()"
    )
    done = subprocess.run(
        [AUR.with_name("python"), "-c", script],
        cwd=project.root, env=project.shell.environment, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "pip install 'aurora-memory[mcp]'" in done.stderr
    assert done.stdout == ""
