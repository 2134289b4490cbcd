"""Real agents that work on a small project, and models on loopback that tell them what to do.

`make test-full` installs Claude Code, Codex and Gemini CLI from npm. Each runs as a person runs it
without a screen, in a home of its own. The stand-in of its model answers a question with the turns
that `work` lists for it, one after the other: calls of the client's own tools, then a text.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from tests.builders import write_tree
from tests.mcp.model_servers import (
    CLAUDE,
    CODEX,
    CODEX_SETTINGS,
    FOLDER,
    AnthropicMessages,
    Call,
    OpenAIResponses,
    run_node,
    serving,
)

GEMINI = FOLDER / "node_modules/@google/gemini-cli/bundle/gemini.js"
BRANCH = "fix-total"
ASKED, ANSWERED = "Fix the total.", "It was one too high."
ASKED_LATER, ANSWERED_LATER = "Is anything left?", "Nothing is left."
TASK, REPORT, AFTERWARDS = (
    "Find the callers of total.",
    "Nobody calls it.",
    "No caller is affected.",
)
COMMAND = "sh check.sh"  # fails with 3 before the edit, passes after it
OLD, NEW = "sum(rows) + 1", "sum(rows)"
PATCH = f"""\
*** Begin Patch
*** Update File: prices.py
@@
-    return {OLD}
+    return {NEW}
*** End Patch"""
_FILES = {
    "prices.py": f"def total(rows):\n    return {OLD}\n",
    "check.sh": "grep -q 'rows)$' prices.py || { echo 'AssertionError' >&2; exit 3; }\n"
    "echo passed\n",
}
GEMINI_SETTINGS = {
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
}

Turn: TypeAlias = "Call | str"
Turns: TypeAlias = "Mapping[str, Sequence[Turn]]"  # by the question that they answer


@dataclass(frozen=True)
class Machine:
    """A home, and a project with one commit on a branch."""

    home: Path
    project: Path

    @classmethod
    def make(cls, folder: Path) -> Machine:
        machine = cls(folder / "home", write_tree(folder / "shop", _FILES))
        machine.home.mkdir()
        machine.git("init", "--quiet", "--initial-branch", BRANCH)
        machine.git("add", ".")
        machine.git("commit", "--quiet", "--message", "add prices")
        return machine

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.check_output(["git", *names, *words], cwd=self.project, text=True).strip()

    @property
    def prices(self) -> str:
        return str(self.project / "prices.py")

    def run(self, command: Sequence[str | Path], environ: Mapping[str, str]) -> None:
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        done = run_node(command, self.project, {**kept, **environ})
        assert done.returncode == 0, done.stdout + done.stderr


class ScriptedModel(BaseHTTPRequestHandler):
    """Answers each request with the next turn for the last question in it."""

    turns: ClassVar[Turns]
    numbers: ClassVar[Iterator[int]]
    path_part = ""
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if self.path_part not in self.path:
            self.send_error(404)
            return
        text = self.stream(self._turn(body), next(self.numbers)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _turn(self, body: dict[str, Any]) -> Turn:
        turns: Sequence[Turn] = ()
        done = 0
        for role, text in self.messages(body):
            asked = next((each for each in self.turns if text.strip().endswith(each)), None)
            if role == "user" and asked:
                turns, done = self.turns[asked], 0
            done += role in ("assistant", "model")
        return turns[done] if done < len(turns) else "A title"

    def log_message(self, *_: object) -> None:
        """What is asked is in the transcripts."""

    @staticmethod
    def messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The role and the text of each message."""
        raise NotImplementedError

    @staticmethod
    def stream(turn: Turn, number: int) -> str:
        """The server-sent events of an answer."""
        raise NotImplementedError


def _events(events: Sequence[dict[str, Any]]) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


class ClaudeModel(ScriptedModel):
    path_part = "/v1/messages?"

    @staticmethod
    def messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for message in body["messages"]:
            content = message["content"]
            parts = content if isinstance(content, list) else [{"text": content}]
            # A reminder may follow the question in the same message.
            texts = [part["text"] for part in parts if "text" in part]
            asked = [text for text in texts if not text.startswith("<system-reminder>")]
            yield message["role"], "\n".join(asked)

    @staticmethod
    def stream(turn: Turn, number: int) -> str:
        # Claude Code takes messages with one id for pieces of one.
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta, reason = {"type": "text_delta", "text": turn}, "end_turn"
        if isinstance(turn, Call):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
            reason = "tool_use"
        return _events(AnthropicMessages.stream(block, delta, reason, f"msg_{number}"))


