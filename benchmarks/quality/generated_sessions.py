"""Writes transcripts as Claude Code, Codex and Gemini CLI keep them, for day_zero.py.

A project of benchmarks/questions/sessions has matters, each of which is one exchange. They are put
into sessions among routine exchanges, which come from templates by a seed, and the sessions into
files in a home, each in the format of its agent.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from ruamel.yaml import YAML

Yaml = Any  # what a YAML file of the questions holds
Record = dict[str, Any]
MOST_ROUTINE = 3  # exchanges before a matter, and at the end of a session
ROUTINE_SESSIONS = 4  # of a project, without any matter
_UNTIMED = datetime.fromtimestamp(0, UTC)
_AFTER = timedelta(days=5)  # such a session comes after one with matters
_LOOKS = ("I look at {} first.", "Let me read {}.", "Let me see what {} does.", "")
_RUNS = ("Now I run it.", "Let me check that.", "", "")


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a tool: a command with its output, an edit, or a file that is read."""

    kind: str  # "run", "edit" or "read"
    subject: str  # the command line, or the file
    out: str = ""
    exit: int = 0
    old: str = ""
    new: str = ""
    said: str = ""  # before the call

    @property
    def outcome(self) -> str:
        return {"run": self.out, "edit": f"The file {self.subject} has been updated."}.get(
            self.kind, f"1\t(the text of {self.subject})"
        )


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and what the agent did and said. Routine has no `matter`."""

    asked: str
    steps: Sequence[Step]
    answered: str
    matter: str = ""
    time: datetime = _UNTIMED

    @property
    def text(self) -> str:
        parts = (
            f"{step.said} {step.subject} {step.out} {step.old} {step.new}" for step in self.steps
        )
        return "\n".join((self.asked, *parts, self.answered))


@dataclass(frozen=True, slots=True)
class Session:
    agent: str
    id: str
    folder: str
    branch: str
    exchanges: Sequence[Exchange]


def read_yaml(file: Path) -> Yaml:
    return YAML(typ="safe").load(file.read_text("utf-8"))


def sessions_of(project: Yaml, routine: Yaml, random: Random) -> list[Session]:
    """The sessions of a project: those with its matters, and some that are only routine."""
    sessions = []
    for given in project["sessions"]:
        exchanges: list[Exchange] = []
        for matter in given["matters"]:
            exchanges += draw_routine(project, routine, random, random.randint(0, MOST_ROUTINE))
            exchanges.append(exchange_of(matter, random, matter["id"]))
        exchanges += draw_routine(project, routine, random, random.randint(1, MOST_ROUTINE))
        sessions.append(make_session(project, given, exchanges, random))
    for given in random.sample(project["sessions"], ROUTINE_SESSIONS):
        drawn = draw_routine(project, routine, random, random.randint(4, 9))
        sessions.append(make_session(project, given, drawn, random, after=_AFTER))
    return sessions


def make_session(
    project: Yaml,
    given: Yaml,
    exchanges: Sequence[Exchange],
    random: Random,
    after: timedelta = timedelta(),
) -> Session:
    """A session whose exchanges follow each other after some minutes."""
    time = datetime.fromisoformat(f"{given['start']}:00").replace(tzinfo=UTC) + after
    timed = []
    for exchange in exchanges:
        time += timedelta(seconds=random.randint(200, 900))
        timed.append(replace(exchange, time=time))
    id_ = str(uuid.UUID(int=random.getrandbits(128), version=4))
    return Session(given["agent"], id_, project["folder"], given["branch"], timed)


def draw_routine(project: Yaml, routine: Yaml, random: Random, count: int) -> list[Exchange]:
    """Routine exchanges with the words of the project."""
    words, exchanges = project["filler"], []
    for template in random.sample(routine, count):
        names = {
            "{file}": random.choice(words["files"]),
            "{name}": random.choice(words["names"]),
            "{topic}": random.choice(words["topics"]),
            "{check}": words["check"],
            "{passed}": words["passed"],
        }
        exchanges.append(exchange_of(_filled(template, names), random))
    return exchanges


def exchange_of(given: Yaml, random: Random, matter: str = "") -> Exchange:
    steps = [_step(step, random) for step in given["steps"]]
    return Exchange(given["asked"].strip(), steps, given["answered"].strip(), matter)


def _step(given: Yaml, random: Random) -> Step:
    kind = next(kind for kind in ("run", "edit", "read") if kind in given)
    said = random.choice(_RUNS if kind == "run" else _LOOKS).format(given[kind])
    texts = {name: given.get(name, "").strip("\n") for name in ("out", "old", "new")}
    return Step(kind, given[kind], exit=given.get("exit", 0), said=said, **texts)


def _filled(given: Yaml, names: Mapping[str, str]) -> Yaml:
    if isinstance(given, dict):
        return {key: _filled(value, names) for key, value in given.items()}
    if isinstance(given, list):
        return [_filled(value, names) for value in given]
    for name, word in names.items() if isinstance(given, str) else ():
        given = given.replace(name, word)
    return given


# Files


def write(session: Session, home: Path) -> Path:
    """Write the transcript of a session where its agent keeps it."""
    records = _FORMATS[session.agent](session)
    path = home / _PLACES[session.agent](session)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    if session.agent == "gemini-cli":
        (path.parent.parent / ".project_root").write_text(session.folder, "utf-8")
    return path


def _claude_place(session: Session) -> str:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in session.folder)
    return f".claude/projects/{slug}/{session.id}.jsonl"


def _codex_place(session: Session) -> str:
    start = session.exchanges[0].time
    return f".codex/sessions/{start:%Y/%m/%d}/rollout-{start:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"


def _gemini_place(session: Session) -> str:
    start, name = session.exchanges[0].time, Path(session.folder).name
    return f".gemini/tmp/{name}/chats/session-{start:%Y-%m-%dT%H-%M}-{session.id[:8]}.jsonl"


def _moments(exchange: Exchange) -> Iterator[str]:
    """The times of the records of an exchange."""
    time = exchange.time
    while True:
        yield time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        time += timedelta(seconds=3)


def _path(session: Session, step: Step) -> str:
    return f"{session.folder}/{step.subject}"


def _id(*parts: object) -> str:
    """An id made of what it is for: the same in every run."""
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:24]


def _claude_records(session: Session) -> Iterator[Record]:
    base = {"sessionId": session.id, "cwd": session.folder, "gitBranch": session.branch,
            "version": "2.1.0", "userType": "external", "isSidechain": False}  # fmt: skip
    parent, count = None, 0

    def record(role: str, content: object, time: str) -> Record:
        nonlocal parent, count
        count += 1
        id_ = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session.id} {count}"))
        message: Record = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{_id(id_)}", "model": "claude-opus-5", "type": "message"}
        fields = {"type": role, "uuid": id_, "parentUuid": parent, "timestamp": time, **base}
        parent = id_
        return {**fields, "message": message}

    for exchange in session.exchanges:
        times = _moments(exchange)
        yield record("user", exchange.asked, next(times))
        for at, step in enumerate(exchange.steps):
            if step.said:
                yield record("assistant", [{"type": "text", "text": step.said}], next(times))
            call = f"toolu_{_id(session.id, exchange.time, at)}"
            name, arguments = _claude_call(session, step)
            use = {"type": "tool_use", "id": call, "name": name, "input": arguments}
            yield record("assistant", [use], next(times))
            text = f"Exit code {step.exit}\n{step.outcome}" if step.exit else step.outcome
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            yield record("user", [result | {"is_error": bool(step.exit)}], next(times))
        yield record("assistant", [{"type": "text", "text": exchange.answered}], next(times))


def _claude_call(session: Session, step: Step) -> tuple[str, Record]:
    if step.kind == "run":
        return "Bash", {"command": step.subject, "description": "Run a command"}
    file = {"file_path": _path(session, step)}
    if step.kind == "read":
        return "Read", file
    if step.old:
        return "Edit", {**file, "old_string": step.old, "new_string": step.new}
    return "Write", {**file, "content": step.new}


def _codex_records(session: Session) -> Iterator[Record]:
    start = next(_moments(session.exchanges[0]))
    meta = {
        "id": session.id, "timestamp": start, "cwd": session.folder, "originator": "codex_cli_rs",
        "cli_version": "0.120.0", "source": "cli", "model_provider": "openai",
        "git": {"branch": session.branch},
    }  # fmt: skip
    context = f"<environment_context>\n  <cwd>{session.folder}</cwd>\n</environment_context>"
    yield _line(start, "session_meta", meta)
    yield _line(start, "response_item", _codex_message("user", context))
    for number, exchange in enumerate(session.exchanges, 1):
        times = _moments(exchange)
        turn = {"turn_id": f"turn-{number}", "cwd": session.folder, "model": "gpt-6-codex"}
        yield _line(time := next(times), "turn_context", turn)
        yield _line(time, "response_item", _codex_message("user", exchange.asked))
        yield _line(time, "event_msg", {"type": "user_message", "message": exchange.asked})
        for at, step in enumerate(exchange.steps):
            if step.said:
                yield from _codex_says(step.said, next(times))
            call = f"call_{_id(session.id, exchange.time, at)}"
            yield _line(
                next(times), "response_item", {**_codex_call(session, step), "call_id": call}
            )
            output = f"Wall time: 1.2000 seconds\nProcess exited with code {step.exit}\nOutput:\n"
            is_patch = step.kind == "edit"
            yield _line(
                next(times),
                "response_item",
                {
                    "type": "custom_tool_call_output" if is_patch else "function_call_output",
                    "call_id": call,
                    "output": step.outcome if is_patch else output + step.outcome,
                },
            )
        yield from _codex_says(exchange.answered, next(times))


def _codex_says(text: str, time: str) -> Iterator[Record]:
    """A message, which a rollout tells twice."""
    yield _line(time, "event_msg", {"type": "agent_message", "message": text})
    yield _line(time, "response_item", _codex_message("assistant", text))


def _codex_message(role: str, text: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _codex_call(session: Session, step: Step) -> Record:
    if step.kind == "edit":
        lines = [f"-{line}" for line in step.old.splitlines()]
        lines += [f"+{line}" for line in step.new.splitlines()]
        verb = "Update" if step.old else "Add"
        patch = [f"*** {verb} File: {step.subject}", "@@", *lines] if step.old else [
            f"*** {verb} File: {step.subject}", *lines]  # fmt: skip
        text = "\n".join(("*** Begin Patch", *patch, "*** End Patch"))
        return {"type": "custom_tool_call", "name": "apply_patch", "input": text}
    command = step.subject if step.kind == "run" else f"sed -n 1,200p {step.subject}"
    arguments = json.dumps({"cmd": command, "workdir": session.folder})
    return {"type": "function_call", "name": "exec_command", "arguments": arguments}


def _line(time: str, kind: str, payload: Record) -> Record:
    return {"timestamp": time, "type": kind, "payload": payload}


def _gemini_records(session: Session) -> Iterator[Record]:
    start = next(_moments(session.exchanges[0]))
    hashed = hashlib.sha256(session.folder.encode()).hexdigest()
    yield {"sessionId": session.id, "projectHash": hashed, "startTime": start,
           "lastUpdated": start, "kind": "main"}  # fmt: skip
    for exchange in session.exchanges:
        times = _moments(exchange)
        time = next(times)
        id_ = _id(session.id, exchange.time)
        yield {"id": id_, "timestamp": time, "type": "user", "content": [{"text": exchange.asked}]}
        for at, step in enumerate(exchange.steps):
            said = {"id": f"{id_}-{at}", "timestamp": next(times), "type": "gemini",
                    "content": step.said, "model": "gemini-4-pro"}  # fmt: skip
            yield said | {"toolCalls": [_gemini_call(session, step, f"{id_}-{at}", next(times))]}
        yield {"id": f"{id_}-last", "timestamp": next(times), "type": "gemini",
               "content": exchange.answered, "model": "gemini-4-pro"}  # fmt: skip
        yield {"$set": {"lastUpdated": next(times)}}


def _gemini_call(session: Session, step: Step, id_: str, time: str) -> Record:
    file = {"file_path": _path(session, step)}
    name, arguments = {
        "run": ("run_shell_command", {"command": step.subject}),
        "read": ("read_file", file),
        "edit": ("replace", {**file, "old_string": step.old, "new_string": step.new})
        if step.old
        else ("write_file", {**file, "content": step.new}),
    }[step.kind]
    output = (
        f"Output: {step.outcome}\nExit Code: {step.exit}" if step.kind == "run" else step.outcome
    )
    response = {"functionResponse": {"id": id_, "name": name, "response": {"output": output}}}
    return {"id": id_, "name": name, "args": arguments, "status": "success", "timestamp": time,
            "result": [response]}  # fmt: skip


_FORMATS = {"claude-code": _claude_records, "codex": _codex_records, "gemini-cli": _gemini_records}
_PLACES = {"claude-code": _claude_place, "codex": _codex_place, "gemini-cli": _gemini_place}
