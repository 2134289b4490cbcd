"""Claude Code: `projects/<folder>/<session>.jsonl`, and sub-agents in files of their own.

Each block of an answer is a record. A user's record may hold outcomes of tools instead of a
question, or text that the program put there. A resumed session repeats records: their `uuid` tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from aurora.files import open_no_follow
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
    dicts,
    get,
    get_dict,
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

_AGENT = "claude-code"
_IGNORED = """
    system summary attachment progress file-history-snapshot file-history-delta queue-operation
    last-prompt pr-link continued-in agent-name agent-color agent-setting mode permission-mode tag
    task-summary marble-origami-commit marble-origami-snapshot attribution-snapshot
    content-replacement atis-latch worktree-state speculation-accept api-request api-request-blob
    api-request-shape tools-used cost-state resume-head-vouch data-flow-records data-flow-incomplete
    derived-from fork-context-ref frame-link ended-by-model relocated artifact-comment-monitor
    artifact-autoreact-ledger bridge-session history-suppression isolation-latch session-owner
    dev-mods memory-mode repl-mode observer-ref""".split()  # noqa: SIM905 - a page
_TITLES = {"custom-title": ("customTitle", 4), "ai-title": ("aiTitle", 3)}
_WRAPPERS = (
    "command-name|command-message|command-args|command-contents|local-command-stdout"
    "|local-command-stderr|local-command-caveat|system-reminder|task-notification|ide_opened_file"
    "|ide_selection|ide_diagnostics|bash-stdout|bash-stderr|user-prompt-submit-hook|post-tool-use-hook"
)
_OPENING = re.compile(rf"<({_WRAPPERS})(?: [^<>]{{0,500}})?>")
_TITLE_MARK = b'-title"'
_BLOCK = 1 << 20  # bytes; a record with a title is short
_INTERRUPTED = "[Request interrupted by user"
_NO_MODEL = "<synthetic>"
_SUBAGENT = re.compile(r"agent-(.+)")


class ClaudeCode:
    """Reads the transcripts of Claude Code."""

    agent = _AGENT
    title = "Claude Code"

    def locate(
        self,
        home: Path,
        environ: Mapping[str, str],
        projects: Sequence[Path] = (),  # noqa: ARG002 - they lie in the home
    ) -> list[Path | Skipped]:
        root = folder_of(environ, "CLAUDE_CONFIG_DIR", home / ".claude") / "projects"
        return find_files(root, _is_transcript)

    def read(
        self, path: Path, since: Offset | None = None, options: Options | None = None
    ) -> Reading:
        return read_jsonl(_AGENT, path, since, options, _begin)


def _is_transcript(path: Path) -> bool:
    """Not those of the agents that summarise: the summary is in the session itself."""
    return path.suffix == ".jsonl" and not path.name.startswith("agent-acompact-")


def _begin(transcript: Transcript) -> Handle:
    subagent = _SUBAGENT.fullmatch(transcript.path.stem)
    transcript.note(id=transcript.path.stem)
    if subagent:
        transcript.note_title(_task_of(transcript.path), rank=2)
    _look_ahead(transcript)
    return _Records(transcript, is_subagent=subagent is not None).handle


def _look_ahead(transcript: Transcript) -> None:
    """Find the title, which may be anywhere: every exchange should have it."""
    try:
        with open_no_follow(transcript.path) as file:
            file.seek(transcript.start)
            while line := file.readline(_BLOCK):
                if _TITLE_MARK in line:
                    _note_title(transcript, parsed(line.decode("utf-8", "replace")))
    except OSError:
        return  # the reading itself reports what is wrong


def _note_title(transcript: Transcript, record: Json) -> None:
    if (kind := get_text(record, "type")) in _TITLES:
        field, rank = _TITLES[kind]
        transcript.note_title(get_text(record, field), rank)


def _task_of(path: Path) -> str:
    """What a sub-agent was started for, which a file beside its transcript says."""
    try:
        return get_text(parse_json(path.with_suffix(".meta.json").read_bytes()), "description")
    except (OSError, ValueError):
        return ""


class _Records:
    """Handles the records of one file."""

    def __init__(self, transcript: Transcript, *, is_subagent: bool) -> None:
        self._transcript, self._is_subagent = transcript, is_subagent
        self._seen: set[int] = set()  # hashes: a file may have a million records

    def handle(self, record: Fields) -> None:
        kind = get_text(record, "type")
        if kind in _TITLES:
            _note_title(self._transcript, record)
        elif kind in ("user", "assistant"):
            self._message(kind, record)
        elif kind not in _IGNORED:
            self._transcript.reading.skip(f"unknown record type {kind[:40]!r}")

    def _message(self, kind: str, record: Fields) -> None:
        if not isinstance(get(record, "message"), dict):
            self._transcript.reading.skip("a record without its message")
            return
        id_ = get_text(record, "uuid") or digest(
            self._transcript.id, get_text(record, "timestamp"), as_line(get(record, "message"))
        )
        if hash(id_) in self._seen or _mark(id_) in self._transcript.state.get("asked", ""):
            self._transcript.reading.skip("repeated")
            return
        self._seen.add(hash(id_))
        if get(record, "isSidechain") is True and not self._is_subagent:
            self._transcript.reading.skip("of a sub-agent, in the file of its session")
            return
        time = get_time(record, "timestamp")
        self._note(record, time)
        if get(record, "isCompactSummary") is True:
            summary = _strip(joined_texts(get(record, "message", "content")))
            self._transcript.summarise(id_, summary, time)
        elif get(record, "isMeta") is not True and get(record, "isApiErrorMessage") is not True:
            (self._asked if kind == "user" else self._answered)(id_, record, time)

    def _note(self, record: Fields, time: datetime | None) -> None:
        transcript, branch = self._transcript, get_text(record, "gitBranch")
        model = get_text(record, "message", "model")
        transcript.note(
            cwd=get_text(record, "cwd"),
            branch="" if branch == "HEAD" else branch,
            model="" if model == _NO_MODEL else model,
        )
        if self._is_subagent:
            transcript.note(parent=get_text(record, "sessionId"))
            transcript.note(id=f"agent-{agent}" if (agent := get_text(record, "agentId")) else "")
        transcript.note_time(time)

    def _asked(self, id_: str, record: Fields, time: datetime | None) -> None:
        content = get(record, "message", "content")
        for block in dicts(content if isinstance(content, list) else []):
            if get_text(block, "type") == "tool_result":
                self._transcript.result(
                    get_text(block, "tool_use_id"),
                    _outcome(joined_texts(get(block, "content"))),
                    failed=get(block, "is_error") is True,
                    status=0 if _is_passed(block, get_dict(record, "toolUseResult")) else None,
                )
        question = _question(joined_texts(content, "text"))
        if question and get_text(record, "origin", "kind") in ("", "human"):
            # Known also to a reading that goes on later: its records may repeat this one.
            asked = self._transcript.state.get("asked", "")
            self._transcript.ask(id_, question, time)
            self._transcript.state["asked"] = f"{asked} {_mark(id_)}"

    def _answered(self, id_: str, record: Fields, time: datetime | None) -> None:
        content = get(record, "message", "content")
        if isinstance(content, str):
            self._transcript.answer(id_, joined_texts(content), time)
        for block in dicts(get_list(record, "message", "content")):
            self._block(id_, block, time)

    def _block(self, id_: str, block: dict[str, Json], time: datetime | None) -> None:
        match get_text(block, "type"):
            case "text":
                self._transcript.answer(id_, get_text(block, "text"), time)
            case "thinking":
                self._transcript.think(id_, get_text(block, "thinking"), time)
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                call = get_text(block, "id") or digest(id_, as_line(block))
                self._transcript.call(call, get_text(block, "name"), get(block, "input"), time)
            case "tool_result" | "web_search_tool_result" | "web_fetch_tool_result":
                outcome = joined_texts(get(block, "content"))
                self._transcript.result(get_text(block, "tool_use_id"), outcome)


def _mark(id_: str) -> str:
    """A short form of an id, to remember it by."""
    return digest(id_)[:12]


def _strip(text: str) -> str:
    """Remove what the program wrote around or into a text."""
    kept, at, unclosed = [], 0, set()
    for opening in _OPENING.finditer(text):
        tag = opening[1]
        if opening.start() < at or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", opening.end())
        if end < 0:
            unclosed.add(tag)  # searching for it again and again would take quadratic time
            continue
        kept.append(text[at : opening.start()])
        at = end + len(tag) + len("</>")
    return "".join([*kept, text[at:]]).strip()


def _is_passed(block: dict[str, Json], result: dict[str, Json]) -> bool:
    """True for a command that ended with 0: any other status is an error or has a reason."""
    others = ("interrupted", "backgroundTaskId", "returnCodeInterpretation")
    is_command = "stdout" in result and get(block, "is_error") is False
    return is_command and not any(result.get(name) for name in others)


def _outcome(text: str) -> str:
    """What a tool returned, without the tags of an error."""
    return _strip(text.replace("<tool_use_error>", "").replace("</tool_use_error>", ""))


def _inside(text: str, tag: str) -> str:
    """The text in the first pair of such tags."""
    after = text.partition(f"<{tag}>")[2]
    inside, closing, _ = after.partition(f"</{tag}>")
    return inside.strip() if closing else ""


def _question(text: str) -> str:
    """What the user typed; empty if the text is the program's."""
    if text.lstrip().startswith("<task-notification>"):
        return ""  # with advice to the agent behind it
    own = _strip(text)
    if own.startswith("<bash-input>"):
        return f"! {_inside(own, 'bash-input')}"
    if not own and (command := _inside(text, "command-name")):
        return f"{command} {_inside(text, 'command-args')}".strip()
    return "" if own.startswith(_INTERRUPTED) else own
