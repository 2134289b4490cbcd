"""Secrets are taken out of a text before anything is stored, and nothing else is."""

from __future__ import annotations

import io
import json
import shutil
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Memory, Places
from aurora.redaction import Redactor
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.tables import row

# Put together here, so that no tool that looks for secrets stumbles over this file.
A36, HEX32, HEX64 = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5", "9f" * 16, "0a1b" * 16
KEYS = {
    "AWS key id": "AKIA" + "IOSFODNN7EXAMPLQ",
    "GitHub token": "ghp_" + A36,
    "GitLab token": "glpat-" + A36[:20],
    "Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
    "Stripe key": "sk_live_" + A36[:24],
    "Anthropic key": "sk-ant-" + "api03-" + A36,
    "OpenAI key": "sk-proj-" + A36 + A36,
    "Google key": "AIza" + A36[:35],
    "Google OAuth secret": "GOCSPX-" + A36[:28],
    "npm token": "npm_" + A36,
    "PyPI token": "pypi-AgE" + A36 + A36,
    "Hugging Face token": "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "SendGrid key": "SG." + A36[:22] + "." + (A36 + A36)[:43],
    "DigitalOcean token": "dop_v1_" + HEX64,
    "Shopify token": "shpat_" + HEX32,
    "Twilio key": "SK" + HEX32,
    "Telegram token": "123456789" + ":AA" + A36[:33],
    "age key": "AGE-SECRET-KEY-1" + "Q" * 58,
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + A36,
}
PLACES = {
    "Slack webhook": ("https://hooks.slack.com/services/", "T00000000/B00000000/" + A36[:24], ""),
    "Azure key": ("AccountName=x;AccountKey=", A36 + A36 + "AbC0==", ";"),
    "password in an address": ("postgresql://ada:", "hunter2", "@db.example.org/team"),
    "authorization header": ("curl -H 'Authorization: Bearer ", A36, "' https://x"),
}
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----"
PEM_END = "-----END RSA " + "PRIVATE KEY-----"


def test_a_key_is_replaced_by_its_kind() -> None:
    surroundings = ("{}", "key = '{}'", "see {}.", "[{}]", '{{"a": "{}"}}', "a={};")
    for kind, around in product(KEYS, surroundings):
        with row(kind, around):
            redactor = Redactor()
            assert redactor.text(around.format(KEYS[kind])) == around.format(f"[redacted: {kind}]")
            assert redactor.kinds == {kind: 1}


@pytest.mark.parametrize("kind", PLACES)
def test_a_place_keeps_what_is_around_the_secret(kind: str) -> None:
    before, secret, after = PLACES[kind]
    assert Redactor().text(before + secret + after) == f"{before}[redacted: {kind}]{after}"


@pytest.mark.parametrize(
    "line",
    [
        f'password = "{A36}"', f"API_KEY='{A36}'", f"secret_token: {A36}",
        f'"access_key": "{A36}",',
        f"client-secret={A36}", f"$config['password'] => '{A36}'", f'const apiKey = "{A36}";',
        f"export AURORA_TOKEN={A36}", f'passphrase := "{A36}"',
    ],
)  # fmt: skip
def test_what_is_given_to_the_name_of_a_secret_is_one(line: str) -> None:
    assert Redactor().text(f"x\n{line}\ny") == f"x\n{line}\ny".replace(A36, "[redacted: secret]")


def test_names_in_metadata_tell_that_a_value_is_a_secret() -> None:
    redactor = Redactor()
    given = {
        "api_key": A36, "db": {"Password": "hunter2", "host": "db1.example.org"},
        "authTokens": [A36, "none"], "X-Api-Key": A36, "dbPass": "s3cr3t-9", "pwd": "your-password",
        "token": "$TOKEN", "token_count": 12, "keyword": A36, "passed": "12-of-14-x",
        KEYS["npm token"]: "a name may be one, too",
    }  # fmt: skip
    mark = "[redacted: secret]"

    assert redactor.mapping(given) == {
        "api_key": mark, "db": {"Password": mark, "host": "db1.example.org"},
        "authTokens": [mark, "none"], "X-Api-Key": mark, "dbPass": mark, "pwd": "your-password",
        "token": "$TOKEN", "token_count": 12, "keyword": A36, "passed": "12-of-14-x",
        "[redacted: npm token]": "a name may be one, too",
    }  # fmt: skip
    assert redactor.kinds == {"secret": 5, "npm token": 1}
    assert Redactor(on=False).mapping(given) == given


def test_a_private_key_keeps_its_lines_and_loses_their_text() -> None:
    body = [A36 + A36, A36 + A36, "Ab1=="]
    text = "\r\n".join(["before", PEM, "Proc-Type: 4,ENCRYPTED", "", *body, PEM_END, "after"])
    redactor = Redactor()

    safe = redactor.text(text)

    assert safe.count("\r\n") == text.count("\r\n")
    assert not any(line in safe for line in body)
    assert safe.startswith(f"before\r\n{PEM}\r\n")
    assert safe.endswith(f"{PEM_END}\r\nafter")
    assert redactor.kinds == {"private key": 1}
    assert "".join(Redactor().lines(text.splitlines(keepends=True))) == safe


def test_a_private_key_in_one_line_is_replaced() -> None:
    line = f'"private_key": "{PEM}\\n{A36}\\n{A36}\\n{PEM_END}\\n",'
    assert Redactor().text(line) == f'"private_key": "{PEM}[redacted: private key]{PEM_END}\\n",'


def test_a_key_that_has_no_end_hides_no_prose() -> None:
    text = f"{PEM}\n{A36}\nWhat follows is a text; it stays as it is (all of it).\n"
    assert "it stays as it is" in Redactor().text(text)
    assert A36 not in Redactor().text(text)


