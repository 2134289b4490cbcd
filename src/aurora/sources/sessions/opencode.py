"""OpenCode: a SQLite file with sessions, messages and their parts; before it, one file for each.

Version 2 has its sessions in `session_v2`, and one row for each message in `session_message`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
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
from aurora.sources.sessions.foreign_database import (
    MAX_VALUE,
    ForeignDatabase,
    ForeignDatabaseError,
    Row,
)
from aurora.sources.sessions.json_values import (
    dicts,
    get,
    get_dict,
    get_int,
    get_list,
    get_text,
    get_time,
    joined_texts,
    parse_json,
)
from aurora.sources.sessions.transcript import Transcript
from aurora.types import Json

_AGENT = "opencode"
_SESSIONS = ("session", "session_v2")
_OPTIONAL = ("parent_id", "directory", "title", "model", "time_created", "time_updated")
_DEFAULT_TITLES = ("New session - ", "Child session - ")
_QUIET = ("agent-switched", "model-switched", "synthetic", "system")

Message = dict[str, Json]


class OpenCode:
    """Reads the sessions of OpenCode."""

    agent = _AGENT
    title = "OpenCode"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        share = folder_of(environ, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
        paths = find_files(share, _is_database)
        paths += find_files(share / "storage" / "session", lambda path: path.suffix == ".json")
        paths += find_files(share / "project", lambda path: path.match("session/info/*.json"))
        return paths

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        read = _from_files if path.suffix == ".json" else _from_database
        return Reading(lambda reading: read(reading, path, since, options or Options()))


def _is_database(path: Path) -> bool:
    return path.suffix == ".db" and path.name.startswith("opencode")


def _from_database(
    reading: Reading, path: Path, since: Offset | None, options: Options
) -> Iterator[Exchange]:
    after = since.position if since else -1
    newest = max(after, 0)
    try:
        with ForeignDatabase(path) as database:
            for session in _sessions(database):
                newest = max(newest, get_int(session, "time_updated") or 0)
                if since is None or (get_int(session, "time_updated") or 0) >= after:
                    messages = _messages(database, reading, get_text(session, "id"))
                    yield from _exchanges(reading, path, options, session, messages)
        reading.offset = Offset(newest)
    except ForeignDatabaseError as exc:
        reading.skip(str(exc))


def _sessions(database: ForeignDatabase) -> list[Message]:
    """The sessions of both versions, each once: version 2 takes over those of version 1."""
    sessions: dict[Json, Message] = {}
    for table in _SESSIONS:
        columns = database.columns(table)
        if "id" in columns:
            names = ["id", *(name for name in _OPTIONAL if name in columns)]
            rows = database.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY id")  # noqa: S608 - ours
            for row in rows:
                session = dict(zip(names, map(_json, row), strict=True))
                sessions[session["id"]] = session
    if not any(database.columns(table) for table in _SESSIONS):
        raise ForeignDatabaseError("unreadable: it has no sessions")
    return list(sessions.values())


def _json(value: Json | bytes) -> Json:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _messages(database: ForeignDatabase, reading: Reading, session: str) -> Iterator[Message]:
    """The messages of a session, each with its parts; first those of version 1."""
    ids: set[str] = set()
    if (columns := database.columns("message")) >= {"id", "session_id", "data"}:
        order = "time_created, id" if "time_created" in columns else "id"
        rows = _rows(database, f"'' FROM message WHERE session_id = ? ORDER BY {order}", session)
        for message in (message for row in list(rows) for message in _row(row, reading)):
            ids.add(get_text(message, "id"))
            parts = _rows(database, "'' FROM part WHERE message_id = ? ORDER BY id",
                          get_text(message, "id"))  # fmt: skip
            pieces = [part for row in parts for part in _row(row, reading)]
            yield message | {"parts": [*pieces]}
    if database.columns("session_message") >= {"id", "session_id", "type", "seq", "data"}:
        rest = "type FROM session_message WHERE session_id = ? ORDER BY seq"
        for message in (m for row in _rows(database, rest, session) for m in _row(row, reading)):
            if get_text(message, "id") not in ids:
                yield message


def _rows(database: ForeignDatabase, rest: str, value: str) -> Iterator[Row]:
    sql = "SELECT id, CASE WHEN length(data) <= ? THEN data END, "
    return database.rows(sql + rest, MAX_VALUE, value)


def _row(row: Row, reading: Reading) -> Iterator[Message]:
    id_, data, kind = map(_json, row)
    if data is None:
        reading.skip(f"over {MAX_VALUE >> 20} MiB")
        return
    message = _parse(str(data), reading)
    if message is not None:
        yield message | {"id": id_} | ({"type": kind} if kind else {})


def _parse(text: str, reading: Reading) -> Message | None:
    try:
        value = parse_json(text)
    except ValueError:
        reading.skip("not JSON")
        return None
    if not isinstance(value, dict):
        reading.skip("not an object")
        return None
    return value


def _from_files(
    reading: Reading,
    path: Path,
    since: Offset | None,  # noqa: ARG001 - the files of a session are small
    options: Options,
) -> Iterator[Exchange]:
    session = _load(path, reading)
    if session is None:
        return
    id_ = _folder_name(session, path)
    if path.parent.name == "info":  # storage/session/info/ID.json, message/ID/, part/ID/MESSAGE/
        messages, parts = path.parents[1] / "message" / id_, path.parents[1] / "part" / id_
    else:  # storage/session/PROJECT/ID.json, storage/message/ID/, storage/part/MESSAGE/
        messages, parts = path.parents[2] / "message" / id_, path.parents[2] / "part"
    times = get_dict(session, "time")
    facts: Message = {
        "id": id_,
        "parent_id": get(session, "parentID"),
        "time_created": get(times, "created"),
        "time_updated": get(times, "updated"),
    }
    read = _read_messages(messages, parts, reading)
    yield from _exchanges(reading, path, options, session | facts, read)


def _read_messages(messages: Path, parts: Path, reading: Reading) -> Iterator[Message]:
    for file in _json_files(messages, reading):
        message = _load(file, reading)
        if message is not None:
            id_ = _folder_name(message, file)
            pieces = (_load(part, reading) for part in _json_files(parts / id_, reading))
            own = get_list(message, "parts")  # of the oldest version
            yield message | {"id": id_, "parts": [*own, *filter(None, pieces)]}


def _folder_name(record: Message, file: Path) -> str:
    """The id of a record, which is the name of a folder; that of its file, if it is no name."""
    id_ = get_text(record, "id")
    return id_ if id_ not in ("", "..") and Path(id_).name == id_ else file.stem


def _json_files(folder: Path, reading: Reading) -> list[Path]:
    """Its JSON files: their names are ids, which ascend."""
    paths = find_files(folder, lambda path: path.suffix == ".json" and path.parent == folder)
    for unread in (item for item in paths if isinstance(item, Skipped)):
        reading.skip(unread.reason)
    return [item for item in paths if isinstance(item, Path)]


def _load(path: Path, reading: Reading) -> Message | None:
    try:
        if path.stat().st_size > MAX_VALUE:
            reading.skip(f"over {MAX_VALUE >> 20} MiB")
            return None
        return _parse(path.read_text("utf-8", "replace"), reading)
    except OSError as exc:
        reading.skip(f"unreadable: {exc.strerror or exc}")
        return None


def _exchanges(
    reading: Reading, path: Path, options: Options, session: Message, messages: Iterator[Message]
) -> Iterator[Exchange]:
    transcript = Transcript(reading, _AGENT, path, options)
    transcript.note(
        id=get_text(session, "id"),
        cwd=get_text(session, "directory"),
        parent=get_text(session, "parent_id"),
    )
    title = get_text(session, "title")
    if not title.startswith(_DEFAULT_TITLES):
        transcript.note_title(title, rank=3)
    transcript.note_time(get_time(session, "time_created"))
    transcript.note_time(get_time(session, "time_updated"))
    for message in messages:
        _tell(transcript, message)
        yield from transcript.take()
    yield from transcript.rest()
    if transcript.id in reading.sessions:
        reading.sessions[transcript.id] = transcript.session()


def _tell(transcript: Transcript, message: Message) -> None:
    role = get_text(message, "role") or get_text(message, "type")
    id_, time = get_text(message, "id"), get_time(message, "time", "created")
    transcript.note_time(time)
    parts = [*dicts(get_list(message, "parts")), *dicts(get_list(message, "content"))]
    if role == "user":
        own = (part for part in parts if not _is_added(part))
        text = "\n".join(filter(None, (joined_texts(part, "text") for part in own)))
        if question := text or get_text(message, "text"):
            transcript.ask(id_, question, time)
    elif role == "assistant":
        model = get_text(message, "modelID") or get_text(message, "model", "id")
        transcript.note(model=model, cwd=get_text(message, "path", "cwd"))
        if get(message, "summary") is True:
            transcript.summarise(id_, "\n".join(joined_texts(part, "text") for part in parts), time)
            return
        for part in parts:
            _tell_part(transcript, id_, part, time)
    elif role == "shell":
        call = get_text(message, "callID") or id_
        transcript.call(call, "bash", {"command": get_text(message, "command")}, time)
        transcript.result(call, get_text(message, "output"))
    elif role == "compaction":
        transcript.summarise(id_, get_text(message, "summary"), time)
    elif role not in _QUIET:
        transcript.reading.skip(f"unknown record type {role[:40]!r}")


def _is_added(part: Message) -> bool:
    """True for a text that the program put into the user's message."""
    return get(part, "synthetic") is True or get(part, "ignored") is True


def _tell_part(transcript: Transcript, message: str, part: Message, time: datetime | None) -> None:
    match get_text(part, "type"):
        case "text":
            transcript.answer(message, get_text(part, "text"), time)
        case "reasoning":
            transcript.think(message, get_text(part, "text"), time)
        case "tool":
            _tell_call(transcript, part, time)


def _tell_call(transcript: Transcript, part: Message, time: datetime | None) -> None:
    state = get_dict(part, "state")
    id_ = get_text(part, "callID") or get_text(part, "id")
    name = get_text(part, "tool") or get_text(part, "name")
    transcript.call(id_, name, get(state, "input"), time)
    status = get_text(state, "status")
    if status in ("completed", "error"):
        error = get_text(state, "error") or get_text(state, "error", "message")
        outcome = get_text(state, "output") or error or joined_texts(get(state, "content"))
        code = get_int(state, "metadata", "exit")
        transcript.result(id_, outcome, failed=status == "error", status=code)
