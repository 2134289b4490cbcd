"""Gemini CLI: `tmp/<project>/chats/session-*.jsonl`, and older sessions as one `.json`.

A record with the id of an earlier one replaces it; `$rewindTo` takes back a message and all after
it; `$set` changes the session, or all of its messages. So a file is always read from its start, and
what it holds in the end is what counts.

All messages are set anew when a session is resumed or shortened. They are then what the model gets:
without times, with calls as parts of the text. So what is known of a message stays, and so do the
messages before a summary.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import (
    Exchange,
    Offset,
    Options,
    Reading,
    find_files,
    folder_of,
)
from aurora.sources.sessions.json_values import (
    as_line,
    dicts,
    get,
    get_dict,
    get_list,
    get_text,
    get_time,
    joined_texts,
    parse_json,
    without_hook_context,
)
from aurora.sources.sessions.jsonl import Fields, iter_records, open_transcript
from aurora.sources.sessions.tool_uses import exit_status
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

_AGENT = "gemini-cli"
_MAX_JSON = 128 * 1024 * 1024  # bytes of an older session, which is one JSON value
_QUIET = ("info", "error", "warning")
_CONTEXT = ("/", "?", "<session_context>")  # as Gemini CLI itself leaves out
_SUMMARY = "<state_snapshot>"
_NAME = re.compile(r"session-[0-9T-]{16}-([0-9a-f]{8})")
_MASKED = "<tool_output_masked>"  # in place of a long outcome
_UNTRUSTED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\s*\Z", re.DOTALL)
_RAN = re.compile(r"Output: .*\nProcess Group PGID: [0-9]+", re.DOTALL)
_STOPPED = re.compile(r"^(?:Error|Signal): (?!\(none\))", re.MULTILINE)


class GeminiCli:
    """Reads the sessions of Gemini CLI."""

    agent = _AGENT
    title = "Gemini CLI"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        root = folder_of(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp"
        paths = find_files(root, _is_chat)
        newer = {path for path in paths if isinstance(path, Path) and path.suffix == ".jsonl"}
        return [
            path
            for path in paths
            if not (isinstance(path, Path) and path.with_suffix(".jsonl") in newer - {path})
        ]

    def read(
        self,
        path: Path,
        since: Offset | None = None,  # noqa: ARG002 - a record may change any earlier one
        options: Options | None = None,
    ) -> Reading:
        return Reading(lambda reading: _exchanges(reading, path, options or Options()))


def _is_chat(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and "chats" in path.parts[-3:-1]


def _exchanges(reading: Reading, path: Path, options: Options) -> Iterator[Exchange]:
    session, messages = _load(reading, path)
    if not messages:
        return
    transcript = Transcript(reading, _AGENT, path, options)
    transcript.note(id=get_text(session, "sessionId") or path.stem)
    transcript.note(cwd=_project(path, get_text(session, "projectHash")))
    if get(session, "kind") == "subagent" and path.parent.name != "chats":
        transcript.note(parent=path.parent.name)
    transcript.note_title(get_text(session, "summary"), rank=3)
    transcript.note_time(get_time(session, "startTime"))
    # The ids of messages are only sure to be unique in their session.
    named = _NAME.fullmatch(path.stem)
    prefix = (get_text(session, "sessionId") or (named[1] if named else path.stem))[:8]
    for message in messages:
        _tell(transcript, message, f"{prefix}-{get_text(message, 'id')}")
        yield from transcript.take()
    yield from transcript.rest()
    reading.sessions[transcript.id] = transcript.session()


def _load(reading: Reading, path: Path) -> tuple[Fields, list[Fields]]:
    """The session's facts, and its messages as they are in the end."""
    replay = _Replay(reading)
    try:
        with ExitStack() as stack:
            stream, size = open_transcript(path, stack)
            if path.suffix == ".json" and size > _MAX_JSON:
                reading.skip(f"over {_MAX_JSON >> 20} MiB")
            elif path.suffix == ".json":
                replay.handle(_whole(stream.read(size), reading))
            else:
                for record in iter_records(stream, reading, size=size):
                    replay.handle(record.fields)
    except OSError as exc:
        reading.skip(f"unreadable: {exc.strerror or exc}")
    except ValueError as exc:
        reading.skip(f"unreadable: {exc}")
    return replay.session, list(replay.messages.values())


