"""What each agent sends to its hooks, field by field as its clients do.

Claude Code 2.1.328, Codex 0.169.0, Gemini CLI 0.61.0 and Cursor 2026.07: as recorded. Copilot CLI:
by its documentation, in both spellings. OpenCode 1.18: what its plugin interface hands to a plugin.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from aurora.types import Json


class Sent(NamedTuple):
    """One event of one agent."""

    agent: str
    event: str
    payload: dict[str, Json]


SESSION = "0b7c7c5e-93b1-4a41-9b0a-6c2a6f4f1d11"
PROMPT = "how do I hash a password with salt"
FILE, COMMAND = "auth_manager.py", "pytest -n 8"
ERROR = "worker 'gw3' crashed: MemoryError"


STARTS = {"SessionStart", "sessionStart", "session.created"}
PROMPTS = {
    "UserPromptSubmit", "BeforeAgent", "userPromptSubmitted", "UserPromptSubmitted", "chat.message",
}  # fmt: skip
ENDS = {
    "Stop", "SubagentStop", "SessionEnd", "PreCompact", "AfterAgent", "PreCompress", "stop",
    "sessionEnd", "preCompact", "agentStop", "session.idle", "session.compacted",
    "experimental.session.compacting",
}  # fmt: skip


def all_events(folder: Path) -> list[Sent]:
    """Every event that is answered, of every agent, in a project's folder."""
    return [
        *_claude(folder),
        *_codex(folder),
        *_gemini(folder),
        *_cursor(folder),
        *_copilot(folder),
        *_opencode(folder),
    ]


def _claude(folder: Path) -> list[Sent]:
    transcript = str(folder.parent / ".claude" / "projects" / "p" / f"{SESSION}.jsonl")
    usual: dict[str, Json] = {
        "session_id": SESSION,
        "transcript_path": transcript,
        "cwd": str(folder),
        "prompt_id": "7f12df9b-2919-4380-8645-bc9dd2fc0a64",
        "permission_mode": "default",
        "effort": {"level": "medium"},
    }
    edit: Json = {"file_path": str(folder / FILE), "old_string": "a", "new_string": "b"}
    shell: Json = {"command": COMMAND, "description": "Run the tests"}
    failed = {"error": f"Exit code 1\n{ERROR}", "is_interrupt": False, "tool_use_id": "toolu_3"}
    events: dict[str, dict[str, Json]] = {
        "SessionStart": {"source": "startup", "model": "claude-opus-4-7"},
        "UserPromptSubmit": {"prompt": PROMPT},
        "PreToolUse": {"tool_name": "Edit", "tool_input": edit, "tool_use_id": "toolu_1"},
        "PreToolUse ": {"tool_name": "Bash", "tool_input": shell, "tool_use_id": "toolu_2"},
        "PostToolUse": {
            "tool_name": "Bash",
            "tool_input": shell,
            "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False},
            "tool_use_id": "toolu_2",
            "duration_ms": 812,
        },
        "PostToolUseFailure": {"tool_name": "Bash", "tool_input": shell, **failed},
        "Stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
        "SubagentStop": {
            "stop_hook_active": False,
            "agent_id": "a1",
            "agent_type": "Explore",
            "agent_transcript_path": transcript,
        },
        "PreCompact": {"trigger": "auto", "custom_instructions": None},
        "SessionEnd": {"reason": "prompt_input_exit"},
    }
    return _made("claude-code", usual, events)


def _made(agent: str, usual: dict[str, Json], events: dict[str, dict[str, Json]]) -> list[Sent]:
    return [
        Sent(agent, name.strip(), {**usual, "hook_event_name": name.strip(), **own})
        for name, own in events.items()
    ]


def _codex(folder: Path) -> list[Sent]:
    usual: dict[str, Json] = {
        "session_id": SESSION,
        "transcript_path": str(folder.parent / ".codex" / "sessions" / f"rollout-{SESSION}.jsonl"),
        "cwd": str(folder),
        "model": "gpt-5.1-codex",
        "permission_mode": "default",
    }
    patch = f"*** Begin Patch\n*** Update File: {FILE}\n@@\n-a\n+b\n*** End Patch\n"
    turn: dict[str, Json] = {"turn_id": "turn-1"}
    shell: dict[str, Json] = {"tool_name": "Bash", "tool_input": {"command": COMMAND}}
    events: dict[str, dict[str, Json]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {**turn, "prompt": PROMPT},
        "PreToolUse": {
            **turn,
            "tool_name": "apply_patch",
            "tool_input": {"command": patch},
            "tool_use_id": "call_1",
        },
        "PreToolUse ": {**turn, **shell, "tool_use_id": "call_2"},
        "PostToolUse": {
            **turn,
            **shell,
            "tool_response": f"{ERROR}\n",
            "tool_use_id": "call_2",
        },
        "Stop": {**turn, "stop_hook_active": False, "last_assistant_message": "Done."},
        "PreCompact": {**turn, "trigger": "manual"},
        "SessionEnd": {"reason": "other"},
    }
    return _made("codex", usual, events)


