"""A project with a memory, and `aur hook` in it: in this process, or in one of its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from aurora import Memory
from aurora.hooks.answering import HookRequest, answer_hook
from aurora.hooks.client import working_folder
from aurora.usage_log import UsageRecord, read_usage
from tests.builders import note_as_own
from tests.cli.conftest import Shell, make_repository
from tests.hooks.events import Sent

LESSON = "Hash a password with salt, or equal passwords show"


@dataclass(frozen=True)
class Shop:
    """A project, and the hooks that an agent calls in it."""

    shell: Shell

    @property
    def folder(self) -> Path:
        return self.shell.cwd

    @property
    def home(self) -> Path:
        return self.shell.home

    def memory(self) -> Memory:
        return Memory.open(self.folder, environ=self.shell.environment)

    def answer(self, sent: Sent) -> str:
        """What an event prints, in this process."""
        folder = working_folder(sent.payload)
        environ = self.shell.environment
        return answer_hook(HookRequest(sent.agent, sent.event, sent.payload, folder, environ))

    def run(self, agent: str, event: str, content: bytes) -> str:
        """What `aur hook` prints in a process of its own; it must end well and talk to nobody."""
        file = self.home.parent / "stdin"
        file.write_bytes(content)
        with file.open("rb") as stdin:
            done = self.shell.run("hook", agent, event, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def send(self, sent: Sent) -> str:
        return self.run(sent.agent, sent.event, json.dumps(sent.payload).encode())

    def log(self) -> list[UsageRecord]:
        return [*read_usage(self.home)]


def text_of(output: str) -> str:
    """What an agent reads of an answer, whatever its form."""
    form = json.loads(output)
    text = form.get("hookSpecificOutput", form)
    assert len(text) - ("hookEventName" in text) == 1
    return str(next(text[key] for key in text if key != "hookEventName"))


@pytest.fixture(scope="session")
def once_learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is indexed, with a lesson."""
    folder = tmp_path_factory.mktemp("learnt")
    shell = make_repository(folder)
    with Memory.open(shell.cwd, environ=shell.environment) as memory:
        memory.index(git=False)
        memory.learn(LESSON, files=["auth_manager.py"])
        memory.search("password")  # the indexes are made
    return folder


@pytest.fixture
def shop(once_learnt: Path, tmp_path: Path) -> Shop:
    shutil.copytree(once_learnt, tmp_path, dirs_exist_ok=True)
    shell = Shell(tmp_path / "project", tmp_path / "user" / "home")
    shell.environ["AURORA_HOOK_SECONDS"] = "60"  # a busy machine takes its time
    note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
    return Shop(shell)
