"""Small transcripts of every agent, as it writes them, with text of ours.

`home` has them where they lie, and `samples` names each with its agent. SQLite files are kept as
SQL and made when a test needs them.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from aurora.sources.sessions.base import Exchange, Offset, Options, Reading
from aurora.sources.sessions.readers import make_reader

HERE = Path(__file__).parent
CLAUDE = "3f2b8c1e-0c55-4b8e-9a57-6c1d2f7a9e01"
CODEX = "0195a2f0-1111-7aaa-8bbb-000000000001"


class Sample(NamedTuple):
    """A transcript, and the agent that wrote it."""

    agent: str
    path: Path


def make_home(folder: Path) -> Path:
    """A home with transcripts of all agents, and a project beside it."""
    home = folder / "home"
    shutil.copytree(HERE / "home", home)
    shutil.copytree(HERE / "project", folder / "project")
    shutil.copytree(HERE / "exports", folder / "exports")
    make_database("cursor", home / ".config/Cursor/User/globalStorage/state.vscdb")
    make_database("opencode", home / ".local/share/opencode/opencode.db")
    return home


def make_database(name: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / f"{name}.sql").read_text(encoding="utf-8"))
    return path


def claude_sample() -> Path:
    return HERE / f"home/.claude/projects/-code-shop/{CLAUDE}.jsonl"


def codex_sample() -> Path:
    return HERE / f"home/.codex/sessions/2026/03/02/rollout-2026-03-02T10-00-00-{CODEX}.jsonl"


def gemini_sample() -> Path:
    return HERE / "home/.gemini/tmp/shop/chats/session-2026-03-02T11-00-7d5f2c1a.jsonl"


def jsonl_samples() -> list[Sample]:
    """Those that a reading can go on in."""
    folders = {"claude-code": ".claude", "codex": ".codex", "cursor": ".cursor",
               "copilot-cli": ".copilot"}  # fmt: skip
    return [
        Sample(agent, path)
        for agent, folder in folders.items()
        for path in sorted((HERE / "home" / folder).rglob("*.jsonl"))
        if path.name != "session_index.jsonl"
    ]


def read(
    sample: Sample | Path, agent: str = "", since: Offset | None = None, **options: object
) -> tuple[list[Exchange], Reading]:
    """Read a transcript to its end."""
    agent, path = sample if isinstance(sample, Sample) else (agent, sample)
    reading = make_reader(agent).read(path, since, Options(**options))  # type: ignore[arg-type]
    return list(reading), reading


def ids(exchanges: Sequence[Exchange]) -> list[str]:
    return [exchange.id for exchange in exchanges]
