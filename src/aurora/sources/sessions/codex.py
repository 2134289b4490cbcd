"""Codex: `sessions/YYYY/MM/DD/rollout-*.jsonl`, archived ones, and those packed as `.jsonl.zst`.

A rollout tells most things twice: as items for the model (`response_item`) and as events for the
screen (`event_msg`). Items are taken; events fill in where an older version wrote no items. The
oldest rollouts have items without a wrapper.
"""

from __future__ import annotations

import re
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
    first_text,
    get,
    get_dict,
    get_int,
    get_text,
    get_time,
    joined_texts,
    parse_json,
    parsed,
)
from aurora.sources.sessions.jsonl import Fields, Handle, read_jsonl
from aurora.sources.sessions.tool_uses import command_line, exit_status
from aurora.sources.sessions.transcript import Transcript, digest
from aurora.types import Json

_AGENT = "codex"
_FOLDERS = ("sessions", "archived_sessions")
_FILE = re.compile(r"rollout-.*\.jsonl(?:\.zst)?")
_NAME = re.compile(r"rollout-[0-9T-]{19}-([0-9a-zA-Z-]+)(?:_[0-9a-zA-Z-]+)?\.jsonl")
_IGNORED = ("world_state", "inter_agent_communication", "inter_agent_communication_metadata",
            "security_risk_score", "token_usage_record")  # fmt: skip
_ITEMS = frozenset(
    """
    message reasoning function_call function_call_output custom_tool_call custom_tool_call_output
    local_shell_call web_search_call tool_search_call tool_search_output image_generation_call
    compaction compaction_trigger context_compaction ghost_snapshot agent_message additional_tools
    other""".split()  # noqa: SIM905
)
# Messages in the user's name that the program wrote.
_CONTEXT = (
    "<environment_context>", "<environments_instructions>", "<user_instructions>",
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "<subagent_notification>",
    "<skill>", "<skills_instructions>", "<apps_instructions>", "<plugins_instructions>",
    "<recommended_plugins>", "<user_shell_command>", "<permissions instructions>",
    "<collaboration_mode>", "<multi_agent_mode>", "<realtime_conversation>", "<hook_prompt",
    "<startup_context>", "<model_switch>", "<personality_spec>", "<user_action>", "<tools>",
    "These AGENTS.md instructions replace", "The previously provided AGENTS.md instructions",
    "Warning: The maximum number of unified exec processes", "Warning: apply_patch was requested",
    "Warning: Your account was flagged",
)  # fmt: skip
_PATCH = "*** Begin Patch"
_SCRIPT = "exec"  # a tool whose input is JavaScript; what it calls has items of its own
# How the outcome of a call begins that was not carried out.
_REFUSED = (
    "apply_patch verification failed", "apply_patch handler received", "apply_patch is unavailable",
    "patch rejected", "failed to parse apply_patch", "failed to parse function arguments",
    "unsupported call: ", "unsupported custom tool call: ",
)  # fmt: skip
# What Codex writes above the output of a command.
_HEADER = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Original token count|Exit code|Total output lines): .*\n"
    r"|Process (?:exited|running) with .*\n)+Output:\n?"
)
_REQUEST = "## My request for Codex:"  # after what the editor tells about itself


class Codex:
    """Reads the rollouts of Codex."""

    agent = _AGENT
    title = "Codex"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        root = folder_of(environ, "CODEX_HOME", home / ".codex")
        paths: list[Path | Skipped] = []
        for folder in _FOLDERS:
            paths += find_files(root / folder, lambda path: bool(_FILE.fullmatch(path.name)))
        plain = {path for path in paths if isinstance(path, Path)}
        return [path for path in paths if not _is_packed_twin(path, plain)]

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        return read_jsonl(_AGENT, path, since, options, _begin)


def _is_packed_twin(path: Path | Skipped, plain: set[Path]) -> bool:
    """True for a packed rollout that lies beside its plain text, while it is packed."""
    return isinstance(path, Path) and path.suffix == ".zst" and path.with_suffix("") in plain


def _begin(transcript: Transcript) -> Handle:
    name = _NAME.match(transcript.path.name)
    if not transcript.id:
        transcript.note(id=name[1] if name else transcript.path.name.partition(".")[0])
    return _Records(transcript).handle


