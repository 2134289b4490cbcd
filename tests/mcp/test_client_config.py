"""What clients are told: the exact snippets, and what the command says beside them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from aurora.endpoints import is_loopback
from aurora.errors import ConfigError
from aurora.install.clients import CLIENTS, Local, Remote, remote_at
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.mcp.inspector import inspect_file

pytestmark = pytest.mark.one_store("about clients' settings")


LOCAL = Local(("aur", "mcp"))
GUARDED = Remote("https://memory.example.org/mcp", token=True)
OPEN = Remote("http://127.0.0.1:8765/mcp", token=False)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A git repository, and `aur` of this installation on PATH."""
    root = tmp_path / "project"
    subprocess.run(["git", "init", "-q", root], check=True)
    (tmp_path / "user").mkdir()
    path = f"{AUR.parent}{os.pathsep}{os.environ['PATH']}"
    return Shell(root, tmp_path / "user" / "home", {"PATH": path})


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("claude-code", {"type": "stdio", "alwaysLoad": True, "command": "aur", "args": ["mcp"]}),
        ("codex", {"required": True, "command": "aur", "args": ["mcp"]}),
        ("cursor", {"type": "stdio", "command": "aur",
                    "args": ["mcp", "--memory", "${workspaceFolder}"]}),
        ("vscode", {"type": "stdio", "command": "aur", "args": ["mcp"]}),
    ],
)  # fmt: skip
def test_a_client_is_told_how_to_start_the_server(client: str, entry: dict[str, object]) -> None:
    key = {"codex": "mcp_servers", "vscode": "servers"}.get(client, "mcpServers")
    text = CLIENTS[client].snippet(LOCAL)
    tree = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert tree == {key: {"aurora": entry}}


def test_codex_reads_a_table() -> None:
    text = CLIENTS["codex"].snippet(Local((r"C:\bin\aur.exe", "mcp")))
    lines = [
        "[mcp_servers.aurora]",
        "required = true",
        r'command = "C:\\bin\\aur.exe"',
        'args = ["mcp"]',
    ]
    assert text.splitlines() == lines


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("claude-code", {"type": "http", "alwaysLoad": True, "url": GUARDED.url,
                         "headers": {"Authorization": "Bearer ${AURORA_MCP_TOKEN}"}}),
        ("codex", {"url": GUARDED.url, "bearer_token_env_var": "AURORA_MCP_TOKEN"}),
        ("cursor", {"url": GUARDED.url,
                    "headers": {"Authorization": "Bearer ${env:AURORA_MCP_TOKEN}"}}),
        ("vscode", {"type": "http", "url": GUARDED.url,
                    "headers": {"Authorization": "Bearer ${input:aurora-token}"}}),
    ],
)  # fmt: skip
def test_a_client_is_told_of_a_server_that_runs(client: str, entry: dict[str, object]) -> None:
    assert CLIENTS[client].entry(GUARDED) == entry
    bare = {name: value for name, value in entry.items() if name in ("type", "alwaysLoad")}
    assert CLIENTS[client].entry(OPEN) == {**bare, "url": OPEN.url}


def test_only_vscode_asks_for_the_token() -> None:
    (asked,) = json.loads(CLIENTS["vscode"].snippet(GUARDED))["inputs"]
    assert (asked["type"], asked["id"], asked["password"]) == ("promptString", "aurora-token", True)
    assert "inputs" not in json.loads(CLIENTS["vscode"].snippet(OPEN))
    assert "inputs" not in json.loads(CLIENTS["cursor"].snippet(GUARDED))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "::1", "a.localhost"])
def test_this_machine_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "localhost.example.org", "1270.0.1", ""])
def test_any_other_machine_wants_a_token(host: str) -> None:
    assert not is_loopback(host)


def test_a_token_goes_along_where_it_is_needed_or_asked_for() -> None:
    assert remote_at("https://memory.example.org/mcp", with_token=False).token
    assert not remote_at("http://[::1]:8765/mcp", with_token=False).token
    assert remote_at("http://localhost:8765/mcp", with_token=True).token


