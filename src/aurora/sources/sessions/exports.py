"""The exports of claude.ai and ChatGPT: `conversations.json`, also inside the archive as it comes.

The file is one JSON array of conversations. They are found one by one, so that an export of any
size is read with the memory of its largest conversation.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Exchange, Offset, Options, Reading
from aurora.sources.sessions.json_values import (
    as_line,
    dicts,
    first_text,
    get,
    get_dict,
    get_list,
    get_text,
    get_time,
    joined_texts,
    parse_json,
)
from aurora.sources.sessions.jsonl import open_transcript
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

MAX_CONVERSATION = 64 * 1024 * 1024  # bytes
_CLAUDE, _CHATGPT = "claude", "chatgpt"
_BLOCK = 1 << 20
_UNREADABLE = (OSError, ValueError, EOFError, NotImplementedError, RuntimeError,  # encrypted
               zipfile.BadZipFile, zlib.error)  # fmt: skip
_FILE = re.compile(r"(?:.*/)?conversations(?:-[0-9]+)?\.json")
_STRUCTURE = re.compile(rb'["{}\[\]]')
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)

Conversation = dict[str, Json]


class Exports:
    """Reads exported conversations. They lie where the user put them."""

    agent = "exports"
    title = "Exports of claude.ai and ChatGPT"

    def locate(
        self,
        home: Path,  # noqa: ARG002
        environ: Mapping[str, str],  # noqa: ARG002
        projects: Sequence[Path] = (),  # noqa: ARG002
    ) -> list[Path | Skipped]:
        return []

    def read(
        self,
        path: Path,
        since: Offset | None = None,  # noqa: ARG002 - an export is not added to
        options: Options | None = None,
    ) -> Reading:
        return Reading(lambda reading: _exchanges(reading, path, options or Options()))


def _exchanges(reading: Reading, path: Path, options: Options) -> Iterator[Exchange]:
    try:
        for text in _conversations(reading, path):
            try:
                conversation = parse_json(text.decode("utf-8", "replace"))
            except ValueError:
                reading.skip("not JSON")
                continue
            if isinstance(conversation, dict):
                yield from _conversation(reading, path, options, conversation)
            else:
                reading.skip("not an object")
    except _UNREADABLE as exc:
        reading.skip(f"unreadable: {exc}"[:200])


def _conversations(reading: Reading, path: Path) -> Iterator[bytes]:
    with ExitStack() as stack:
        file, _ = open_transcript(path, stack)
        if not zipfile.is_zipfile(file):
            file.seek(0)
            yield from iter_elements(file, reading)
            return
        archive = stack.enter_context(zipfile.ZipFile(file))
        names = [name for name in archive.namelist() if _FILE.fullmatch(name)]
        if not names:
            reading.skip("an archive without conversations.json")
        for name in names:
            with archive.open(name) as inside:
                yield from iter_elements(inside, reading)


def iter_elements(stream: IO[bytes], reading: Reading) -> Iterator[bytes]:
    """Yield the bytes of the objects in a JSON array, without parsing them.

    Also of an object with the array directly inside. Without such an array, as in a file with a
    single conversation of ChatGPT, the whole file is the object.
    """
    scanner, whole = _Scanner(reading), bytearray()
    while block := stream.read(_BLOCK):
        yield from scanner.feed(block)
        if not scanner.has_array and len(whole) <= MAX_CONVERSATION:
            whole += block
    if not (scanner.has_array or scanner.is_inside) and whole.lstrip().startswith(b"{"):
        yield bytes(whole)
    if scanner.is_inside:
        reading.skip("an incomplete last record")


class _Scanner:
    """Finds where the elements of an array begin and end."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._depth = 0
        self._base = -1  # the depth of the elements; unknown before the array
        self._in_string = self._escaped = False
        self._held = bytearray()  # the beginning of an element, from blocks before
        self._is_too_large = False

    @property
    def is_inside(self) -> bool:
        return self._depth > 0

    @property
    def has_array(self) -> bool:
        return self._base >= 0

    def feed(self, block: bytes) -> Iterator[bytes]:
        at, start = 0, 0  # `start`: of what belongs to the element in this block
        while at < len(block):
            if self._in_string:
                at = self._skip_string(block, at)
                continue
            match = _STRUCTURE.search(block, at)
            if match is None:
                break
            at, mark = match.end(), match[0]
            if mark == b'"':
                self._in_string = True
            elif mark in (b"{", b"["):
                if self._base < 0 and mark == b"[" and self._depth <= 1:
                    self._base = self._depth + 1
                elif self._depth == self._base:
                    start = match.start()
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if self._depth == self._base and self._base > 0:
                    yield from self._element(block[start:at])
        if self._depth > self._base > 0:
            self._hold(block[start:])

    def _skip_string(self, block: bytes, at: int) -> int:
        """The end of a string, or of the block if the string goes on behind it."""
        at += self._escaped
        self._escaped = False
        end = _REST_OF_STRING.match(block, at)
        if end is not None:
            self._in_string = False
            return end.end()
        rest = block[at:]
        self._escaped = (len(rest) - len(rest.rstrip(b"\\"))) % 2 == 1
        return len(block)

    def _hold(self, part: bytes) -> None:
        if len(self._held) + len(part) > MAX_CONVERSATION:
            self._is_too_large = True
            self._held.clear()
        elif not self._is_too_large:
            self._held += part

    def _element(self, part: bytes) -> Iterator[bytes]:
        self._hold(part)
        element, is_too_large = bytes(self._held), self._is_too_large
        self._held.clear()
        self._is_too_large = False
        if is_too_large:
            self._reading.skip(f"a conversation over {MAX_CONVERSATION >> 20} MiB")
        else:
            yield element


