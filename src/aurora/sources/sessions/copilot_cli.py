"""Copilot CLI: `session-state/<session>/events.jsonl`, one event per line.

The calls of a sub-agent stand between those of the session; they name the call that started it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import (
    Offset,
    Options,
    Reading,
    find_files,
    folder_of,
)
from aurora.sources.sessions.json_values import (
    as_line,
    clean,
    dicts,
    get,
    get_dict,
    get_int,
    get_list,
    get_text,
    get_time,
)
from aurora.sources.sessions.jsonl import Fields, Handle, read_jsonl
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

_AGENT = "copilot-cli"
_FILE = "events.jsonl"
_HEAD = 10_000  # characters of a file that has a few short lines
_IGNORED = ("session.", "assistant.", "tool.", "subagent.", "hook.", "skill.", "permission.",
            "system.", "user.", "abort", "pending_messages.", "command.", "external_tool.",
            "elicitation.", "exit_plan_mode.", "auto_mode")  # fmt: skip


class CopilotCli:
    """Reads the sessions of Copilot CLI."""

    agent = _AGENT
    title = "Copilot CLI"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        root = folder_of(environ, "COPILOT_HOME", home / ".copilot") / "session-state"
        return find_files(root, lambda path: path.name == _FILE or path.parent == root)

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        return read_jsonl(_AGENT, path, since, options, _begin)


def _begin(transcript: Transcript) -> Handle:
    path = transcript.path
    transcript.note(id=path.parent.name if path.name == _FILE else path.stem)
    transcript.note_title(_name_of(path.parent), rank=2)
    return _Records(transcript).handle


def _name_of(session: Path) -> str:
    """The name of a session, which a file beside its events has."""
    try:
        lines = (session / "workspace.yaml").read_text("utf-8", "replace")[:_HEAD].splitlines()
    except OSError:
        return ""
    facts = dict(line.split(": ", 1) for line in lines if line.startswith(("name: ", "summary: ")))
    return clean(facts.get("name") or facts.get("summary") or "").strip("\"' ")


class _Records:
    """Handles the events of one file."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def handle(self, event: Fields) -> None:
        transcript, data = self._transcript, get_dict(event, "data")
        time = get_time(event, "timestamp")
        transcript.note_time(time)
        kind = get_text(event, "type")
        if kind == "tool.execution_start":
            self._call(data, "toolName", time)
        elif kind == "tool.execution_complete":
            self._result(data)
        elif get_text(event, "agentId") or get_text(data, "parentToolCallId"):
            self._of_subagent(kind, data, time)
        else:
            self._own(kind, event, data, time)

    def _of_subagent(self, kind: str, data: dict[str, Json], time: datetime | None) -> None:
        """Of a sub-agent, only the calls: its task and its answer are in the call that began it."""
        if kind == "assistant.message":
            self._calls(data, time)

    def _own(self, kind: str, event: Fields, data: dict[str, Json], time: datetime | None) -> None:
        transcript = self._transcript
        id_ = get_text(event, "id") or digest(transcript.id, as_line(event))
        match kind:
            case "session.start" | "session.resume" | "session.context_changed":
                self._session(data)
            case "session.model_change":
                transcript.note(model=get_text(data, "newModel"))
            case "session.title_changed":
                transcript.note_title(get_text(data, "title"), rank=3)
            case "session.compaction_complete":
                transcript.summarise(id_, get_text(data, "summaryContent"), time)
            case "user.message":
                self._asked(id_, data, time)
            case "assistant.message":
                self._answered(id_, data, time)
            case "assistant.reasoning":
                transcript.think(id_, get_text(data, "content"), time)
            case _ if not kind.startswith(_IGNORED):
                transcript.reading.skip(f"unknown record type {kind[:40]!r}")

    def _session(self, data: dict[str, Json]) -> None:
        context = get_dict(data, "context") or data
        self._transcript.note(
            id=get_text(data, "sessionId"),
            cwd=get_text(context, "cwd"),
            branch=get_text(context, "branch"),
            commit=get_text(context, "headCommit"),
            model=get_text(data, "selectedModel"),
        )

    def _asked(self, id_: str, data: dict[str, Json], time: datetime | None) -> None:
        is_typed = get_text(data, "source") in ("", "user")
        if (text := get_text(data, "content")) and is_typed:
            self._transcript.ask(id_, text, time)

    def _answered(self, id_: str, data: dict[str, Json], time: datetime | None) -> None:
        self._transcript.note(model=get_text(data, "model"))
        self._transcript.think(id_, get_text(data, "reasoningText"), time)
        self._transcript.answer(id_, get_text(data, "content"), time)
        self._calls(data, time)

    def _calls(self, data: dict[str, Json], time: datetime | None) -> None:
        for request in dicts(get_list(data, "toolRequests")):
            self._call(request, "name", time)

    def _call(self, data: dict[str, Json], name: str, time: datetime | None) -> None:
        """Add a call, once: it is asked for and then begun."""
        id_, current = get_text(data, "toolCallId"), self._transcript.current
        if id_ and not (current and id_ in current.tools):
            self._transcript.call(id_, get_text(data, name), get(data, "arguments"), time)

    def _result(self, data: dict[str, Json]) -> None:
        result = get_dict(data, "result")
        outcome = get_text(result, "content") or get_text(data, "error", "message")
        self._transcript.result(
            get_text(data, "toolCallId"),
            outcome or get_text(result, "detailedContent"),
            failed=get(data, "success") is False,
            status=get_int(data, "shellExecution", "exitCode"),
        )
