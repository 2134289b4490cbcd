"""How much of transcripts that nobody here wrote the readers find, beside a count of raw records.

    python benchmarks/quality/transcripts.py FOLDER [--misses] [--save]
    python benchmarks/quality/transcripts.py --home ~ [--misses]

FOLDER has a checkout of each repository in `SOURCES` as `owner+name`; one that is missing is cloned
there, where there is a network. With `--home`, the transcripts of that home are read instead. A raw
count knows as little of a format as possible: it looks at each record by itself, and shares nothing
with the readers but the parser of JSON. `--misses` prints what differs, and `--save` writes
benchmarks/results/transcripts-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

from aurora.sources.sessions.base import Exchange, Reading
from aurora.sources.sessions.readers import OURS, make_reader

_NOT_COUNTED = {("cursor", ".vscdb"), ("copilot-chat", ".jsonl")}  # it would be a second reader
_START = 60  # characters of a text that tell whether it is there


class Source(NamedTuple):
    """The transcripts of one agent in a repository."""

    agent: str
    repository: str
    commit: str
    pattern: str


_STAGE0 = "Resources/Fixtures/stage0/agents"
_CASS = "Dicklesworthstone/coding_agent_session_search", "2a1fc6f88ec2247c6748c1ca39fa1648d5be6122"
_DEJA = "vshulcz/deja-vu", "b264ec72cff452f9314d58096d1659416b2b0c68"
_AGENT_SESSIONS = "jazzyalex/agent-sessions", "651e854f4dbfaaa1161ffc9015045921ed30cf12"
_AI_SESSIONS = "yoavf/ai-sessions", "398dc8802808703db64c58029ef1924f5d31c31f"
_CCUSAGE = "ryoppippi/ccusage", "5816e640e8824986f33427203da164b01394a161"
SOURCES = (
    # sessions that people had
    Source("claude-code", "marot/spotter", "8cc42b0bd39d04e71e509d7d58e6782ab435329f",
           "test/fixtures/transcripts/**/*.jsonl"),
    Source("claude-code", *_AI_SESSIONS, "examples/claude-*.jsonl"),
    Source("codex", *_AI_SESSIONS, "examples/codex-*.jsonl"),
    Source("codex", "madshn/localpush", "219b5397b658a1d424166b5bde2c4ba2e12385ab",
           "src-tauri/tests/fixtures/codex/*/raw/sessions/rollout-*.jsonl"),
    Source("aider", "Aider-AI/aider", "5dc9490bb35f9729ef2c95d00a19ccd30c26339c",
           "tests/fixtures/chat-history.md"),
    Source("aider", "BjornNordblom/pocketflow-text2sql-gui",
           "fa36619313c0eb9605ca446524c7c0b111af6b59", ".aider.chat.history.md"),
    # samples that other readers are tested with
    Source("claude-code", "daaain/claude-code-log", "a641071a154f041b96e9b83ccd42d2f92eaa321a",
           "test/test_data/*.jsonl"),
    Source("claude-code", "simonw/claude-code-transcripts",
           "cad133d9132a6255d8e948acfdaf5c8273bbff5f", "tests/sample_session.jsonl"),
    Source("claude-code", *_CCUSAGE, "apps/ccusage/test/fixtures/claude/**/*.jsonl"),
    Source("codex", *_CCUSAGE, "apps/ccusage/test/fixtures/codex/**/*.jsonl"),
    *(Source("claude-code", *_AGENT_SESSIONS, f"{_STAGE0}/claude/{name}.jsonl")
      for name in ("*", "subagent/**/*")),
    Source("codex", *_AGENT_SESSIONS, f"{_STAGE0}/codex/*.jsonl"),
    Source("codex", *_AGENT_SESSIONS, "Resources/Fixtures/codex_*.jsonl"),
    Source("gemini-cli", *_AGENT_SESSIONS, f"{_STAGE0}/gemini/*.json*"),
    Source("copilot-cli", *_AGENT_SESSIONS, f"{_STAGE0}/copilot/**/*.jsonl"),
    Source("cursor", *_AGENT_SESSIONS, f"{_STAGE0}/cursor/**/*.jsonl"),
    Source("cursor", *_AGENT_SESSIONS, "AgentSessionsTests/Fixtures/Cursor/*.jsonl"),
    Source("opencode", *_AGENT_SESSIONS, f"{_STAGE0}/opencode/*/session/*/*.json"),
    Source("claude-code", *_DEJA, "fixtures/*/claude*/**/*.jsonl"),
    Source("codex", *_DEJA, "fixtures/*/codex/**/rollout-*.jsonl"),
    Source("gemini-cli", *_DEJA, "fixtures/registry/gemini/*.jsonl"),
    Source("copilot-cli", *_DEJA, "fixtures/registry/copilot/*/events.jsonl"),
    Source("cursor", *_DEJA, "fixtures/registry/cursor/**/*.jsonl"),
    Source("aider", *_DEJA, "fixtures/registry/aider/.aider.chat.history.md"),
    Source("opencode", *_DEJA, "fixtures/registry/opencode/opencode.sql"),
    Source("claude-code", *_CASS, "tests/fixtures/claude_code_real/**/*.jsonl"),
    Source("claude-code", *_CASS, "tests/fixtures/html_export/*/[a-z]*_session*.jsonl"),
    Source("claude-code", *_CASS, "tests/fixtures/message_grouping/claude_*.jsonl"),
    Source("codex", *_CASS, "tests/fixtures/codex_real/**/*.jsonl"),
    Source("gemini-cli", *_CASS, "tests/fixtures/gemini/**/*.json"),
    Source("copilot-cli", *_CASS, "tests/fixtures/copilot/*.events.jsonl"),
    Source("aider", *_CASS, "tests/fixtures/aider/.aider.chat.history.md"),
    Source("exports", *_CASS, "tests/fixtures/chatgpt_real/conversations-real/*.json"),
    Source("copilot-chat", "rajbos/github-copilot-token-usage",
           "e84aff8686ec9790d02dd6d7e10efc1eb1ac4cb9",
           "vscode-extension/test/fixtures/sample-session-data/chatSessions/*.json"),
)  # fmt: skip


@dataclass
class Raw:
    """What the records of a transcript tell, each by itself."""

    asked: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    titles: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)


# Raw counts, one for each format

Record = dict[str, Any]
_TAGS = re.compile(r"<([a-z-]+)>.*?</\1>", re.DOTALL)


def _lines(path: Path) -> Iterator[Record]:
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _texts(content: object, *types: str) -> str:
    if isinstance(content, str):
        return content
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    wanted = [part for part in parts if not types or part.get("type") in types]
    return "\n".join(part["text"] for part in wanted if isinstance(part.get("text"), str))


def _blocks(message: Record, kind: str) -> list[Record]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]


def claude_code(path: Path) -> Raw:
    raw, seen = Raw(), set()
    for each in _lines(path):
        raw.titles += [each[name] for name in ("customTitle", "aiTitle") if each.get(name)]
        message = each.get("message")
        kind, uuid = each.get("type"), each.get("uuid", id(each))
        if kind not in ("user", "assistant") or not isinstance(message, dict) or uuid in seen:
            continue
        seen.add(uuid)
        is_other = each.get("isSidechain") and not path.stem.startswith("agent-")
        if is_other:
            continue
        raw.times.append(each.get("timestamp", ""))
        if each.get("isMeta") or each.get("isApiErrorMessage") or each.get("isCompactSummary"):
            continue
        text = _texts(message.get("content"), "text")
        if kind == "user":
            own = _TAGS.sub("", text).strip()
            command = [
                re.search(rf"<command-{name}>(.*?)</", text, re.DOTALL) for name in ("name", "args")
            ]
            is_told = text.lstrip().startswith("<task-notification>")
            is_told |= (each.get("origin") or {}).get("kind") == "task-notification"
            if own and not own.startswith("[Request interrupted") and not is_told:
                raw.asked.append(own)
            elif not own and command[0]:
                raw.asked.append(" ".join(part[1] for part in command if part).strip())
            continue
        raw.answered += [part["text"] for part in _blocks(message, "text") if part.get("text")]
        if isinstance(message.get("content"), str):
            raw.answered.append(text)
        for call in _blocks(message, "tool_use"):
            raw.calls |= {str(call["id"])} if call.get("id") else set()
            if call.get("name") in ("Edit", "MultiEdit", "Write"):
                raw.edited.add(str(call["input"].get("file_path")))
    return raw


def codex(path: Path) -> Raw:
    raw = Raw()
    items: list[tuple[str, str]] = []
    events: list[tuple[str, str]] = []
    for each in _lines(path):
        raw.times.append(each.get("timestamp", ""))
        inner = each.get("payload")
        payload = inner if isinstance(inner, dict) else each
        kind, role = payload.get("type"), payload.get("role")
        raw.times.append(payload.get("timestamp", "") if each.get("type") == "session_meta" else "")
        raw.titles += [payload["thread_name"]] if payload.get("thread_name") else []
        if kind == "message" and role in ("user", "assistant"):
            text = _texts(payload.get("content"))
            if role == "assistant" or not re.match(r"\s*(<\w|# AGENTS\.md)", text):
                items.append((role, text))
        elif kind in ("user_message", "agent_message") and each.get("type") == "event_msg":
            text = payload.get("message", "")
            events.append((kind, text))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            name = payload.get("call_id") or payload.get("id")
            raw.calls |= {str(name)} if name else set()
            patch = json.dumps(payload)
            raw.edited |= set(re.findall(r"\*\*\* (?:Add|Update|Delete) File: (.+?)\\+n", patch))
    told = items if any(role == "user" for role, _ in items) else events
    for role, text in told:
        (raw.asked if role in ("user", "user_message") else raw.answered).append(text)
    return raw


def gemini_cli(path: Path) -> Raw:
    raw = Raw()
    text = path.read_text("utf-8", "replace")
    records = [json.loads(text)] if path.suffix == ".json" else list(_lines(path))
    told: dict[str, Record] = {}
    raw.times += [each.get("startTime", "") for each in records]
    for each in records:
        inside = each.get("$set", each).get("messages")
        for message in inside if isinstance(inside, list) else [each]:
            if "type" in message:
                told[str(message.get("id", len(told)))] = message
    for message in told.values():
        text = _texts(message.get("content"))
        if text and message["type"] == "user":
            raw.asked.append(text)
        elif text and message["type"] in ("gemini", "model"):
            raw.answered.append(text)
        raw.calls |= {str(call["id"]) for call in message.get("toolCalls") or [] if "id" in call}
        raw.times.append(message.get("timestamp", ""))
    raw.asked = [text for text in raw.asked if not text.startswith(("/", "<session_context>"))]
    return raw


def copilot_cli(path: Path) -> Raw:
    raw = Raw()
    for each in _lines(path):
        data = each.get("data") or {}
        raw.times.append(each.get("timestamp", ""))
        if each.get("type") == "user.message" and data.get("content"):
            raw.asked.append(data["content"])
        elif each.get("type") == "assistant.message" and data.get("content"):
            raw.answered.append(data["content"])
        elif each.get("type") == "tool.execution_start":
            raw.calls.add(str(data.get("toolCallId")))
    return raw


def copilot_chat(path: Path) -> Raw:
    raw, session = Raw(), json.loads(path.read_text("utf-8"))
    raw.titles += [session["customTitle"]] if session.get("customTitle") else []
    for request in session.get("requests", []):
        raw.asked.append(request["message"]["text"])
        for part in request.get("response", []):
            is_text = part.get("kind") == "markdownContent"
            value = part["content"]["value"] if is_text else part.get("value")
            if isinstance(value, str) and (is_text or "kind" not in part):
                raw.answered.append(value)
    return raw


def cursor(path: Path) -> Raw:
    raw = Raw()
    for each in _lines(path):
        text = _texts((each.get("message") or {}).get("content"), "text")
        if each.get("role") == "user" and text.strip():
            query = re.search(r"<user_query>(.*)</user_query>", text, re.DOTALL)
            raw.asked.append(query[1] if query else text)
        elif each.get("role") == "assistant" and text.strip():
            raw.answered.append(text)
    return raw


def aider(path: Path) -> Raw:
    """Runs of lines that begin with `####`, as Aider itself splits them."""
    raw = Raw()
    text = path.read_text("utf-8", "replace")
    for run in re.findall(r"(?:^#### .*\n)+", text, re.MULTILINE):
        asked = "\n".join(line[5:].strip() for line in run.splitlines()).strip()
        asked = re.sub(r"^/(ask|code|architect|context|help) ", "", asked)
        if asked and asked != "<blank>" and not asked.startswith(("/", "!")):
            raw.asked.append(asked)
    raw.edited |= {
        name.strip() for name in re.findall(r"^> Applied edit to (.+)$", text, re.MULTILINE)
    }
    return raw


def opencode(path: Path) -> Raw:
    raw = Raw()
    if path.suffix != ".json":
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(
                "SELECT message.data, part.data FROM part JOIN message ON message.id = message_id"
            ).fetchall()
        pairs = [(json.loads(message), json.loads(part)) for message, part in rows]
    else:
        storage = path.parents[2]
        session = json.loads(path.read_text("utf-8"))
        raw.titles += [session["title"]]
        files = sorted((storage / "message" / session["id"]).glob("*.json"))
        messages = [json.loads(file.read_text("utf-8")) for file in files]
        pairs = [
            (message, json.loads(part.read_text("utf-8")))
            for message in messages
            for part in sorted((storage / "part" / message["id"]).glob("*.json"))
        ]
    for message, part in pairs:
        if part.get("type") == "tool":
            raw.calls.add(str(part.get("callID") or part.get("id")))
        elif part.get("type") == "text" and part.get("text"):
            (raw.asked if message["role"] == "user" else raw.answered).append(part["text"])
    return raw


def exports(path: Path) -> Raw:
    raw, told = Raw(), json.loads(path.read_text("utf-8"))
    for conversation in told if isinstance(told, list) else [told]:
        raw.titles += [conversation["title"]] if conversation.get("title") else []
        for node in conversation.get("mapping", {}).values():
            message = node.get("message") or {}
            parts = message.get("content", {}).get("parts", [])
            text = "\n".join(p if isinstance(p, str) else p.get("text", "") for p in parts)
            if text.strip() and message["author"]["role"] == "user":
                raw.asked.append(text)
            elif text.strip() and message["author"]["role"] == "assistant":
                raw.answered.append(text)
    return raw


COUNTS: dict[str, Callable[[Path], Raw]] = {
    "claude-code": claude_code, "codex": codex, "gemini-cli": gemini_cli, "cursor": cursor,
    "aider": aider, "opencode": opencode, "copilot-cli": copilot_cli, "copilot-chat": copilot_chat,
    "exports": exports,
}  # fmt: skip


# The comparison


@dataclass
class Row:
    """What was found of one format."""

    files: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def compare(self, name: str, raw: list[str], told: str, where: str) -> None:
        """Count those of the raw texts whose beginning is in what was read."""
        for text in raw:
            start = " ".join(text.split())[:_START]
            is_there = start in told
            self.counts[name] += 1
            self.counts[f"{name} found"] += is_there
            if not is_there:
                self.misses.append(f"{where}: {name}: {start}")

    def equal(self, name: str, raw: object, told: object, where: str) -> None:
        self.counts[name] += 1
        self.counts[f"{name} found"] += raw == told
        if raw != told:
            self.misses.append(f"{where}: {name}: {told!r} instead of {raw!r}")


def judge(row: Row, raw: Raw, exchanges: list[Exchange], reading: Reading, where: str) -> None:
    row.files += 1
    asked = [exchange.asked for exchange in exchanges if exchange.asked and "/" not in exchange.id]
    row.compare("questions", raw.asked, _joined(asked), where)
    row.counts["read"] += len(asked)
    row.compare("answers", raw.answered, _joined([each.answered for each in exchanges]), where)
    uses = {use.id for exchange in exchanges for use in exchange.tools}
    row.counts["calls"] += len(raw.calls)
    row.counts["calls found"] += len(raw.calls & uses)
    row.misses += [f"{where}: calls: {call}" for call in sorted(raw.calls - uses)]
    edited = {file for exchange in exchanges for use in exchange.tools for file in use.files}
    row.compare("files", sorted(raw.edited), "\n".join(edited), where)
    sessions = list(reading.sessions.values())
    if len(sessions) == 1 and raw.asked:
        title = (raw.titles or [raw.asked[0].strip().split("\n")[0]])[-1]
        row.equal("titles", title.strip()[:_START], sessions[0].title[:_START], where)
    times = sorted(time[:19] for time in raw.times if re.match(r"\d{4}-", str(time)))
    if len(sessions) == 1 and times and sessions[0].started and sessions[0].ended:
        told = [f"{time:%Y-%m-%dT%H:%M:%S}" for time in (sessions[0].started, sessions[0].ended)]
        row.equal("times", [times[0], times[-1]], told, where)
    row.unknown += Counter(
        {reason: count for reason, count in reading.skipped.items() if "unknown" in reason}
    )


def _joined(texts: list[str]) -> str:
    return "\n".join(" ".join(text.split()) for text in texts)


def transcripts(arguments: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    if arguments.home:
        for agent in OURS:
            for path in make_reader(agent).locate(arguments.home, {}):
                if isinstance(path, Path) and (agent, path.suffix) not in _NOT_COUNTED:
                    yield agent, path
        return
    for source in SOURCES:
        for path in sorted(_checkout(arguments.folder, source).glob(source.pattern)):
            yield source.agent, path


def _checkout(folder: Path, source: Source) -> Path:
    """The work tree of a repository, which is cloned if it is not there."""
    root = folder / source.repository.replace("/", "+")
    if not root.exists():
        url = f"https://github.com/{source.repository}"
        words = ["git", "clone", "--quiet", "--filter=blob:none", url, str(root)]
        if subprocess.run(words, check=False).returncode:
            print(f"left out: {source.repository} is neither in {folder} nor can it be cloned")
        else:
            subprocess.run(["git", "-C", root, "checkout", "-q", source.commit], check=True)
    return root


def measure(arguments: argparse.Namespace) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for agent, path in transcripts(arguments):
            where = str(path.relative_to(arguments.home or arguments.folder))
            file = _database(path, Path(scratch)) if path.suffix == ".sql" else path
            reading = make_reader(agent).read(file)
            exchanges = list(reading)
            judge(rows.setdefault(agent, Row()), COUNTS[agent](file), exchanges, reading, where)
    return rows


def _database(path: Path, folder: Path) -> Path:
    """The SQLite file that a script makes."""
    database = folder / f"{path.stem}.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(path.read_text("utf-8"))
    return database


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what readers find with raw records.")
    parser.add_argument("folder", type=Path, nargs="?", help="of checkouts, or for them")
    parser.add_argument("--home", type=Path, help="read the transcripts in a home instead")
    parser.add_argument("--misses", action="store_true", help="print what differs")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.folder or arguments.home):
        parser.error("name a folder of checkouts, or a --home")
    rows = measure(arguments)
    names = ("questions", "answers", "calls", "files", "titles", "times")
    print("| format | files | read | " + " | ".join(names) + " | unknown records |")
    print("|---" * (len(names) + 4) + "|")
    for agent, row in rows.items():
        found = [f"{row.counts[f'{name} found']} of {row.counts[name]}" for name in names]
        cells = [agent, row.files, row.counts["read"], *found, row.unknown.total()]
        print(f"| {' | '.join(map(str, cells))} |")
    if arguments.misses:
        for agent, row in rows.items():
            print(*(f"{agent}: {miss}" for miss in row.misses), sep="\n")
            print(f"{agent}: {dict(row.unknown)}")
    if arguments.save:
        table = {
            agent: {"files": row.files, **row.counts, "unknown": row.unknown}
            for agent, row in rows.items()
        }
        commits = {source.repository: source.commit for source in SOURCES}
        record.save("transcripts", {"repositories": commits, "formats": table})


if __name__ == "__main__":
    main()