class CodexModel(ScriptedModel):
    path_part = "/v1/responses"

    @staticmethod
    def messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for item in body["input"]:
            if item["type"] in ("function_call", "custom_tool_call"):
                yield "assistant", ""
            elif item["type"] == "message":
                yield item["role"], "\n".join(part["text"] for part in item["content"])

    @staticmethod
    def stream(turn: Turn, number: int) -> str:
        if isinstance(turn, str):
            text = {"type": "output_text", "text": turn, "annotations": []}
            item = {"type": "message", "role": "assistant", "content": [text]}
        elif script := turn.arguments.get("script"):
            item = {"type": "custom_tool_call", "name": turn.tool, "input": script}
        else:
            item = {"type": "function_call", "name": turn.tool,
                    "arguments": json.dumps(turn.arguments)}  # fmt: skip
        ids = {"id": f"item_{number}", "call_id": f"call_{number}", "status": "completed"}
        return _events(OpenAIResponses.stream(item | ids))


class GeminiModel(ScriptedModel):
    path_part = ":streamGenerateContent"

    @staticmethod
    def messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for content in body["contents"]:
            yield content["role"], "\n".join(part.get("text", "") for part in content["parts"])

    @staticmethod
    def stream(turn: Turn, number: int) -> str:
        part: dict[str, Any] = {"text": turn} if isinstance(turn, str) else {
            "functionCall": {"name": turn.tool, "args": turn.arguments}}  # fmt: skip
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        usage = {"totalTokenCount": 2}
        answer = {"responseId": str(number), "candidates": [candidate], "usageMetadata": usage}
        return f"data: {json.dumps(answer)}\r\n\r\n"


def _answering(handler: type[ScriptedModel], turns: Turns) -> type[ScriptedModel]:
    return type("Handler", (handler,), {"turns": turns, "numbers": count(1)})


# What each client is told to do: the command fails, an edit mends it, the command passes.


def run_claude(machine: Machine, *prompts: tuple[str, ...]) -> None:
    """Run Claude Code once for each prompt, with the options that follow the prompt."""
    edit = {"file_path": machine.prices, "old_string": OLD, "new_string": NEW}
    agent = {"description": "Find callers", "prompt": TASK, "subagent_type": "general-purpose"}
    turns: Turns = {
        ASKED: (
            Call("Bash", {"command": COMMAND}),
            Call("Read", {"file_path": machine.prices}),
            Call("Edit", dict(edit)),
            Call("Bash", {"command": COMMAND}),
            Call("Agent", dict(agent)),
            ANSWERED,
            AFTERWARDS,  # when the sub-agent, which runs beside the session, has ended
        ),
        TASK: (Call("Grep", {"pattern": "total"}), REPORT),
        ASKED_LATER: (ANSWERED_LATER, "They asked for a total that is right."),
    }
    with serving(_answering(ClaudeModel, turns)) as url:
        environ = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        for words in prompts:
            allowed = ["--allowedTools", "Bash,Edit,Read,Grep,Agent"]
            machine.run([CLAUDE, "-p", *words, *allowed], environ)


def run_codex(machine: Machine, *prompts: tuple[str, ...], tools: str) -> None:
    """Run Codex with tools as functions, or as JavaScript that the model writes."""
    functions = (
        Call("exec_command", {"cmd": COMMAND}),
        Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}),
        Call("exec_command", {"cmd": COMMAND}),
    )
    command = f"text(await tools.exec_command({json.dumps({'cmd': COMMAND})}))"
    script = (
        Call("exec", {"script": command}),
        Call("exec", {"script": f"text(await tools.apply_patch({json.dumps(PATCH)}))"}),
        Call("exec", {"script": command}),
    )
    work = functions if tools == "functions" else script
    turns: Turns = {ASKED: (*work, ANSWERED), ASKED_LATER: (ANSWERED_LATER,)}
    settings = machine.home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    # A model that Codex does not know gets functions.
    model = ["--model", "a-model"] if tools == "functions" else []
    options = [
        "--dangerously-bypass-approvals-and-sandbox",
        *model,
    ]  # a sandbox needs a kernel's help
    with serving(_answering(CodexModel, turns)) as url:
        settings.write_text(CODEX_SETTINGS.format(url=url), encoding="utf-8")
        for words in prompts:
            machine.run([CODEX, "exec", *options, *words], {"A_KEY": "none"})


def run_gemini(machine: Machine, *prompts: tuple[str, ...]) -> None:
    """Run Gemini CLI once for each prompt, with the options that follow the prompt."""
    edit = {"file_path": machine.prices, "instruction": "Fix", "old_string": OLD, "new_string": NEW}
    turns: Turns = {
        ASKED: (
            Call("run_shell_command", {"command": COMMAND}),
            Call("replace", dict(edit)),
            Call("run_shell_command", {"command": COMMAND}),
            ANSWERED,
        ),
        ASKED_LATER: (ANSWERED_LATER,),
    }
    settings = machine.home / ".gemini" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps(GEMINI_SETTINGS), encoding="utf-8")
    with serving(_answering(GeminiModel, turns)) as url:
        environ = {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_NO_RELAUNCH": "true",  # with more memory
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        for words in prompts:
            model = ["--model", "gemini-2.5-flash"]
            machine.run([GEMINI, "-p", *words, "--yolo", *model], environ)