def _conversation(
    reading: Reading, path: Path, options: Options, conversation: Conversation
) -> Iterator[Exchange]:
    if "chat_messages" in conversation:
        agent, tell = _CLAUDE, _tell_claude
    elif "mapping" in conversation:
        agent, tell = _CHATGPT, _tell_chatgpt
    else:
        reading.skip("not a conversation")
        return
    transcript = Transcript(reading, agent, path, options)
    names = ("uuid", "conversation_id", "id")
    ids = (get_text(conversation, name) for name in names)
    transcript.note(id=next(filter(None, ids), "") or digest(as_line(conversation)))
    title = get_text(conversation, "name") or get_text(conversation, "title")
    transcript.note_title(title, rank=3)
    for name in ("created_at", "create_time", "updated_at", "update_time"):
        transcript.note_time(get_time(conversation, name))
    tell(transcript, conversation)
    yield from transcript.rest()
    if transcript.id in reading.sessions:
        reading.sessions[transcript.id] = transcript.session()


def _tell_claude(transcript: Transcript, conversation: Conversation) -> None:
    for message in dicts(get_list(conversation, "chat_messages")):
        id_ = get_text(message, "uuid") or digest(transcript.id, as_line(message))
        time = get_time(message, "created_at")
        transcript.note_time(time)
        content = get_list(message, "content")
        text = joined_texts(content, "text") or get_text(message, "text")
        if get_text(message, "sender") == "human":
            names = [
                get_text(file, "file_name") for file in dicts(get_list(message, "attachments"))
            ]
            attached = [f"[attached: {name}]" for name in names if name]
            transcript.ask(id_, "\n".join([text, *attached]), time)
        elif get_text(message, "sender") == "assistant":
            transcript.answer(id_, text, time)
            for block in dicts(content):
                _tell_block(transcript, id_, block)
        else:
            transcript.reading.skip("unknown record type")


def _tell_block(transcript: Transcript, message: str, block: Conversation) -> None:
    time = get_time(block, "start_timestamp")
    match get_text(block, "type"):
        case "thinking":
            transcript.think(message, get_text(block, "thinking"), time)
        case "tool_use":
            call = get_text(block, "id") or digest(message, get_text(block, "name"))
            transcript.call(call, get_text(block, "name"), get(block, "input"), time)
        case "tool_result":
            call = get_text(block, "tool_use_id") or digest(message, get_text(block, "name"))
            outcome = joined_texts(get(block, "content"))
            transcript.result(call, outcome, failed=get(block, "is_error") is True)


def _tell_chatgpt(transcript: Transcript, conversation: Conversation) -> None:
    mapping = get_dict(conversation, "mapping")
    branch = _branch(mapping, get_text(conversation, "current_node"))
    others = sum(1 for node in mapping if node not in branch and _is_said(mapping[node]))
    if others:
        transcript.reading.skip("of another branch of the conversation", others)
    for node in branch:
        _tell_message(transcript, node, get_dict(mapping[node], "message"))


def _branch(mapping: dict[str, Json], last: str) -> list[str]:
    """The nodes from the first message to the last. An edited question begins another branch."""
    if last not in mapping:
        times = {id_: get_time(node, "message", "create_time") for id_, node in mapping.items()}
        dated = {id_: time for id_, time in times.items() if time is not None}
        last = max(dated, key=lambda id_: dated[id_], default=next(reversed(mapping), ""))
    branch: dict[str, None] = {}
    while last in mapping and last not in branch:  # a circle would never end
        branch[last] = None
        last = get_text(mapping[last], "parent")
    return [*branch][::-1]


def _is_said(node: Json) -> bool:
    role = get_text(node, "message", "author", "role")
    return role in ("user", "assistant") and bool(_parts(get(node, "message")))


def _parts(message: Json) -> str:
    content = get_dict(message, "content")
    return joined_texts(get_list(content, "parts")) or get_text(content, "text")


def _tell_message(transcript: Transcript, node: str, message: Conversation) -> None:
    id_, text = get_text(message, "id") or node, _parts(message)
    time, role = get_time(message, "create_time"), get_text(message, "author", "role")
    if get(message, "metadata", "is_visually_hidden_from_conversation") is True:
        return
    transcript.note(model=get_text(message, "metadata", "model_slug"))
    if role == "user":
        if text.strip():
            transcript.note_time(time)
            transcript.ask(id_, text, time)
    elif role == "assistant" and get_text(message, "content", "content_type") == "code":
        name = get_text(message, "recipient")
        if text.strip():
            transcript.call(id_, name, {"code": text}, time)
    elif role == "assistant" and get_text(message, "content", "content_type") == "thoughts":
        thoughts = dicts(get_list(message, "content", "thoughts"))
        texts = (first_text(thought, "content", "summary") for thought in thoughts)
        transcript.think(id_, "\n".join(filter(None, texts)), time)
    elif role == "assistant":
        transcript.note_time(time)
        transcript.answer(id_, text, time)
    elif role == "tool" and text.strip():
        transcript.call(id_, get_text(message, "author", "name") or "tool", {}, time)
        transcript.result(id_, text)
