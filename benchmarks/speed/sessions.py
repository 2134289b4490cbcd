"""How long an import of agents' sessions takes, and a search in what it stored.

    python benchmarks/speed/sessions.py [--sessions 20000] [--folder PATH]

Histories are generated in the files of Claude Code: 57 messages a session on average (1.15 million
in 20,000 sessions), and shares of text as measured in real ones: uses of tools 40 %, their outcomes
26 %, questions 21 %, thoughts 9 %, answers 4 %. Their words are those of real code. One project is
asked; the sessions are those of twenty.

    import       until everything is found by words, and until all quick vectors are made; `cpu_s`
                 counts all threads
    again        a second import of the unchanged files
    followed     a third one, after one exchange was added to the longest file
    search       p50 and p95 of warm searches, ten results, in the memory of sessions, and in one
                 with as many chunks of code (`corpus.py`)

Every step is a process of its own; `peak` is the most memory that it ever had. A complete run
(20,000 sessions) writes its result.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import corpus

from aurora import Memory
from aurora.config import Places
from aurora.indexing.embedding import embed_missing
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import EMBEDDING, Event, Progress

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import make_embedder

COMPLETE = 20_000  # sessions
QUICK = "aurora:shallow"  # what an import uses for so many
MESSAGES, PROJECTS, QUESTIONS = 57, 20, 200
LENGTHS = {"asked": 900, "thought": 130, "answer": 320, "input": 560, "outcome": 370}  # characters
FIRST_DAY = datetime(2025, 11, 1, tzinfo=UTC)
COMMANDS = (
    "pytest -q tests/{}.py",
    "make {}",
    "git commit -am '{}'",
    "npm run {}",
    "cargo test {}",
)
_NAME = re.compile(r"[a-z_]{5,}")


class Histories:
    """Generated transcripts. The same seed gives the same words."""

    def __init__(self, folder: Path) -> None:
        self._draw = random.Random(corpus.SEED)  # noqa: S311 - not for secrets
        lines = (
            line.strip() for chunk in islice(corpus.real_chunks(), 10_000)
            for line in chunk.content.splitlines()
        )  # fmt: skip
        self._lines = [line for line in lines if 20 < len(line) < 200]
        self._names = sorted({name for line in self._lines for name in _NAME.findall(line)})
        self._folder = folder

    def write(self, sessions: int) -> int:
        """Write the files; the number of messages."""
        return sum(self._write_session(number) for number in range(sessions))

    def _write_session(self, number: int) -> int:
        project = f"/home/ada/project{number % PROJECTS}"
        folder = self._folder / ".claude" / "projects" / project.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        session = self._id()
        start = FIRST_DAY + timedelta(minutes=25 * number)
        wanted = max(4, int(self._draw.expovariate(1 / MESSAGES)))
        messages = list(islice(self._messages(), wanted))
        with (folder / f"{session}.jsonl").open("w", encoding="utf-8") as file:
            for at, (kind, message) in enumerate(messages):
                facts = {
                    "type": kind, "uuid": self._id(), "sessionId": session, "cwd": project,
                    "gitBranch": "main", "version": "2.1.0", "isSidechain": False,
                    "timestamp": (start + timedelta(seconds=20 * at)).isoformat(),
                    "message": message,
                }  # fmt: skip
                file.write(json.dumps(facts) + "\n")
        return wanted

    def exchange(self) -> Iterator[tuple[str, object]]:
        """The messages of an exchange: a question, tools with their outcomes, an answer."""
        yield "user", {"role": "user", "content": self._text("asked")}
        for _ in range(self._draw.randint(1, 4)):
            tool, is_command = self._id(), self._draw.random() < 0.4
            word = self._draw.choice(self._names)
            given = {"command": self._draw.choice(COMMANDS).format(word)}
            if not is_command:
                given = {
                    "file_path": f"src/{word}.py", "old_string": self._text("input"),
                    "new_string": self._text("input"),
                }  # fmt: skip
            yield "assistant", _said(
                {"type": "thinking", "thinking": self._text("thought")},
                {"type": "tool_use", "id": tool, "name": "Bash" if is_command else "Edit",
                 "input": given},
            )  # fmt: skip
            outcome = {
                "type": "tool_result", "tool_use_id": tool, "content": self._text("outcome"),
                "is_error": is_command and self._draw.random() < 0.2,
            }  # fmt: skip
            yield "user", {"role": "user", "content": [outcome]}
        yield "assistant", _said({"type": "text", "text": self._text("answer")})

    def _messages(self) -> Iterator[tuple[str, object]]:
        while True:
            yield from self.exchange()

    def _text(self, kind: str) -> str:
        length, lines = self._draw.expovariate(1 / LENGTHS[kind]), list[str]()
        while not lines or sum(map(len, lines)) < length:
            lines.append(self._draw.choice(self._lines))
        return "\n".join(lines)

    def _id(self) -> str:
        return str(uuid.UUID(int=self._draw.getrandbits(128), version=4))


def _said(*blocks: object) -> dict[str, object]:
    return {"role": "assistant", "model": "claude-opus-4-5", "content": list(blocks)}


# The steps, each in a process of its own


def import_all(home: Path) -> dict[str, object]:
    """Import what is new, without an environment that moves folders."""
    began, searchable = time.perf_counter(), list[float]()
    worked = time.process_time()

    def hear(event: Event) -> None:
        if isinstance(event, Progress) and event.task == EMBEDDING and not searchable:
            searchable.append(time.perf_counter() - began)

    with closing(_memory(home)) as memory:
        report = memory.sessions.import_(["claude-code"], quick=True, listen=hear)
    total = time.perf_counter() - began
    return {
        "words_s": round((searchable or [total])[0], 2), "all_s": round(total, 2),
        "cpu_s": round(time.process_time() - worked, 2),
        "exchanges": report.exchanges, "read": report.read, "peak_mb": _peak_mb(),
    }  # fmt: skip


def import_code(home: Path, chunks: int) -> dict[str, object]:
    """Make a memory of so many chunks of code."""
    with closing(SQLiteStore(home / "memory.db")) as store:
        store.chunks.put_chunks(corpus.chunks(chunks))
        embed_missing(store, make_embedder(QUICK, Path()))
    return {"chunks": chunks}


def search(home: Path) -> dict[str, object]:
    """Ask every question twice; the second time counts."""
    times = []
    with closing(_memory(home)) as memory:
        for question in [*corpus.questions()[:QUESTIONS]] * 2:
            began = time.perf_counter()
            memory.search(question.text, limit=10)
            times.append(1000 * (time.perf_counter() - began))
        chunks = sum(memory.stats().chunks.values())
    warm = sorted(times[len(times) // 2 :])
    return {
        "chunks": chunks, "p50_ms": round(statistics.median(warm), 2),
        "p95_ms": round(warm[int(0.95 * len(warm))], 2), "peak_mb": _peak_mb(),
    }  # fmt: skip


def _memory(home: Path) -> Memory:
    return Memory(Places(home))


def _peak_mb() -> float:
    """The most memory of this process; what `getrusage` tells begins with that of its parent."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0  # another system
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return round(int(peak.split()[1]) / 1024, 1)