class _Records:
    """Handles the records of one rollout. All it remembers is in the transcript's state."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def handle(self, record: Fields) -> None:
        kind, payload = get_text(record, "type"), get_dict(record, "payload")
        time = get_time(record, "timestamp")
        if self._is_inherited(record):
            self._transcript.reading.skip("inherited from another session")
            return
        self._transcript.note_time(time)
        match kind:
            case "session_meta":
                self._session(payload)
            case "turn_context":
                self._transcript.note(
                    cwd=get_text(payload, "cwd"), model=get_text(payload, "model")
                )
            case "response_item":
                self._item(payload, record, time)
            case "event_msg":
                self._event(payload, record, time)
            case "compacted":
                summary = get_text(payload, "message")
                self._transcript.summarise(self._id(payload, record, summary), summary, time)
            case _ if "payload" not in record and kind in _ITEMS:
                self._item(record, record, time)
            case "" if "id" in record and "payload" not in record:
                self._session(record)
            case _ if kind not in _IGNORED and "record_type" not in record:
                self._transcript.reading.skip(f"unknown record type {kind[:40]!r}")

    def _is_inherited(self, record: Fields) -> bool:
        """True for the context that a sub-agent got from its parent."""
        own = self._transcript.state.get("own_from", "")
        ordinal = get_int(record, "ordinal")
        return bool(own) and ordinal is not None and ordinal < int(own)

    def _session(self, meta: Mapping[str, Json]) -> None:
        """Note the first metadata: further ones are those of a session that this one continues."""
        state, meta = self._transcript.state, dict(meta)
        if state.get("has_meta"):
            return
        state["has_meta"] = "yes"
        first = get_int(meta, "subagent_history_start_ordinal")
        self._transcript.note(
            id=get_text(meta, "id") or get_text(meta, "session_id"),
            cwd=get_text(meta, "cwd"),
            parent=get_text(meta, "parent_thread_id")
            or get_text(meta, "source", "subagent", "thread_spawn", "parent_thread_id"),
            branch=get_text(meta, "git", "branch"),
            commit=get_text(meta, "git", "commit_hash"),
            own_from=str(first) if first is not None else "",
        )
        self._transcript.note_title(
            _thread_name(self._transcript.path, self._transcript.id), rank=2
        )
        self._transcript.note_time(get_time(meta, "timestamp"))

    def _item(self, item: dict[str, Json], record: Fields, time: datetime | None) -> None:
        match get_text(item, "type"):
            case "message" | "":
                self._message(item, record, time)
            case "reasoning":
                thought = joined_texts(get(item, "summary"))
                self._transcript.think(self._id(item, record, thought), thought, time)
            case "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call":
                self._call(item, time)
            case "function_call_output" | "custom_tool_call_output" | "tool_search_output":
                self._result(item)
            case "web_search_call":
                call = get_text(item, "id") or self._id(item, record, as_line(get(item, "action")))
                self._transcript.call(call, "web_search", get(item, "action"), time)
            case kind if kind not in _ITEMS:
                self._transcript.reading.skip(f"unknown item type {kind[:40]!r}")

    def _message(self, item: dict[str, Json], record: Fields, time: datetime | None) -> None:
        role, content = get_text(item, "role"), get(item, "content")
        if role == "assistant":
            text = joined_texts(content, "output_text", "text", "input_text")
            self._transcript.answer(self._id(item, record, text), text, time, repeats=True)
        elif role == "user":
            parts = content if isinstance(content, list) else [content]
            texts = (joined_texts(part, "input_text", "text") for part in parts)
            own = [text for text in texts if not text.lstrip().startswith(_CONTEXT)]
            self._ask("\n".join(filter(None, own)), item, record, time)

    def _ask(
        self, text: str, payload: Mapping[str, Json], record: Fields, time: datetime | None
    ) -> None:
        """Begin an exchange, unless the question is the one just told in the other form."""
        before, _, request = text.partition(_REQUEST)
        text = (request if before.lstrip().startswith("#") and request else text).strip()
        current, state = self._transcript.current, self._transcript.state
        # A question is told in one to three forms, always in the same order.
        form = f"{get_text(record, 'type')} {get_text(record, 'payload', 'type')}"
        is_repeated = (
            current is not None
            and (current.is_empty or current.asked == text)
            and (state.get("form") != form or (current.is_empty and current.asked == text))
        )
        if text and not is_repeated:
            id_ = self._id(payload, record, text)
            state.update(form=form, last=id_)
            self._transcript.ask(id_, text, time)

    def _call(self, item: dict[str, Json], time: datetime | None) -> None:
        call = get_text(item, "call_id") or get_text(item, "id") or digest(as_line(item))
        arguments = get(item, "action") or get(item, "arguments") or get(item, "input")
        name = get_text(item, "name") or get_text(item, "type").removesuffix("_call")
        arguments = parsed(arguments)
        command = command_line(arguments)
        if _PATCH in command and name != _SCRIPT:  # also as the argument of a shell
            name, arguments = "apply_patch", command[command.index(_PATCH) :]
        self._transcript.call(call, name, arguments, time)

    def _result(self, item: dict[str, Json]) -> None:
        output = parsed(get(item, "output"))
        status = get_int(output, "metadata", "exit_code")
        content = get(output, "output") if isinstance(output, dict) else output
        if isinstance(output, dict) and content is None:
            content = get(output, "content")
        text = joined_texts(content) or joined_texts(get(item, "output"))
        is_refused = get(output, "success") is False or text.startswith(_REFUSED)
        self._transcript.result(
            get_text(item, "call_id"),
            _HEADER.sub("", text, count=1),
            failed=is_refused,
            status=exit_status(text) if status is None else status,
        )

    def _event(self, event: dict[str, Json], record: Fields, time: datetime | None) -> None:
        match get_text(event, "type"):
            case "user_message":
                text = get_text(event, "message")
                if not text.lstrip().startswith(_CONTEXT):
                    self._ask(text, event, record, time)
            case "agent_message":
                text = get_text(event, "message")
                self._transcript.answer(self._id(event, record, text), text, time, repeats=True)
            case "agent_reasoning" if self._transcript.state.get("form", "").startswith(
                "event_msg"
            ):
                text = get_text(event, "text")
                self._transcript.think(self._id(event, record, text), text, time)
            case "item_completed":
                self._completed(get_dict(event, "item"), record, time)
            case "patch_apply_end":
                self._patched(event)
            case "thread_name_updated":
                self._transcript.note_title(get_text(event, "thread_name"), rank=3)

    def _completed(self, item: dict[str, Json], record: Fields, time: datetime | None) -> None:
        """Handle an item of the newest rollouts. They tell commands that a script ran."""
        id_, text = get_text(item, "id"), joined_texts(get(item, "content"))
        match get_text(item, "type"):
            case "UserMessage":
                if not text.lstrip().startswith(_CONTEXT):
                    self._ask(text, item, record, time)
            case "AgentMessage":
                self._transcript.answer(self._id(item, record, text), text, time, repeats=True)
            case "Plan":
                self._transcript.answer(id_, get_text(item, "text"), time, repeats=True)
            case "CommandExecution" if id_:
                self._once(id_, "exec_command", {"command": get(item, "command")}, time)
                self._transcript.result(
                    id_,
                    get_text(item, "aggregated_output"),
                    failed=get_text(item, "status") in ("failed", "declined"),
                    status=get_int(item, "exit_code"),
                )
            case "FileChange" if id_:
                self._once(id_, "apply_patch", _as_patch(get_dict(item, "changes")), time)
                outcome = get_text(item, "stderr") or get_text(item, "stdout")
                failed = get_text(item, "status") in ("failed", "declined")
                self._transcript.result(id_, outcome, failed=failed)

    def _once(self, id_: str, name: str, arguments: Json, time: datetime | None) -> None:
        """Add a call, unless the exchange has it from the item of the model."""
        current = self._transcript.current
        if current is None or id_ not in current.tools:
            self._transcript.call(id_, name, arguments, time)

    def _patched(self, event: dict[str, Json]) -> None:
        """Join what a patch did to its call, if that is one of the exchange."""
        call, current = get_text(event, "call_id"), self._transcript.current
        if current is not None and call in current.tools:
            self._transcript.result(
                call,
                get_text(event, "stderr") or get_text(event, "stdout"),
                failed=get(event, "success") is False,
                files=get_dict(event, "changes"),
            )

    def _id(self, payload: Mapping[str, Json], record: Fields, text: str) -> str:
        """The item's id. Older ones are told apart by time and text, or else by the question before
        them."""
        when = get_text(record, "timestamp") or self._transcript.state.get("last", "")
        return get_text(dict(payload), "id") or digest(self._transcript.id, when, text)


def _as_patch(changes: dict[str, Json]) -> str:
    """The changes of files as one patch."""
    texts = (
        f"*** Update File: {path}\n{first_text(change, 'unified_diff', 'content')}"
        for path, change in changes.items()
    )
    return "\n".join(texts)


def _thread_name(path: Path, session: str) -> str:
    """The name that the user gave to a session, if any."""
    folders = (folder for folder in path.parents if folder.name in _FOLDERS)
    index = next((folder.with_name("session_index.jsonl") for folder in folders), None)
    try:
        lines = index.read_text("utf-8", "replace").splitlines() if index else []
        entries = (parse_json(line) for line in reversed(lines) if session in line)
        return next((get_text(entry, "thread_name") for entry in entries), "")
    except (OSError, ValueError):
        return ""
