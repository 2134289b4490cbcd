"""Copilot Chat in VS Code: `workspaceStorage/*/chatSessions/*.json`, and newer `.jsonl`.

A newer file is a log of changes: the whole session first, then values set, removed or added at a
path. So a file is always read from its start, and what it holds in the end is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote, urlsplit

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import (
    Exchange,
    Offset,
    Options,
    Reading,
    editor_folders,
    find_files,
)
from aurora.sources.sessions.json_values import (
    dicts,
    first_text,
    get,
    get_dict,
    get_int,
    get_list,
    get_text,
    get_time,
    parse_json,
)
from aurora.sources.sessions.jsonl import Fields, iter_records, open_transcript
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

_AGENT = "copilot-chat"
_EDITORS = ("Code", "Code - Insiders", "VSCodium")
_FOLDERS = ("chatSessions", "emptyWindowChatSessions")
_MAX_JSON = 128 * 1024 * 1024  # bytes of an older session, which is one JSON value
_SET, _ADD, _REMOVE = 1, 2, 3  # kinds of changes
_MOST_NODES = 10_000  # of the tree that an outcome may be
_EMPTY_FENCE = re.compile(r"^```\w*\n\s*```\n?", re.MULTILINE)  # around an edit, told as a call


class CopilotChat:
    """Reads the chat sessions of VS Code."""

    agent = _AGENT
    title = "Copilot Chat"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        paths: list[Path | Skipped] = []
        for editor in _EDITORS:
            for user in editor_folders(editor, home, environ):
                paths += find_files(user / "workspaceStorage", _is_session)
                paths += find_files(user / "globalStorage", _is_session)
        newer = {path for path in paths if isinstance(path, Path) and path.suffix == ".jsonl"}
        return [
            path
            for path in paths
            if not (isinstance(path, Path) and path.with_suffix(".jsonl") in newer - {path})
        ]

    def read(
        self,
        path: Path,
        since: Offset | None = None,  # noqa: ARG002 - a change may be of any part
        options: Options | None = None,
    ) -> Reading:
        return Reading(lambda reading: _exchanges(reading, path, options or Options()))


def _is_session(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and path.parent.name in _FOLDERS


def _exchanges(reading: Reading, path: Path, options: Options) -> Iterator[Exchange]:
    session = _load(reading, path)
    requests = list(dicts(get_list(session, "requests")))
    if not requests:
        return
    transcript = Transcript(reading, _AGENT, path, options)
    transcript.note(id=get_text(session, "sessionId") or path.stem, cwd=_project(path))
    transcript.note_title(get_text(session, "customTitle"), rank=3)
    transcript.note_time(get_time(session, "creationDate"))
    for request in requests:
        _tell(transcript, request)
        yield from transcript.take()
    yield from transcript.rest()
    reading.sessions[transcript.id] = transcript.session()


def _load(reading: Reading, path: Path) -> Fields:
    """The session as it is in the end."""
    try:
        with ExitStack() as stack:
            stream, size = open_transcript(path, stack)
            if path.suffix == ".jsonl":
                session: Json = {}
                for record in iter_records(stream, reading, size=size):
                    session = _changed(session, record.fields, reading)
                return get_dict({"": session}, "")
            if size <= _MAX_JSON:
                return get_dict({"": parse_json(stream.read(size).decode("utf-8", "replace"))}, "")
            reading.skip(f"over {_MAX_JSON >> 20} MiB")
    except OSError as exc:
        reading.skip(f"unreadable: {exc.strerror or exc}")
    except ValueError:
        reading.skip("not JSON")
    return {}


# The log of changes


def _changed(session: Json, change: Fields, reading: Reading) -> Json:
    """Apply a change. One that does not fit is counted and left out."""
    kind, path = get_int(change, "kind"), get_list(change, "k")
    if kind == 0:
        return change.get("v")
    if not path or kind not in (_SET, _ADD, _REMOVE):
        reading.skip("unknown record type")
        return session
    holder: Json = session
    for step in path[:-1]:
        holder = _inside(holder, step)
    if kind == _ADD:
        done = _add(_inside(holder, path[-1]), change)
    else:
        done = _set(holder, path[-1], change.get("v"), is_gone=kind == _REMOVE)
    if not done:
        reading.skip("a change that does not fit")
    return session


def _inside(holder: Json, step: Json) -> Json:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.get(step)
    if isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder):
        return holder[step]
    return None


def _set(holder: Json, step: Json, value: Json, *, is_gone: bool) -> bool:
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
        if is_gone:
            del holder[step]
        return True
    if isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder):
        holder[step] = value
        return True
    if isinstance(holder, list) and step == len(holder) and not is_gone:
        holder.append(value)
        return True
    return False


def _add(array: Json, change: Fields) -> bool:
    """Add to an array, after removing what follows the index, if one is told."""
    if not isinstance(array, list):
        return False
    start = get_int(change, "i")
    if start is not None and start >= 0:
        del array[start:]
    array += get_list(change, "v")
    return True


# Requests


def _tell(transcript: Transcript, request: Fields) -> None:
    time = get_time(request, "timestamp")
    question = get_text(request, "message", "text")
    id_ = get_text(request, "requestId") or digest(transcript.id, question, str(time))
    transcript.note_time(time)
    transcript.note(model=get_text(request, "modelId").rpartition("/")[2])
    transcript.ask(id_, question, time)
    parts = list(dicts(get_list(request, "response")))
    transcript.answer(id_, _answer(parts), time)
    for part in parts:
        if get_text(part, "kind") == "thinking":
            transcript.think(id_, get_text(part, "value"), time)
    metadata = get_dict(request, "result", "metadata")
    rounds = dicts(get_list(metadata, "toolCallRounds"))
    calls = [call for each in rounds for call in dicts(get_list(each, "toolCalls"))]
    for call in calls:
        call_id = get_text(call, "id")
        transcript.call(call_id, get_text(call, "name"), get(call, "arguments"), time)
        outcome = _texts(get(metadata, "toolCallResults", call_id))
        if call_id and outcome:
            transcript.result(call_id, outcome)
    if not calls:
        _tell_invocations(transcript, id_, parts)


def _answer(parts: list[Fields]) -> str:
    """What the user saw: pieces of one text, with the names of files between them."""
    pieces = []
    for part in parts:
        match get_text(part, "kind"):
            case "":
                pieces.append(get_text(part, "value"))
            case "markdownContent":
                pieces.append(get_text(part, "content", "value"))
            case "inlineReference":
                path = first_text(get(part, "inlineReference"), "path", "fsPath")
                pieces.append(get_text(part, "name") or path.rpartition("/")[2])
    return _EMPTY_FENCE.sub("", "".join(pieces)).strip()


def _tell_invocations(transcript: Transcript, request: str, parts: list[Fields]) -> None:
    """Calls and edits as they are shown, where a turn has no list of its calls."""
    for at, part in enumerate(parts):
        kind = get_text(part, "kind")
        if kind == "textEditGroup":
            path = first_text(get(part, "uri"), "fsPath", "path")
            texts = [get_text(edit, "text") for group in get_list(part, "edits")
                     for edit in dicts(group if isinstance(group, list) else [])]  # fmt: skip
            change: Json = {"path": path, "content": "\n".join(texts)}
            transcript.call(f"{request}-{at}", "edit", change, None)
        elif kind == "toolInvocationSerialized":
            _tell_invocation(transcript, part)


def _tell_invocation(transcript: Transcript, part: Fields) -> None:
    """A call may be there several times: the last time has the outcome."""
    id_ = get_text(part, "toolCallId") or get_text(part, "id")
    details, data = get_dict(part, "resultDetails"), get_dict(part, "toolSpecificData")
    name = get_text(part, "toolId").removeprefix("copilot_")
    line = first_text(get(data, "commandLine"), "original", "toolEdited") or get_text(
        data, "command"
    )
    arguments: Json = {"command": line} if line else get(details, "input")
    transcript.call(id_, "run_in_terminal" if line else name, arguments, None)
    outcome = _texts(get(details, "output")) or _texts(get(data, "terminalCommandOutput"))
    code = get_int(data, "terminalCommandState", "exitCode")
    if id_ and (outcome or code is not None):
        failed = get(details, "isError") is True
        transcript.result(id_, outcome, failed=failed, status=code)


def _texts(value: Json) -> str:
    """All texts in a tree: those under `text` and `value`."""
    texts, waiting = [], [value]
    for _ in range(_MOST_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            texts.append(get_text(node, "text") or get_text(node, "value"))
            inner = (node[name] for name in ("node", "children", "content", "value")
                     if isinstance(node.get(name), list | dict))  # fmt: skip
            waiting += reversed(list(inner))
    return "\n".join(filter(None, texts))


def _project(path: Path) -> str:
    """The folder that was open, which a file of the workspace tells."""
    try:
        text = (path.parents[1] / "workspace.json").read_text("utf-8", "replace")
        address = urlsplit(get_text(parse_json(text), "folder"))
    except (OSError, ValueError):
        return ""
    return unquote(address.path) if address.scheme == "file" else ""
