"""What each agent tells its hooks, and the form in which it takes an answer.

Agents name their events differently; the fields of their JSON differ little, so that all of them
are read by the same names. A new agent is a row in `FORMS` and one in `occasions.EVENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from aurora.engine.error_match import tells_error
from aurora.hooks.occasions import Occasion
from aurora.quick_classes import NamedTuple
from aurora.sources.sessions.base import ToolKind
from aurora.sources.sessions.json_values import (
    dicts,
    first_text,
    get,
    get_dict,
    get_int,
    get_list,
    get_text,
    parsed,
    without_hook_context,
)
from aurora.sources.sessions.tool_uses import command_line, exit_status, tool_files, tool_kind
from aurora.types import AT_START, Json, Moment, Situation

_MOST_FILES = 5  # of one patch that are asked about
_MOST_TEXT = 20_000  # characters of a prompt or an error


Form = Callable[[str, str], Json]  # the event and the text → what the agent takes


def _specific(event: str, text: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _snake(_: str, text: str) -> Json:
    return {"additional_context": text}


def _camel(event: str, text: str) -> Json:
    """Copilot CLI takes events in two spellings, each with its own form."""
    return _specific(event, text) if event[0].isupper() else {"additionalContext": text}


def _context(_: str, text: str) -> Json:
    return {"context": text}


FORMS: Mapping[str, Form] = {
    "claude-code": _specific,
    "codex": _specific,
    "gemini-cli": _specific,
    "cursor": _snake,
    "copilot-cli": _camel,
    "opencode": _context,
}


class HookEvent(NamedTuple):
    """One event: what is about to be done or has failed, and in which session.

    Without a situation there is nothing to recall. `follows`: the session has new records.
    """

    situations: tuple[Situation, ...] = ()
    session: str = ""
    transcript: str = ""
    follows: bool = False


def read_event(occasion: Occasion, payload: Json, folder: str) -> HookEvent:
    """What an agent tells at an event. `folder` is where it works."""
    inner = get_dict(payload, "input") or get_dict(payload, "event", "properties")
    session = (
        first_text(payload, "session_id", "sessionId", "conversation_id", "sessionID")
        or first_text(inner, "sessionID")
        or get_text(inner, "info", "id")
    )
    transcript = first_text(payload, "transcript_path", "transcriptPath")
    event = HookEvent((), session, transcript, follows=occasion is Occasion.FOLLOW)
    return event._replace(situations=_situations(occasion, payload, folder))


def _situations(occasion: Occasion, payload: Json, folder: str) -> tuple[Situation, ...]:
    if occasion is Occasion.START:
        return (AT_START,)
    if occasion is Occasion.PROMPT:
        text = _prompt(payload)
        return (Situation(Moment.PROMPT, text[:_MOST_TEXT]),) if text.strip() else ()
    if occasion is Occasion.FOLLOW:
        return ()
    return _of_tool(occasion, payload, folder)


def _prompt(payload: Json) -> str:
    parts = dicts(get_list(payload, "output", "parts"))
    text = get_text(payload, "prompt") or "\n".join(get_text(part, "text") for part in parts)
    return without_hook_context(text)


def _of_tool(occasion: Occasion, payload: Json, folder: str) -> tuple[Situation, ...]:
    name = first_text(payload, "tool_name", "toolName") or get_text(payload, "input", "tool")
    arguments, kind = _arguments(payload), tool_kind(name)
    is_before = occasion is Occasion.BEFORE
    if kind is ToolKind.EDIT if is_before else _is_read(occasion, kind):
        files = tool_files(kind, name, arguments)[:_MOST_FILES]
        return tuple(Situation(Moment.EDIT, file=str(Path(folder, file))) for file in files)
    command = command_line(arguments) if kind is ToolKind.COMMAND else ""
    if not command:
        return ()
    if is_before:
        return (Situation(Moment.COMMAND, command=command),)
    outcome = _outcome(payload)
    text = _text(outcome)[-_MOST_TEXT:]
    has_failed = occasion is Occasion.FAILED or _has_failed(outcome)
    if occasion is Occasion.AFTER_UNTOLD:  # what was never mended is not recalled in any case
        has_failed = has_failed or tells_error(text)
    if not has_failed or get(payload, "is_interrupt"):
        return ()
    return (Situation(Moment.FAILURE, text, command=command),)


def _is_read(occasion: Occasion, kind: ToolKind) -> bool:
    return occasion is Occasion.AFTER_READ and kind is ToolKind.READ


def _arguments(payload: Json) -> Json:
    """The arguments of a tool; a patch is its text."""
    named = (get(payload, key) for key in ("tool_input", "toolArgs"))
    inner = (get(payload, "output", "args"), get(payload, "input", "args"))
    arguments = parsed(next((value for value in (*named, *inner) if value), {}))
    patch = get_text(arguments, "command")
    return patch if patch.startswith("*** Begin Patch") else arguments


_OUTCOMES = ("error", "error_message", "tool_response", "tool_output", "tool_result", "toolResult",
             "output")  # fmt: skip


def _outcome(payload: Json) -> Json:
    return parsed(next((value for key in _OUTCOMES if (value := get(payload, key))), ""))


_STATUSES = (("exit_code",), ("exitCode",), ("metadata", "exit_code"), ("metadata", "exit"))
_TEXTS = ("stderr", "stdout", "output", "error", "message", "llmContent", "textResultForLlm",
          "text_result_for_llm")  # fmt: skip


def _has_failed(outcome: Json) -> bool:
    for path in _STATUSES:
        if (status := get_int(outcome, *path)) is not None:
            return status != 0
    if get(outcome, "error") or first_text(outcome, "resultType", "result_type") == "failure":
        return True
    return bool(exit_status(_text(outcome)))


def _text(outcome: Json) -> str:
    """What a tool printed: its error first, since that is what is looked for."""
    if isinstance(outcome, str):
        return outcome
    error = get_text(outcome, "error", "message")
    texts = [error, *(get_text(outcome, key) for key in _TEXTS)]
    return "\n".join(dict.fromkeys(filter(None, texts)))
