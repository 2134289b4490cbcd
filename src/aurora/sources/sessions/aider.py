"""Aider: `.aider.chat.history.md` beside the code, one Markdown file for all its sessions.

`#### ` begins a line that the user typed, `> ` one that Aider itself printed, and the rest is the
model's. Inside a code block all of them are text, but a model may leave one open: what the user
typed ends with two spaces and follows a blank line. There are no ids: a question is identified by
its text and by how often it was asked before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Exchange, Offset, Options, Reading
from aurora.sources.sessions.json_values import clean
from aurora.sources.sessions.jsonl import open_transcript
from aurora.sources.sessions.transcript import Transcript, digest

_AGENT = "aider"
_FILE = ".aider.chat.history.md"
_MAX_LINE = 1 << 20  # bytes; the rest of a longer one is another line
_SESSION = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_END = "  "
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_EDITED = re.compile(r"Applied edit to (.+)")
_COMMIT = re.compile(r"Commit ([0-9a-f]{7,40}) ")
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_RUN = re.compile(r"(?:!|/run |/test |/git )(.*)", re.DOTALL)
_PROSE = re.compile(r"/(?:ask|code|architect|context|help) (.+)", re.DOTALL)
_BLANK = "<blank>"


class Aider:
    """Reads the chat histories of Aider."""

    agent = _AGENT
    title = "Aider"

    def locate(
        self, home: Path, environ: Mapping[str, str], projects: Sequence[Path] = ()
    ) -> list[Path | Skipped]:
        named = environ.get("AIDER_CHAT_HISTORY_FILE", "").strip()
        files = [home / _FILE, *(project / _FILE for project in projects)]
        files += [Path(named)] if Path(named).is_absolute() else []
        files += [project / named for project in projects if named]
        return list(dict.fromkeys(path for path in files if path.is_file()))

    def read(
        self,
        path: Path,
        since: Offset | None = None,  # noqa: ARG002 - a session has its facts at its start
        options: Options | None = None,
    ) -> Reading:
        return Reading(lambda reading: _exchanges(reading, path, options or Options()))


def _exchanges(reading: Reading, path: Path, options: Options) -> Iterator[Exchange]:
    chat: _Chat | None = None
    try:
        with ExitStack() as stack:
            stream, size = open_transcript(path, stack)
            for line in _lines(stream, size):
                if start := _SESSION.fullmatch(line):
                    if chat is not None:
                        yield from chat.end()
                    chat = _Chat(Transcript(reading, _AGENT, path, options), start[1])
                elif chat is not None:
                    chat.read(line)
                    yield from chat.transcript.take()
                elif line.strip():
                    reading.skip("a line before the first session")
    except (OSError, ValueError) as exc:
        reading.skip(f"unreadable: {exc}")
    if chat is not None:
        yield from chat.end()


def _lines(stream: BinaryIO, size: int) -> Iterator[str]:
    left = size
    while line := stream.readline(min(_MAX_LINE, left)):
        left -= len(line)
        yield clean(line.decode("utf-8", "replace").rstrip("\r\n"))


class _Chat:
    """One session of the file."""

    def __init__(self, transcript: Transcript, started: str) -> None:
        self.transcript = transcript
        self._last = digest(transcript.path.parent.name, started)
        self._asked_before = Counter[str]()
        transcript.note(id=self._last, cwd=str(transcript.path.parent))
        self._time = _local_time(started)
        transcript.note_time(self._time)
        self._fence, self._was_blank = "", False
        self._has_ends = self._is_printing = False  # ends of what is typed or printed: two spaces
        self._kind, self._held = "", list[str]()  # lines of one speaker
        self._command = ""

    def read(self, line: str) -> None:
        kind = self._kind_of(line)
        if kind != self._kind:
            self._tell()
            self._kind = kind
        self._held.append(line)
        if kind == "user":
            self._has_ends = line.endswith(_END)
        elif kind == "aider":  # only the first line of what a command said has a mark
            self._is_printing = self._has_ends and self._command != "" and not line.endswith(_END)

    def end(self) -> list[Exchange]:
        self._tell()
        finished = self.transcript.rest()
        if self.transcript.id in self.transcript.reading.sessions:
            self.transcript.reading.sessions[self.transcript.id] = self.transcript.session()
        return finished

    def _kind_of(self, line: str) -> str:
        was_blank, self._was_blank = self._was_blank, not line.strip()
        is_typed = line.startswith("####") and line.endswith(_END)
        if is_typed and (was_blank or self._is_printing):
            self._fence, self._is_printing = "", False
        if self._is_printing:
            return "aider"
        if self._fence:
            closing = _FENCE.fullmatch(line.strip())
            if closing and closing[1].startswith(self._fence) and not closing[2].strip():
                self._fence = ""
            return "model"
        if line.startswith("####"):
            return "user"
        if line.startswith(">"):
            return "aider"
        opening = _FENCE.match(line.lstrip())
        if opening and "`" not in opening[2]:
            self._fence = opening[1]
        # A blank line ends what the user typed, but not what is printed around it.
        return self._kind if not line.strip() and self._kind == "aider" else "model"

    def _tell(self) -> None:
        lines, self._held = self._held, []
        if self._kind == "user":
            self._asked("\n".join(line[4:].strip() for line in lines).strip())
        elif self._kind == "aider":
            self._printed([line.removeprefix("> ").rstrip() for line in lines])
        elif self._kind == "model":
            self.transcript.answer(self._last, "\n".join(lines).strip(), self._time)

    def _asked(self, text: str) -> None:
        self._last = digest(self.transcript.id, text, str(self._asked_before[text]))
        self._asked_before[text] += 1
        self._command = ""
        if command := _RUN.fullmatch(text):
            self._command = self._last
            self.transcript.call(self._last, "bash", {"command": command[1]}, self._time)
        elif prose := _PROSE.fullmatch(text):
            self.transcript.ask(self._last, prose[1], self._time)
        elif text and text != _BLANK and not text.startswith("/"):
            self.transcript.ask(self._last, text, self._time)

    def _printed(self, lines: list[str]) -> None:
        for line in lines:
            if edited := _EDITED.fullmatch(line):
                call = digest(self._last, line)
                self.transcript.call(call, "edit", {"path": edited[1]}, self._time)
                self.transcript.result(call, line)
            elif commit := _COMMIT.match(line):
                self.transcript.note_commit(commit[1])
            elif model := _MODEL.match(line):
                self.transcript.note(model=model[1])
        if self._command:
            self.transcript.result(self._command, "\n".join(lines))
            self._command = ""


def _local_time(started: str) -> datetime | None:
    """The start of a session, in the time of the machine where Aider ran."""
    try:
        return datetime.fromisoformat(started).astimezone().astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
