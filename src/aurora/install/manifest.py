"""What was added to which file, in `installed.json` of the person's folder.

A record has what uninstalling needs: the additions, and for each change of ours the file's hash
before and after it with the texts that it replaced. If the file still has one of these hashes, its
first content is restored byte for byte. The manifest is written before the files, so a killed run
leaves no file that it does not name.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from aurora.config.places import shown
from aurora.errors import ConfigError
from aurora.files import make_folder, open_file, replacing
from aurora.install.additions import Addition, from_record, to_record
from aurora.platforms import lock
from aurora.types import Json

FILE, _LOCK = "installed.json", "installed.lock"
_VERSION = 1


class Undo(NamedTuple):
    """The text that stood in place of `length` letters of the new text."""

    at: int
    length: int
    old: str


class Step(NamedTuple):
    """One change of a file; the hash of a missing file is empty."""

    before: str
    after: str
    undo: tuple[Undo, ...]


class Owned(NamedTuple):
    """An addition, and the agents that it is for."""

    agents: tuple[str, ...]
    addition: Addition


@dataclass(frozen=True, slots=True)
class Record:
    """What we did to a file. `steps` is empty once another program changed it in between."""

    file: Path
    scope: str
    project: str  # empty for the person's files
    command: str = ""  # that the additions name, if they do
    created: bool = False
    folders: tuple[str, ...] = ()  # made for it, the innermost last
    steps: tuple[Step, ...] = ()
    owned: tuple[Owned, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for owned in self.owned for name in owned.agents))

    def extended(self, before: bytes | None, after: bytes, undo: tuple[Undo, ...]) -> Record:
        """With one more step. A file that others changed cannot be restored by steps."""
        step = Step(digest(before), digest(after), undo)
        known = [n for n, each in enumerate(self.steps) if each.after == step.before]
        if known:
            return replace(self, steps=(*self.steps[: known[-1] + 1], step))
        is_first = not self.owned or (self.steps and self.steps[0].before == step.before)
        return replace(self, steps=(step,) if is_first else ())

    def restored(self, content: bytes) -> bytes | None:
        """The file as it was before our first change; None if others changed it since."""
        now = digest(content)
        if self.steps and now == self.steps[0].before:
            return content
        known = [n for n, step in enumerate(self.steps) if step.after == now]
        if not known:
            return None
        text = content.decode()
        for step in reversed(self.steps[: known[-1] + 1]):
            for at, length, old in reversed(step.undo):
                text = text[:at] + old + text[at + length :]
        first = "" if self.created else digest(text.encode())
        return text.encode() if first == self.steps[0].before else None


def digest(content: bytes | None) -> str:
    return "" if content is None else sha256(content).hexdigest()


def undo_between(before: str, after: str) -> Undo:
    """What a change replaced: all between the common beginning and the common end."""
    most = min(len(before), len(after))
    head = bisect_left(range(1, most + 1), x=True, key=lambda n: before[:n] != after[:n])
    left = most - head
    tail = bisect_left(
        range(1, left + 1),
        x=True,
        key=lambda n: before[len(before) - n :] != after[len(after) - n :],
    )
    return Undo(head, len(after) - head - tail, before[head : len(before) - tail])


Manifest = dict[Path, Record]


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """One install or uninstall at a time; another waits."""
    with ExitStack() as stack:
        with _writing(home):
            make_folder(home)
            file = stack.enter_context(open_file(home / _LOCK, "ab"))
            lock(file, wait=True)
        yield


@contextmanager
def _writing(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise ConfigError(
            f"What is installed cannot be noted in {shown(home)}: {exc.strerror or exc}",
            hint="check the folder's owner and mode, and the space left",
        ) from exc


def load(home: Path) -> Manifest:
    file = home / FILE
    try:
        with open_file(file) as stream:
            tree = json.loads(stream.read())
        if tree["version"] > _VERSION:
            raise ConfigError(
                f"{shown(file)} is of a newer Aurora (version {tree['version']})",
                hint="use that one, or update this one",
            )
        records = [_record(each) for each in tree["files"]]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ConfigError(
            f"{shown(file)} cannot be read: {exc!r}",
            hint="it names what `aur install` wrote; move it away to install anew",
        ) from exc
    return {record.file: record for record in records}


def save(home: Path, manifest: Mapping[Path, Record]) -> None:
    """Write the manifest; an empty one is removed."""
    file = home / FILE
    if not manifest:
        file.unlink(missing_ok=True)
        return
    tree = {"version": _VERSION, "files": [_as_json(record) for record in manifest.values()]}
    with _writing(home):
        make_folder(home)
        with replacing(file, durable=True) as out:
            out.write(json.dumps(tree, indent=1, ensure_ascii=False).encode())


def _as_json(record: Record) -> dict[str, Json]:
    owned: list[Json] = [
        {"agents": list(each.agents), **to_record(each.addition)} for each in record.owned
    ]
    steps: list[Json] = [
        {"before": step.before, "after": step.after, "undo": [list(each) for each in step.undo]}
        for step in record.steps
    ]
    return {"file": str(record.file), "scope": record.scope, "project": record.project,
            "command": record.command, "created": record.created,
            "folders": list(record.folders), "steps": steps, "owned": owned}  # fmt: skip


def _record(tree: dict[str, Any]) -> Record:
    steps = tuple(
        Step(step["before"], step["after"], tuple(Undo(*each) for each in step["undo"]))
        for step in tree["steps"]
    )
    owned = tuple(
        Owned(tuple(each.pop("agents")), from_record(each)) for each in map(dict, tree["owned"])
    )
    return Record(Path(tree["file"]), tree["scope"], tree["project"], tree["command"],
                  tree["created"], tuple(tree["folders"]), steps, owned)  # fmt: skip
