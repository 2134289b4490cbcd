"""Cursor: transcripts of its agent as JSONL, and the chats of the editor in SQLite files.

A transcript has neither ids nor times. There a question is identified by its text and by how often
it was asked before, so that the ids stay when the file grows. Chats have an id for each message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import (
    Exchange,
    Offset,
    Options,
    Reading,
    editor_folders,
    find_files,
    folder_of,
)
from aurora.sources.sessions.foreign_database import (
    MAX_VALUE,
    ForeignDatabase,
    ForeignDatabaseError,
)
from aurora.sources.sessions.json_values import (
    as_line,
    dicts,
    get,
    get_dict,
    get_int,
    get_list,
    get_text,
    get_time,
    joined_texts,
    parse_json,
    parsed,
)
from aurora.sources.sessions.jsonl import Fields, Handle, read_jsonl
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

_AGENT = "cursor"
_TRANSCRIPTS = "agent-transcripts"
_DATABASE = "state.vscdb"
_IGNORED = frozenset({"turn_ended", "session_meta", "metadata"})
_OPENING, _CLOSING = "<user_query>", "</user_query>"
_LONGEST_QUERY_START = 100_000  # characters of context before a question
_MOST_PROBES = 128  # folders looked at to decode the name of one project
_USER, _ASSISTANT = 1, 2  # types of a bubble
_FIRST_YEAR = 2000  # a timing may count from the start of the editor


class Cursor:
    """Reads the transcripts and chats of Cursor."""

    agent = _AGENT
    title = "Cursor"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        root = folder_of(environ, "CURSOR_CONFIG_DIR", home / ".cursor") / "projects"
        paths = find_files(
            root, lambda path: path.suffix == ".jsonl" and _TRANSCRIPTS in path.parts
        )
        for user in editor_folders("Cursor", home, environ):
            for folder in ("globalStorage", "workspaceStorage"):
                paths += find_files(user / folder, lambda path: path.name == _DATABASE)
        return paths

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        if path.suffix == ".jsonl":
            return read_jsonl(_AGENT, path, since, options, _begin)
        return Reading(lambda reading: _chats(reading, path, since, options or Options()))


# Transcripts


def _begin(transcript: Transcript) -> Handle:
    path = transcript.path
    folders = path.parts
    transcript.note(id=path.stem, ended=_changed(path))
    if "subagents" in folders:
        transcript.note(parent=folders[len(folders) - 1 - folders[::-1].index("subagents") - 1])
    if not transcript.state.get("project") and _TRANSCRIPTS in folders:
        encoded = folders[folders.index(_TRANSCRIPTS) - 1]
        transcript.note(cwd=_decode_folder(encoded))
    return _Records(transcript).handle


def _changed(path: Path) -> str:
    """When the file was last written: the only time that there is."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
    except (OSError, OverflowError, ValueError):
        return ""


