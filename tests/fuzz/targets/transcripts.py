"""What agents write: the first line names the agent, the rest is its transcript. It is read and cut
into chunks that a store can hold, and what is left out is counted."""

from __future__ import annotations

import json

from aurora.indexing.session_chunks import exchange_chunks
from aurora.redaction import Redactor
from aurora.sources.sessions.base import Options
from aurora.sources.sessions.readers import OURS, make_reader
from tests.fuzz.inputs import head_and_rest, scratch_file

_NAMES = {
    "cursor": "{}.jsonl",
    "cursor-editor": "state.vscdb",
    "opencode": "opencode.db",
    "opencode-files": "{}.json",
    "gemini-cli-whole": "{}.json",
    "copilot-chat-whole": "{}.json",
    "aider": ".aider.chat.history.md",
    "exports": "conversations.json",
    "codex-packed": "rollout-{}.jsonl.zst",
}


def check(data: bytes) -> None:
    head, rest = head_and_rest(data)
    agent = next((name for name in OURS if head.startswith(name)), "claude-code")
    path = scratch_file(_NAMES.get(head, "{}.jsonl").format("s"), rest)
    reading = make_reader(agent).read(path, options=Options(thinking=True))
    for exchange in reading:
        session = reading.sessions[exchange.session]
        for chunk in exchange_chunks(session, exchange, Redactor()):
            texts = [chunk.id, chunk.name, chunk.qualified_name, chunk.content]
            "".join([*texts, json.dumps(dict(chunk.metadata), allow_nan=False)]).encode()
            assert chunk.content.strip()
    assert all(reason.strip() and count > 0 for reason, count in reading.skipped.items())
    if reading.offset is not None and path.suffix == ".jsonl":
        again = make_reader(agent).read(path, reading.offset)
        list(again)
        assert not again.restarted