def in_process(step: str, home: Path, *more: str) -> dict[str, object]:
    environ = {name: value for name, value in os.environ.items() if "CLAUDE" not in name}
    environ["HOME"] = str(home.parent)
    argv = [sys.executable, __file__, "--step", step, "--folder", str(home), *more]
    printed = subprocess.run(argv, check=True, env=environ, stdout=subprocess.PIPE, text=True)
    measured: dict[str, object] = json.loads(printed.stdout.splitlines()[-1])
    print(step, measured, flush=True)
    return measured


def measure(folder: Path, sessions: int) -> dict[str, object]:
    histories, home, other = Histories(folder), folder / ".aurora", folder / "code" / ".aurora"
    messages = histories.write(sessions)
    files = sorted((folder / ".claude").rglob("*.jsonl"), key=lambda file: file.stat().st_size)
    size = round(sum(file.stat().st_size for file in files) / 1e6, 1)
    print(f"{sessions:,} sessions, {messages:,} messages, {size:,} MB", flush=True)
    steps = {"import": in_process("import", home), "again": in_process("import", home)}
    _append(files[-1], histories)
    steps["followed"] = in_process("import", home)
    steps["search"] = found = in_process("search", home)
    in_process("code", other, f"--sessions={found['chunks']}")
    steps["search in code"] = in_process("search", other)
    return {"sessions": sessions, "messages": messages, "mb": size, "steps": steps}


def _append(file: Path, histories: Histories) -> None:
    """Add an exchange, with the facts of the last record."""
    facts = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    with file.open("a", encoding="utf-8") as out:
        for kind, message in histories.exchange():
            added = {**facts, "type": kind, "uuid": str(uuid.uuid4()), "message": message}
            out.write(json.dumps(added) + "\n")


STEPS = {"import": import_all, "search": search}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=COMPLETE)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--step", choices=["code", *STEPS], help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.step == "code":
        print(json.dumps(import_code(given.folder, given.sessions)))
    elif given.step:
        print(json.dumps(STEPS[given.step](given.folder)))
    else:
        corpus.fetch_packages()
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            measured = measure(Path(folder), given.sessions)
        if given.sessions >= COMPLETE:
            record.save("session-import", measured)


if __name__ == "__main__":
    main()