def _gemini(folder: Path) -> list[Sent]:
    usual: dict[str, Json] = {
        "session_id": SESSION,
        "transcript_path": str(folder.parent / ".gemini" / "tmp" / "p" / "session.json"),
        "cwd": str(folder),
        "timestamp": "2026-11-19T12:00:00.000Z",
    }
    events: dict[str, dict[str, Json]] = {
        "SessionStart": {"source": "startup"},
        "BeforeAgent": {"prompt": f"<hook_context>- lesson: a\nb</hook_context>\n\n{PROMPT}"},
        "AfterTool": {
            "tool_name": "read_file",
            "tool_input": {"file_path": FILE},
            "tool_response": {"llmContent": "text", "returnDisplay": ""},
        },
        "AfterTool ": {
            "tool_name": "run_shell_command",
            "tool_input": {"command": COMMAND},
            "tool_response": {
                "llmContent": f"<untrusted_context>\nOutput: {ERROR}\nExit Code: 1\n"
                "Process Group PGID: 12\n</untrusted_context>",
                "returnDisplay": ERROR,
            },
        },
        "AfterAgent": {"prompt": PROMPT, "prompt_response": "Done.", "stop_hook_active": False},
        "PreCompress": {"trigger": "auto"},
        "SessionEnd": {"reason": "exit"},
    }
    return _made("gemini-cli", usual, events)


def _cursor(folder: Path) -> list[Sent]:
    usual: dict[str, Json] = {
        "conversation_id": SESSION,
        "generation_id": SESSION,
        "session_id": SESSION,
        "model": "grok-4.5",
        "cursor_version": "2026.07.23-e383d2b",
        "workspace_roots": [str(folder)],
        "user_email": "ada@example.com",
        "transcript_path": None,
    }
    events: dict[str, dict[str, Json]] = {
        "sessionStart": {"is_background_agent": False},
        "postToolUse": {
            "tool_name": "Read",
            "tool_input": {"file_path": str(folder / FILE)},
            "tool_output": '{"file_path":"/p/auth_manager.py","content_length":120}',
            "duration": 3.1,
            "tool_use_id": "call-1\nfc_1",
            "cwd": "",
        },
        "postToolUse ": {
            "tool_name": "Shell",
            "tool_input": {"command": COMMAND, "cwd": "", "timeout": 30000},
            "tool_output": f'{{"output":"{ERROR}\\n","exitCode":1}}',
            "duration": 79.471,
            "tool_use_id": "3215f49c",
            "cwd": "",
        },
        "stop": {"status": "completed", "loop_count": 0},
        "preCompact": {"trigger": "auto"},
        "sessionEnd": {"reason": "completed"},
    }
    return _made("cursor", usual, events)


def _copilot(folder: Path) -> list[Sent]:
    usual: dict[str, Json] = {
        "sessionId": SESSION, "timestamp": 1_763_552_000_000, "cwd": str(folder),
    }  # fmt: skip
    view: dict[str, Json] = {"toolName": "view", "toolArgs": {"path": str(folder / FILE)}}
    shell: dict[str, Json] = {"toolName": "bash", "toolArgs": f'{{"command":"{COMMAND}"}}'}
    read: Json = {"resultType": "success", "textResultForLlm": "text"}
    camel: dict[str, dict[str, Json]] = {
        "sessionStart": {"source": "new"},
        "userPromptSubmitted": {"prompt": PROMPT},
        "postToolUse": {**view, "toolResult": read},
        "postToolUseFailure": {**shell, "error": ERROR},
        "agentStop": {"transcriptPath": "", "stopReason": "end_turn"},
        "preCompact": {"transcriptPath": "", "trigger": "auto", "customInstructions": ""},
        "sessionEnd": {"reason": "complete"},
    }
    snake_usual: dict[str, Json] = {
        "session_id": SESSION, "timestamp": "2026-11-19T12:00:00Z", "cwd": str(folder),
    }  # fmt: skip
    snake: dict[str, dict[str, Json]] = {
        "SessionStart": {"source": "new"},
        "UserPromptSubmit": {"prompt": PROMPT},
        "PostToolUseFailure": {
            "tool_name": "bash",
            "tool_input": {"command": COMMAND},
            "error": ERROR,
        },
        "Stop": {"transcript_path": "", "stop_reason": "end_turn"},
    }
    return [*_made("copilot-cli", usual, camel), *_made("copilot-cli", snake_usual, snake)]


def _opencode(folder: Path) -> list[Sent]:
    usual: dict[str, Json] = {"directory": str(folder)}
    created: Json = {
        "type": "session.created",
        "properties": {"info": {"id": SESSION, "directory": str(folder), "title": "New session"}},
    }
    idle: Json = {"type": "session.idle", "properties": {"sessionID": SESSION}}
    call: dict[str, Json] = {"sessionID": SESSION, "callID": "call_1"}
    events: dict[str, dict[str, Json]] = {
        "session.created": {"event": created},
        "chat.message": {
            "input": {"sessionID": SESSION, "agent": "build"},
            "output": {"message": {"role": "user"}, "parts": [{"type": "text", "text": PROMPT}]},
        },
        "tool.execute.after": {
            "input": {**call, "tool": "read", "args": {"filePath": str(folder / FILE)}},
            "output": {"title": FILE, "output": "text", "metadata": {}},
        },
        "tool.execute.after ": {
            "input": {**call, "tool": "bash", "args": {"command": COMMAND}},
            "output": {"title": "Tests", "output": ERROR, "metadata": {"exit": 1}},
        },
        "session.idle": {"event": idle},
        "experimental.session.compacting": {"input": {"sessionID": SESSION}, "output": {}},
    }
    return _made("opencode", usual, events)
