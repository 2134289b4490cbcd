"""What the memories of old were made of: a project with a past, a log, a document, lessons."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.builders import write_tree

FILES: dict[str, str | bytes] = {
    "auth.py": '''"""Accounts."""


class AuthManager:
    """Keeps sessions."""

    def logout(self, session):
        session.clear()


def authenticate_user(name, password):
    """Check a password."""
    return name in USERS
''',
    "settings.py": '''"""Limits of a session."""

from enum import Enum

SESSION_MINUTES = 60
MAX_ATTEMPTS = 3


class Role(Enum):
    """What a user may do."""

    ADMIN = "admin"
    GUEST = "guest"
''',
    "web/server.ts": "export function startServer(port: number) {\n  return listen(port);\n}\n",
    "用户.py": "def 认证流程():\n    '用户认证的流程'\n",
    "notes/2026-03-14-login.md": "# Login\n\nSessions end after an hour.\n\n## Why\n\nAuditors.\n",
    "broken.py": "def (:\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(64),
    ".env": "TOKEN=abc\n",
}
CHANGED: dict[str, str | bytes] = {
    "auth.py": str(FILES["auth.py"]).replace("in USERS", "in USERS and password")
}
LOG: dict[str, str | bytes] = {
    "2026/03/session-keys-2026-03-14.md": "# Conversation: Session keys\nDate: 2026-03-14\n"
    "Query: rotate session keys\n\n## Phase 1: Assessment\nKeys are as old as the house.\n\n"
    "## Phase 9: Response\nRotate the keys every night. 每晚轮换密钥\n"
}
# Long enough to be cut into pieces, with a word of its own in each of them.
DOCUMENT = "# 设计 Plan\n\n" + "\n\n".join(
    f"## Step {number}\n\nMilestone{number}: " + "the ledger moves to the new tables. " * 30
    for number in range(8)
)
LESSONS = (("retry the upload with backoff", "0.9"), ("guess the port from the pid", "0.2"))

_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


def build(folder: Path) -> Path:
    """The project, with two commits."""
    project = write_tree(folder / "project", FILES)
    git(project, "init", "-q")
    commit(project, "2026-03-01T12:00:00Z")
    write_tree(project, CHANGED)
    commit(project, "2026-03-02T12:00:00Z")
    return project


def commit(project: Path, at: str) -> None:
    git(project, "add", "auth.py", "settings.py", "web", "notes", "用户.py")
    git(project, "commit", "-q", "-m", "work", date=at)


def git(project: Path, *words: str, date: str = "") -> None:
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subprocess.run(["git", *words], cwd=project, env=os.environ | _GIT | dates, check=True)