class _Records:
    """Handles the records of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def handle(self, record: Fields) -> None:
        transcript = self._transcript
        transcript.note(cwd=get_text(record, "cwd"))
        role, content = get_text(record, "role"), get(record, "message", "content")
        time = get_time(record, "timestamp") or get_time(record, "timestamp_ms")
        transcript.note_time(time)
        if role == "user":
            self._results(content)
            question, current = _question(joined_texts(content, "text")), transcript.current
            is_repeated = current is not None and current.is_empty and current.asked == question
            if question and not is_repeated:
                transcript.ask(self._next_id(question), question, time)
        elif role == "assistant":
            self._answer(content, time)
        elif get_text(record, "type") not in _IGNORED:
            kind = role or get_text(record, "type")
            transcript.reading.skip(f"unknown record type {kind[:40]!r}")

    def _next_id(self, text: str) -> str:
        """An id made of the text and of the number of questions before it with the same text."""
        asked = self._transcript.state.get("asked", "").split()
        mark = digest(text)[:8]
        self._transcript.state["asked"] = " ".join([*asked, mark])
        return digest(self._transcript.id, text, str(asked.count(mark)))

    def _answer(self, content: Json, time: datetime | None) -> None:
        if self._transcript.current is None and content:
            start = joined_texts(content, "text")[:1000]
            self._transcript.ask(self._next_id(start), "", time)
        if isinstance(content, str):
            self._transcript.answer("", joined_texts(content), time)
        for block in dicts(content if isinstance(content, list) else []):
            match get_text(block, "type"):
                case "text":
                    self._transcript.answer("", get_text(block, "text"), time)
                case "thinking" | "reasoning":
                    self._transcript.think("", get_text(block, "text"), time)
                case "tool_use":
                    self._call(block, time)

    def _call(self, block: dict[str, Json], time: datetime | None) -> None:
        current = self._transcript.current
        fallback = digest(current.id if current else "", str(len(current.tools) if current else 0))
        id_ = get_text(block, "id") or fallback
        self._transcript.call(id_, get_text(block, "name"), get(block, "input"), time)

    def _results(self, content: Json) -> None:
        for block in dicts(content if isinstance(content, list) else []):
            if get_text(block, "type") == "tool_result":
                outcome = joined_texts(get(block, "content"))
                failed = get(block, "is_error") is True
                self._transcript.result(get_text(block, "tool_use_id"), outcome, failed=failed)


def _question(text: str) -> str:
    """What the user typed, without the context that Cursor puts before it."""
    start, end = text.find(_OPENING, 0, _LONGEST_QUERY_START), text.rfind(_CLOSING)
    if start < 0 or end < start or text[end + len(_CLOSING) :].strip():
        return text.strip()
    return text[start + len(_OPENING) : end].strip()


def _decode_folder(encoded: str) -> str:
    """The folder that a name such as `home-me-my-project` stands for, if there is one.

    A hyphen may be a separator or a hyphen: the folders that exist decide.
    """
    parts, probes = [part for part in encoded.split("-") if part], 0

    def search(folder: Path, at: int) -> Path | None:
        nonlocal probes
        if at == len(parts):
            return folder
        for end in range(at + 1, len(parts) + 1):
            probes += 1
            inside = folder / "-".join(parts[at:end])
            if probes > _MOST_PROBES:
                return None
            if inside.is_dir() and (whole := search(inside, end)):
                return whole
        return None

    try:
        folder = search(Path("/"), 0) if parts else None
    except (OSError, ValueError):
        return ""
    return str(folder) if folder else ""


# Chats of the editor


def _chats(
    reading: Reading, path: Path, since: Offset | None, options: Options
) -> Iterator[Exchange]:
    after, newest = (since.position if since else -1), 0
    try:
        with ForeignDatabase(path) as database:
            if database.columns("cursorDiskKV") >= {"key", "value"}:
                for key, chat in _values(database, reading, "composerData:"):
                    changed = get_int(chat, "lastUpdatedAt") or get_int(chat, "createdAt") or 0
                    newest = max(newest, changed)
                    if changed >= after:
                        transcript = Transcript(reading, _AGENT, path, options)
                        yield from _chat(database, transcript, key, chat)
        reading.offset = Offset(max(newest, after, 0))
    except ForeignDatabaseError as exc:
        reading.skip(str(exc))


def _values(
    database: ForeignDatabase, reading: Reading, prefix: str
) -> Iterator[tuple[str, dict[str, Json]]]:
    """The JSON objects under keys that begin so. Keys first: they are small."""
    end = f"{prefix[:-1]};"  # the character after the colon
    keys = database.rows(
        "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key", prefix, end
    )
    for (key,) in list(keys):
        value = _value(database, reading, str(key))
        if value is not None:
            yield str(key).removeprefix(prefix), value


def _value(database: ForeignDatabase, reading: Reading, key: str) -> dict[str, Json] | None:
    rows = database.rows(
        "SELECT CASE WHEN length(value) <= ? THEN value END, value IS NULL"
        " FROM cursorDiskKV WHERE key = ?",
        MAX_VALUE,
        key,
    )
    value, is_null = next(rows, (None, 1))
    if value is None:
        reading.skip("a message that is gone" if is_null else f"over {MAX_VALUE >> 20} MiB")
        return None
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    try:
        parsed_value = parse_json(text)
    except ValueError:
        reading.skip("not JSON")
        return None
    if not isinstance(parsed_value, dict):
        reading.skip("not an object")
        return None
    return parsed_value


def _chat(
    database: ForeignDatabase, transcript: Transcript, id_: str, chat: dict[str, Json]
) -> Iterator[Exchange]:
    transcript.note(
        id=id_,
        cwd=get_text(chat, "workspaceIdentifier", "uri", "fsPath"),
        model=get_text(chat, "modelConfig", "modelName"),
    )
    transcript.note_title(get_text(chat, "name"), rank=3)
    transcript.note_time(get_time(chat, "createdAt"))
    transcript.note_time(get_time(chat, "lastUpdatedAt"))
    reading = transcript.reading
    for bubble in _bubbles(database, reading, id_, chat):
        _tell(transcript, bubble)
        yield from transcript.take()
    yield from transcript.rest()
    if transcript.id in reading.sessions:
        reading.sessions[transcript.id] = transcript.session()


def _bubbles(
    database: ForeignDatabase, reading: Reading, chat_id: str, chat: dict[str, Json]
) -> Iterator[dict[str, Json]]:
    """The messages of a chat, in their order. Older chats hold them, newer ones name them."""
    yield from dicts(get_list(chat, "conversation"))
    for header in dicts(get_list(chat, "fullConversationHeadersOnly")):
        bubble_id = get_text(header, "bubbleId")
        bubble = _value(database, reading, f"bubbleId:{chat_id}:{bubble_id}")
        if bubble is not None:
            yield {"type": get(header, "type")} | bubble | {"bubbleId": bubble_id}


def _tell(transcript: Transcript, bubble: dict[str, Json]) -> None:
    id_ = get_text(bubble, "bubbleId") or digest(transcript.id, as_line(bubble))
    text = get_text(bubble, "text") or get_text(bubble, "rawText")
    time = _time_of(bubble)
    transcript.note(cwd=get_text(bubble, "workspaceProjectDir"))
    transcript.note_time(time)
    if get_int(bubble, "type") == _USER:
        if text.strip():
            transcript.ask(id_, text, time)
        return
    if get_int(bubble, "type") != _ASSISTANT:
        transcript.reading.skip("unknown record type")
        return
    transcript.note(model=get_text(bubble, "modelInfo", "modelName"))
    transcript.think(id_, get_text(bubble, "thinking", "text"), time)
    transcript.answer(id_, text, time)
    if tool := get_dict(bubble, "toolFormerData"):
        _tell_call(transcript, id_, tool, time)


def _tell_call(
    transcript: Transcript, bubble: str, tool: dict[str, Json], time: datetime | None
) -> None:
    id_ = get_text(tool, "toolCallId") or bubble
    arguments = parsed(get(tool, "params")) or parsed(get(tool, "rawArgs"))
    transcript.call(id_, get_text(tool, "name"), arguments, time)
    result, status = parsed(get(tool, "result")), get_text(tool, "status")
    outcome = get_text(result, "output") or get_text(tool, "error") or joined_texts(result)
    newer = get_int(result, "exitCodeV2")
    code = get_int(result, "exitCode") if newer is None else newer
    failed = status in ("error", "cancelled")
    if outcome or status in ("completed", "error", "cancelled"):
        transcript.result(id_, outcome, failed=failed, status=code)


def _time_of(bubble: dict[str, Json]) -> datetime | None:
    for path in (("createdAt",), ("timestamp",), ("timingInfo", "clientStartTime")):
        time = get_time(bubble, *path)
        if time is not None and time.year > _FIRST_YEAR:
            return time
    return None