def _whole(text: bytes, reading: Reading) -> Fields:
    try:
        value = parse_json(text.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError:
        reading.skip("not JSON")
        return {}
    return value if isinstance(value, dict) else {}


class _Replay:
    """Applies the records of a session, one by one."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.session: Fields = {}
        self.messages: dict[str, Fields] = {}
        self._told: dict[str, Fields] = {}  # also those that the model no longer gets

    def handle(self, record: Fields) -> None:
        if isinstance(rewound := record.get("$rewindTo"), str):
            self._rewind(rewound)
        elif isinstance(changes := record.get("$set"), dict):
            self._change(changes)
        elif isinstance(record.get("id"), str) and "type" in record:
            self._add(record)
        elif "sessionId" in record:
            self._change(record)
        elif record:
            self._reading.skip("unknown record type")

    def _add(self, message: Fields) -> None:
        self.messages[str(message["id"])] = self._told[str(message["id"])] = message

    def _change(self, changes: Fields) -> None:
        self.session |= {name: value for name, value in changes.items() if name != "messages"}
        if isinstance(messages := changes.get("messages"), list):
            self._set([*dicts(messages)])

    def _set(self, messages: list[Fields]) -> None:
        before, self.messages = self._told, {}
        if any(_SUMMARY in joined_texts(get(message, "content"))[:200] for message in messages):
            ids = {get_text(message, "id") for message in messages}
            self.messages |= {id_: told for id_, told in before.items() if id_ not in ids}
        for message in messages:
            id_ = message.get("id")
            if not isinstance(id_, str):  # of the oldest sessions
                id_ = digest(as_line(message))
            self._add(_merged(before.get(id_, {}), message) | {"id": id_})

    def _rewind(self, id_: str) -> None:
        ids = list(self.messages)
        if id_ not in self.messages:  # Gemini CLI forgets everything; a memory does not
            self._reading.skip("a turn to take back that is not there")
            return
        taken_back = ids[ids.index(id_) :]
        for each in taken_back:
            del self.messages[each]
            self._told.pop(each, None)
        self._reading.skip("taken back by the user", len(taken_back))


def _merged(told: Fields, again: Fields) -> Fields:
    """A message that is told again for the model: with its first time, and what it lacks now."""
    merged = told | again | {"timestamp": told.get("timestamp") or again.get("timestamp")}
    if joined_texts(told.get("content")) and not joined_texts(again.get("content")):
        merged["content"] = told["content"]
    if "toolCalls" in told and _MASKED in as_line(again.get("toolCalls")):
        merged["toolCalls"] = told["toolCalls"]
    return merged


def _tell(transcript: Transcript, message: Fields, id_: str) -> None:
    kind, time = get_text(message, "type"), get_time(message, "timestamp")
    transcript.note_time(time)
    text = joined_texts(get(message, "content"))
    if kind == "user":
        text = without_hook_context(joined_texts(get(message, "displayContent")) or text)
        if _SUMMARY in text[:200]:
            transcript.summarise(id_, text, time)
        elif text.strip() and not text.lstrip().startswith(_CONTEXT):
            transcript.ask(id_, text, time)
        for response in _parts(message, "functionResponse"):
            _tell_response(transcript, response)
    elif kind in ("gemini", "model"):
        transcript.note(model=get_text(message, "model"))
        for thought in dicts(get_list(message, "thoughts")):
            words = (get_text(thought, "subject"), get_text(thought, "description"))
            transcript.think(id_, "\n".join(filter(None, words)), time)
        transcript.answer(id_, text, time)
        calls = list(dicts(get_list(message, "toolCalls")))
        for call in calls or _parts(message, "functionCall"):
            _tell_call(transcript, id_, call)
    elif kind not in _QUIET:
        transcript.reading.skip(f"unknown record type {kind[:40]!r}")


def _tell_call(transcript: Transcript, message: str, call: Fields) -> None:
    id_ = get_text(call, "id") or digest(message, as_line(call))
    transcript.call(id_, get_text(call, "name"), get(call, "args"), get_time(call, "timestamp"))
    status = get_text(call, "status")
    outcome = _outcome(get(call, "result")) or get_text(call, "resultDisplay")
    if outcome or status in ("success", "error", "cancelled"):
        failed = status in ("error", "cancelled")
        transcript.result(id_, outcome, failed=failed, status=_exit_status(outcome))


def _tell_response(transcript: Transcript, response: Fields) -> None:
    """Add an outcome, if its call has none yet: most are told with the call."""
    id_, current = get_text(response, "id"), transcript.current
    if current is not None and id_ in current.waiting:
        outcome = _outcome({"functionResponse": response})
        failed = "error" in get_dict(response, "response")
        transcript.result(id_, outcome, failed=failed, status=_exit_status(outcome))


def _parts(message: Fields, kind: str) -> list[Fields]:
    """The parts of a message that hold a call, or the response to one."""
    parts = dicts(get_list(message, "content"))
    return [part for each in parts if (part := get_dict(each, kind))]


def _exit_status(outcome: str) -> int | None:
    """The exit status of a command. Gemini CLI writes none when it is 0."""
    written = exit_status(outcome)
    if written is None and _RAN.fullmatch(outcome) and not _STOPPED.search(outcome):
        return 0
    return written


def _outcome(result: Json) -> str:
    """The texts of a result: parts with text, or with the response of a function."""
    parts: list[Json] = result if isinstance(result, list) else [result]
    texts = [joined_texts(part) for part in parts]
    for part in dicts(parts):
        response = get_dict(part, "functionResponse", "response")
        outputs = (get_text(response, name) for name in ("output", "error"))
        texts.append(next(filter(None, outputs), "") or (as_line(response) if response else ""))
    texts = [_UNTRUSTED.sub(r"\1", text) for text in texts]
    return "\n".join(filter(None, texts))


def _project(path: Path, project_hash: str) -> str:
    """The folder of the project, which a file beside the chats tells, or a list by its name."""
    folder = next((parent.parent for parent in path.parents if parent.name == "chats"), path.parent)
    try:
        return (folder / ".project_root").read_text("utf-8", "replace").strip()
    except OSError:
        pass
    try:
        listed = parse_json((folder.parent.parent / "projects.json").read_bytes())
    except (OSError, ValueError):
        return ""
    for root, name in get_dict(listed, "projects").items():
        hashed = hashlib.sha256(root.encode("utf-8", "replace")).hexdigest()
        if folder.name in (name, hashed) or (project_hash and project_hash == hashed):
            return root
    return ""