@given(st.text())
def test_lines_keep_their_number_and_twice_is_once(text: str) -> None:
    once = Redactor().text(text)
    assert once.count("\n") == text.count("\n")
    again = Redactor()
    assert (again.text(once), again.warning) == (once, "")


@given(st.lists(st.sampled_from([*KEYS.values(), PEM, PEM_END, A36, "\n", " ", "x = ", "'", ":"])))
def test_no_key_survives_whatever_is_around_it(parts: list[str]) -> None:
    safe = Redactor().text(" ".join(parts))
    assert not any(key in safe.split() for key in KEYS.values())


TOKEN = KEYS["GitHub token"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    files = {
        "deploy.py": f"def deploy():\n    token = '{TOKEN}'\n    return token\n",
        "notes.md": f"# Access\n\nUse {KEYS['Slack token']} for now.\n",
    }
    root = write_tree(tmp_path / "project", files)
    shell = Shell(root, tmp_path / "home", {"AURORA_EMBEDDING_PROVIDER": "none"})
    logs = shell.home / "logs" / "conversations" / "2025" / "12"
    log = f"# Conversation: Keys\n\n## Phase 1: Ask\nThe key is {KEYS['npm token']}.\n"
    large = log + "words of a phase\n" * 130_000
    write_tree(logs, {"keys-2025-12-15.md": log, "big-2025-12-15.md": large})
    shell.ok("init")
    return shell


def holding(shell: Shell) -> list[str]:
    """Files of the memory and of the log that hold a secret in plain bytes."""
    files = [*(shell.cwd / ".aurora").rglob("*"), *(shell.home / "logs").glob("*.log*")]
    raw = {file.name: file.read_bytes().lower() for file in files if file.is_file()}
    keys = [key.lower().encode() for key in (*KEYS.values(), A36)]
    return [name for name in raw if any(key in raw[name] for key in keys)]


def test_no_door_lets_a_secret_into_the_memory(shell: Shell, tmp_path: Path) -> None:
    done = shell.run("mem", "index", ".")
    assert "deploy.py: 1 secret redacted before storing (GitHub token)" in done.stderr
    document = write_tree(tmp_path, {"d.md": f"# Plan {TOKEN}\n\n{TOKEN}\n"}) / "d.md"
    told = shell.run("mem", "add", str(document), "--meta", f"key={TOKEN}", "--source", TOKEN)
    assert "secrets redacted before storing (GitHub token)" in told.stderr
    named = ("--meta", f"api_key={A36}", "--meta", "team=core")
    told = shell.run("mem", "add", str(document), *named)
    assert "secrets redacted before storing (GitHub token, secret)" in told.stderr
    told = shell.run("mem", "learn", f"log in with {TOKEN}", "--context", f"or {KEYS['npm token']}")
    assert "2 secrets redacted before storing (GitHub token, npm token)" in told.stderr

    assert holding(shell) == []
    assert "[redacted: GitHub token]" in shell.ok("mem", "get", "deploy.py:deploy")
    assert "deploy" in shell.ok("mem", "search", "deploy")


def test_an_import_loses_its_secrets_and_their_vectors(shell: Shell, tmp_path: Path) -> None:
    shutil.rmtree(shell.home / "logs")
    del shell.environ["AURORA_EMBEDDING_PROVIDER"]
    shell.ok("config", "set", "indexing.redact_secrets", "false")
    shell.ok("mem", "index", ".")
    assert holding(shell) != []
    exported = io.BytesIO(shell.ok("mem", "export").encode())
    assert TOKEN.encode() in exported.getvalue()
    with Memory(Places(tmp_path / "other", None)) as other:
        other.admin.import_(exported)
        chunks = {chunk.id: chunk for chunk in other.admin.chunks()}
        assert "[redacted: GitHub token]" in chunks["deploy.py:deploy"].content
        assert other.admin.store.vectors.get_embeddings(["deploy.py:deploy"]) == {}
        assert TOKEN not in json.dumps([chunk.content for chunk in chunks.values()])


def test_an_import_loses_secrets_that_names_in_metadata_tell(shell: Shell, tmp_path: Path) -> None:
    shell.ok("config", "set", "indexing.redact_secrets", "false")
    document = write_tree(tmp_path, {"d.md": "# Plan\n"}) / "d.md"
    shell.ok("mem", "add", str(document), "--meta", f"api_key={A36}")
    exported = shell.ok("mem", "export")
    assert A36 in exported
    with Memory(Places(tmp_path / "other", None)) as other:
        other.admin.import_(io.BytesIO(exported.encode()))
        assert [chunk.metadata["api_key"] for chunk in other.admin.chunks()] == [
            "[redacted: secret]"
        ]


def test_switched_on_again_files_are_read_again(shell: Shell) -> None:
    shell.ok("config", "set", "indexing.redact_secrets", "false")
    shell.ok("mem", "index", ".")
    shell.ok("config", "set", "indexing.redact_secrets", "true")
    shell.ok("mem", "index", ".")
    shell.ok("mem", "forget", "--yes", "notes.md")  # overwrites what was there before

    assert holding(shell) == []


def test_a_cloned_project_cannot_switch_it_off(shell: Shell) -> None:
    write_tree(shell.cwd, {".aurora/config.yml": "indexing:\n  redact_secrets: false\n"})
    done = shell.run("mem", "index", ".")
    assert "a project file may not switch a protection off" in done.stderr
    assert holding(shell) == []


def test_the_log_has_no_secret_of_an_error(shell: Shell) -> None:
    shell.environ["AURORA_SEARCH_FUSION"] = TOKEN
    assert TOKEN in shell.fails("mem", "search", "words")
    assert "[redacted: GitHub token]" in (shell.home / "logs" / "aurora.log").read_text()
    assert holding(shell) == []