@pytest.mark.parametrize(
    "url",
    ["memory.example.org", "ftp://a/mcp", "http://", "http://a:b/mcp", "http://a b/", "http://ü/",
     "http://a/mcp\n", "http://[::1/mcp", ""],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a server"):
        remote_at(url, with_token=False)


@pytest.mark.parametrize("rest", ["?token=s3cret", "#s3cret"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(rest: str) -> None:
    for url in (f"https://a/mcp{rest}", "https://user:s3cret@a/mcp"):
        with pytest.raises(ConfigError, match="may contain a secret") as refusal:
            remote_at(url, with_token=False)
        assert "s3cret" not in str(refusal.value)


def test_printing_gives_the_snippet_alone_and_writes_nothing(shell: Shell) -> None:
    done = shell.run("mcp", "config", "claude-code")
    assert done.returncode == 0
    assert done.stdout == CLIENTS["claude-code"].snippet(LOCAL) + "\n"
    assert f"{shell.cwd / '.mcp.json'}; --write puts it there." in done.stderr
    assert "approve" in done.stderr
    assert names(shell.cwd) == [".git"]


@pytest.mark.parametrize(
    ("client", "scope", "file"),
    [
        ("claude-code", (), "project/.mcp.json"),
        ("claude-code", ("--scope", "user"), "user/.claude.json"),
        ("codex", (), "user/.codex/config.toml"),
        ("codex", ("--scope", "project"), "project/.codex/config.toml"),
        ("cursor", (), "project/.cursor/mcp.json"),
        ("cursor", ("--scope", "user"), "user/.cursor/mcp.json"),
        ("vscode", (), "project/.vscode/mcp.json"),
    ],
)
def test_each_client_has_its_file(
    shell: Shell, client: str, scope: tuple[str, ...], file: str
) -> None:
    """Written from a folder further down, and the same as what is printed."""
    below = shell.cwd / "src"
    below.mkdir()
    printed = shell.ok("mcp", "config", client, *scope)
    assert shell.ok("mcp", "config", client, *scope, "--write", cwd=below) == ""
    path = shell.cwd.parent / file
    assert path.read_text() == printed
    assert path.stat().st_mode & 0o777 == (0o600 if file.startswith("user") else 0o644)


@pytest.mark.parametrize(
    ("client", "variable", "name"),
    [("codex", "CODEX_HOME", "config.toml"), ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json")],
)
def test_a_client_that_has_moved_is_found(
    shell: Shell, client: str, variable: str, name: str
) -> None:
    shell.environ[variable] = str(shell.cwd.parent / "moved")
    shell.ok("mcp", "config", client, "--scope", "user", "--write")
    assert "aurora" in (shell.cwd.parent / "moved" / name).read_text()


def test_where_vscode_keeps_a_users_servers_is_left_to_it(shell: Shell) -> None:
    done = shell.run("mcp", "config", "vscode", "--scope", "user")
    assert json.loads(done.stdout)["servers"]["aurora"]["command"] == str(AUR)
    assert "MCP: Open User Configuration" in done.stderr
    refusal = shell.fails("mcp", "config", "vscode", "--scope", "user", "--write")
    assert "MCP: Open User Configuration" in refusal


def test_a_projects_file_names_aur_and_a_users_file_its_whole_path(shell: Shell) -> None:
    user = ("mcp", "config", "cursor", "--scope", "user")
    done = shell.run("mcp", "config", "cursor")
    assert json.loads(done.stdout)["mcpServers"]["aurora"]["command"] == "aur"
    assert "PATH" not in done.stderr
    assert json.loads(shell.ok(*user))["mcpServers"]["aurora"]["command"] == str(AUR)

    programs = shell.cwd.parent / "bin"
    programs.mkdir()
    (programs / "aur").symlink_to(AUR)
    shell.environ["PATH"] = f"{programs}:/usr/bin:/bin"
    linked = json.loads(shell.ok(*user))["mcpServers"]["aurora"]["command"]
    assert linked == str(programs / "aur")

    shell.environ["PATH"] = "/usr/bin:/bin"
    done = shell.run("mcp", "config", "cursor")
    assert json.loads(done.stdout)["mcpServers"]["aurora"]["command"] == "aur"
    assert "Warning: The `aur` that the file names is not on your PATH: put " in done.stderr
    assert json.loads(shell.ok(*user))["mcpServers"]["aurora"]["command"] == str(AUR)


def test_another_aur_on_the_path_is_told(shell: Shell) -> None:
    other = write_tree(shell.cwd.parent / "other", {"aur": "#!/bin/sh\n"}) / "aur"
    other.chmod(0o755)
    shell.environ["PATH"] = f"{other.parent}:{os.environ['PATH']}"
    assert f"is another one, {other}: " in shell.run("mcp", "config", "vscode").stderr


def test_the_token_is_named_and_never_written(shell: Shell) -> None:
    shell.environ |= {"AURORA_MCP_TOKEN": "s3cret-s3cret-s3cret"}
    words = ("mcp", "config", "codex", "--http", "http://memory.example.org/mcp", "--write")
    done = shell.run(*words)
    assert done.returncode == 0
    assert "Set AURORA_MCP_TOKEN where Codex is started" in done.stderr
    assert "Warning: The token goes to this address unencrypted" in done.stderr
    text = (shell.home.parent / ".codex" / "config.toml").read_text()
    assert 'bearer_token_env_var = "AURORA_MCP_TOKEN"' in text
    assert "s3cret" not in text + done.stderr


def test_vscode_is_told_of_a_guarded_server_in_a_project_without_a_file(shell: Shell) -> None:
    shell.ok("mcp", "config", "vscode", "--http", GUARDED.url, "--write")
    written = json.loads((shell.cwd / ".vscode" / "mcp.json").read_text())
    assert written == json.loads(CLIENTS["vscode"].snippet(GUARDED))


def test_a_token_that_stays_on_this_machine_needs_no_encryption(shell: Shell) -> None:
    words = ("mcp", "config", "codex", "--http", "http://127.0.0.1:8765/mcp", "--with-token")
    assert "unencrypted" not in shell.run(*words).stderr


def test_codex_is_not_left_with_a_command_here_and_an_address_there(shell: Shell) -> None:
    """It reads both files as one, and refuses an entry that has both."""
    codex = ("mcp", "config", "codex", "--write")
    assert "will not start" not in shell.run(*codex).stderr
    project = (*codex, "--scope", "project")
    assert "will not start" not in shell.run(*project).stderr
    http = ("--http", "http://127.0.0.1:8765/mcp")
    told = shell.run(*project, *http).stderr
    assert "~/.codex/config.toml names a command: write it there, too" in told
    assert "will not start" not in shell.run(*codex, *http).stderr


def test_a_token_without_an_address_makes_no_sense(shell: Shell) -> None:
    assert "--with-token needs --http" in shell.fails("mcp", "config", "codex", "--with-token")


def test_writing_again_changes_nothing_and_says_so(shell: Shell) -> None:
    shell.ok("mcp", "config", "claude-code", "--write")
    done = shell.run("mcp", "config", "claude-code", "--write")
    assert "It is already there" in done.stderr
    assert names(shell.cwd) == [".git", ".mcp.json"]


def test_a_changed_entry_and_its_backup_are_told(shell: Shell) -> None:
    old = {"mcpServers": {"aurora": {"command": "old", "env": {"A": "1"}}, "b": {"command": "c"}}}
    write_tree(shell.cwd, {".mcp.json": json.dumps(old)})
    done = shell.run("mcp", "config", "claude-code", "--write")
    assert f"the old file is {shell.cwd / '.mcp.json.bak'}" in done.stderr
    assert "The entry also had env" in done.stderr
    assert json.loads((shell.cwd / ".mcp.json.bak").read_text()) == old
    tree = json.loads((shell.cwd / ".mcp.json").read_text())
    assert tree == json.loads(CLIENTS["claude-code"].snippet(LOCAL)) | {
        "mcpServers": {"aurora": CLIENTS["claude-code"].entry(LOCAL), "b": {"command": "c"}}
    }


def test_a_file_with_comments_is_left_alone_and_the_way_by_hand_is_shown(shell: Shell) -> None:
    source = '{\n  // mine\n  "servers": {},\n}\n'
    write_tree(shell.cwd, {".vscode/mcp.json": source})
    refusal = shell.fails("mcp", "config", "vscode", "--write")
    assert re.search(r"\.vscode/mcp\.json was left as it is: line 2 is not plain JSON", refusal)
    assert CLIENTS["vscode"].snippet(LOCAL) in refusal
    assert (shell.cwd / ".vscode" / "mcp.json").read_text() == source
    assert names(shell.cwd / ".vscode") == ["mcp.json"]


def test_the_sdk_is_not_needed_and_a_missing_one_is_told(shell: Shell) -> None:
    """As in an installation without the extra: the package cannot be found."""
    hide = (
        "import importlib.util, sys; found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'mcp' else found(name, *a)\n"
        "sys.modules['mcp'] = None; sys.argv = ['aur', 'mcp', 'config', 'codex']\n"
        "from aurora.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide], cwd=shell.cwd, env=shell.environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert tomllib.loads(done.stdout)["mcp_servers"]["aurora"]["args"] == ["mcp"]
    assert "pip install 'aurora-memory[mcp]'" in done.stderr


def test_clients_are_completed_by_a_shell(shell: Shell) -> None:
    shell.environ |= {
        "_AUR_COMPLETE": "fish_complete", "COMP_WORDS": "aur mcp config ", "COMP_CWORD": "",
    }  # fmt: skip
    assert "claude-code" in shell.run().stdout


@pytest.mark.usefixtures("inspector")
@pytest.mark.parametrize(("client", "file"), [("claude-code", ".mcp.json")])
def test_a_client_starts_the_server_by_what_is_written(
    shell: Shell, client: str, file: str
) -> None:
    shell.ok("mcp", "config", client, "--write")
    told = inspect_file(shell.cwd / file, "aurora", "initialize", environ=shell.environment)
    assert told["serverInfo"]["name"] == "aurora"
