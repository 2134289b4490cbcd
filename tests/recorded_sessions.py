"""Sessions of an agent that really happen: commands run, files change, git commits. What was done
is written as Claude Code writes it, with the true outcomes, and imported as it would be.

The clock is the story's own, and git commits by it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from aurora.indexing.session_chunks import exchange_chunks
from aurora.redaction import Redactor
from aurora.sources.sessions.readers import make_reader
from aurora.stores.base import Store

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
}  # fmt: skip
PYTHON = Path(sys.executable)


@dataclass
class Story:
    """A home with transcripts, and a clock."""

    home: Path
    now: datetime
    sessions: int = 0

    def session(self, folder: Path, title: str = "") -> RecordedSession:
        self.sessions += 1
        session = RecordedSession(self, f"session-{self.sessions}", folder)
        if title:
            session.write({"type": "ai-title", "aiTitle": title})
        return session

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)

    def run(self, folder: Path, command: str) -> tuple[int, str]:
        """Run a command line; its exit status, and all that it printed."""
        stamp = self.now.isoformat()
        dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        path = f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={**os.environ, **IDENTITY, **dates, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def git(self, folder: Path, *words: str) -> str:
        """What the person does without an agent."""
        status, output = self.run(folder, "git " + " ".join(f"'{word}'" for word in words))
        assert status == 0, output
        return output.strip()

    def import_into(self, store: Store) -> None:
        """Read all transcripts into a person's store."""
        reader = make_reader("claude-code")
        for path in reader.locate(self.home, {}):
            assert isinstance(path, Path)
            reading = reader.read(path)
            for exchange in reading:
                session = reading.sessions[exchange.session]
                store.chunks.put_chunks(exchange_chunks(session, exchange, Redactor()))


@dataclass
class RecordedSession:
    """One session. Each step takes a minute."""

    story: Story
    id: str
    folder: Path
    records: int = field(default=0)

    def ask(self, text: str) -> None:
        self._message("user", text)

    def answer(self, text: str) -> None:
        self._message("assistant", [{"type": "text", "text": text}])

    def bash(self, command: str) -> str:
        """Run a command; what it printed."""
        call = self._call("Bash", {"command": command})
        status, output = self.story.run(self.folder, command)
        self._outcome(call, f"Exit code {status}\n{output}" if status else output, status != 0)
        return output

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file; all of it if `old` is empty."""
        path = self.folder / file
        if old:
            text = path.read_text(encoding="utf-8")
            assert old in text
            path.write_text(text.replace(old, new), encoding="utf-8")
            given = {"file_path": str(path), "old_string": old, "new_string": new}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            given = {"file_path": str(path), "content": new}
        call = self._call("Edit" if old else "Write", given)
        self._outcome(call, f"The file {path} has been updated.", is_error=False)

    def read(self, file: str) -> None:
        path = self.folder / file
        call = self._call("Read", {"file_path": str(path)})
        self._outcome(call, path.read_text(encoding="utf-8"), is_error=False)

    def write(self, record: dict[str, object]) -> None:
        folder = self.story.home / ".claude" / "projects" / str(self.folder).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.id}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _call(self, tool: str, given: dict[str, str]) -> str:
        call = f"toolu_{self.id}_{self.records}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self._message("assistant", [use])
        return call

    def _outcome(self, call: str, text: str, is_error: bool) -> None:
        result = {
            "type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error
        }  # fmt: skip
        self._message("user", [result])

    def _message(self, role: str, content: object) -> None:
        self.records += 1
        _, branch = self.story.run(self.folder, "git rev-parse --abbrev-ref HEAD 2>/dev/null")
        self.write({
            "type": role, "uuid": f"{self.id}-{self.records}", "sessionId": self.id,
            "timestamp": self.story.now.isoformat(), "cwd": str(self.folder),
            "gitBranch": branch.strip(), "isSidechain": False,
            "message": {"role": role, "model": "claude-opus-4-5", "content": content},
        })  # fmt: skip
        self.story.wait(minutes=1)
