"""The proof of an installation: the server is started as an agent starts it, and asked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError, SourceError
from aurora.sources.git import list_changes

_SECONDS = 60  # for the start and all answers; the first start reads a model
_COMMITS = 60  # whose subjects are read
_QUESTIONS = 12  # are asked until enough is found
_WORDS = 4  # of a subject that says what it is about: "fix typo" does not
ENOUGH = 3


@dataclass(frozen=True, slots=True)
class Row:
    """What a question found: a place to open, and its name."""

    question: str
    place: str
    name: str


@dataclass(frozen=True, slots=True)
class Proof:
    """How many tools the server has, and what it found. `trouble` is its own error, if any."""

    tools: int
    rows: tuple[Row, ...]
    trouble: str = ""


def questions_for(project: Path) -> list[str]:
    """Subjects of commits, those that say most first, and the project's name."""
    try:
        changes = list_changes(project, _COMMITS) or []
    except SourceError:  # no git, or a repository that it refuses
        changes = []
    subjects = list(dict.fromkeys(change.subject for change in changes))
    subjects.sort(key=lambda subject: len(subject.split()) < _WORDS)
    return [*subjects[:_QUESTIONS], project.name]


def prove(command: Sequence[str], project: Path, environ: Mapping[str, str]) -> Proof:
    """Start the server of a command in a project, and search until three things are found.

    Raises `AuroraError` if the server does not start or answer.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return asyncio.run(_ask(command, project, environ, log))
        except ImportError as exc:
            raise AuroraError(
                f"The server needs the package mcp: {exc}", hint="pip install 'aurora-memory[mcp]'"
            ) from exc
        except Exception as exc:  # whatever ends a server, the SDK or the pipe between them
            log.seek(0)
            lines = [line for line in log.read().splitlines() if line.strip()]
            reason = lines[-1] if lines else repr(exc)
            raise AuroraError(
                f"The server did not answer: {reason}",
                hint=f"run `{' '.join(command)}` in {project} and `aur doctor` to see why",
            ) from exc


async def _ask(
    command: Sequence[str], project: Path, environ: Mapping[str, str], log: Any
) -> Proof:
    from mcp import Client  # noqa: PLC0415 - an optional package
    from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - the same

    started = StdioServerParameters(
        command=command[0], args=list(command[1:]), cwd=project, env=dict(environ)
    )
    async with asyncio.timeout(_SECONDS), Client(stdio_client(started, errlog=log)) as client:
        tools = len((await client.list_tools()).tools)
        rows: dict[str, Row] = {}
        for question in questions_for(project):
            words = {"query": question, "limit": 1, "detail": "full"}
            answer = await client.call_tool("aurora_search", words)
            if answer.is_error:
                texts = [part.text for part in answer.content if part.type == "text"]
                return Proof(tools, (), "\n".join(texts))
            for document in (answer.structured_content or {}).get("documents", ()):
                rows.setdefault(document["id"], _row(question, document))
            if len(rows) == ENOUGH:
                break
    return Proof(tools, tuple(rows.values()))


def _row(question: str, document: Mapping[str, Any]) -> Row:
    path, line = document.get("path"), document.get("start_line")
    place = f"{path}:{line}" if path and line else path or document["id"]
    return Row(question, place, document["name"])
