"""A record that is damaged, lost or out of place costs at most the exchange that it belongs to.

All others are found with the same ids, so that nothing is stored twice when a file is damaged, or
read while it is written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from aurora.sources.sessions.base import Exchange
from tests.sources.sessions.samples import (
    HERE,
    Sample,
    gemini_sample,
    ids,
    jsonl_samples,
    make_database,
    read,
)

CHATS = HERE / "home/.config/Code/User/workspaceStorage/ab12/chatSessions"
SAMPLES = [
    *jsonl_samples(),
    Sample("gemini-cli", gemini_sample()),
    *(Sample("copilot-chat", path) for path in CHATS.glob("*.jsonl")),
    Sample("aider", HERE / "project/.aider.chat.history.md"),
]
NAMES = [f"{sample.agent}-{sample.path.stem[-12:]}" for sample in SAMPLES]
HEADS = (b"# aider chat started at", b'{"kind":0')  # what all that follows belongs to

Damage = Callable[[list[bytes], int], list[bytes]]


def replaced_by(junk: bytes) -> Damage:
    return lambda lines, at: [*lines[:at], junk, *lines[at + 1 :]]


ONE_IS_LOST: dict[str, Damage] = {
    "dropped": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "an unknown type": replaced_by(b'{"type":"zzz","id":"z","message":{"role":"z"}}\n'),
    "no object": replaced_by(b'[[1],"a"]\n'),
    "binary": replaced_by(bytes(range(128, 256)) + b'\0\1{"a":"\xff\n'),
    "nested deeply": replaced_by(b'{"type":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"),
    "torn": lambda lines, at: [
        *lines[:at],
        lines[at][: len(lines[at]) // 2] + b"\n",
        *lines[at + 1 :],
    ],
}
TWO_ARE_LOST: dict[str, Damage] = {
    "joined with the next": lambda lines, at: [*lines[:at], lines[at].rstrip(), *lines[at + 1 :]],
    "torn in the middle of both": lambda lines, at: [
        *lines[:at], lines[at][: len(lines[at]) // 2],
        *(line[len(line) // 2 :] for line in lines[at + 1 : at + 2]), *lines[at + 2 :],
    ],
    "swapped with the next": lambda lines, at: [
        *lines[:at], *lines[at + 1 : at + 2], lines[at], *lines[at + 2 :],
    ],
}  # fmt: skip
NONE_IS_LOST: dict[str, Damage] = {
    "doubled": lambda lines, at: [*lines[:at], lines[at], *lines[at:]],
    "after a huge record": lambda lines, at: [
        *lines[:at], b'{"type":"zzz","text":"' + b"x" * 300_000 + b'"}\n', *lines[at:],
    ],
    "after an empty line": lambda lines, at: [*lines[:at], b"\n", *lines[at:]],
}  # fmt: skip


def exchanges_in(sample: Sample, folder: Path, lines: Sequence[bytes]) -> list[Exchange]:
    """What is in these lines, under the sample's name and folders."""
    path = folder / sample.path.relative_to(sample.path.anchor)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return read(Sample(sample.agent, path))[0]


def owners(sample: Sample, folder: Path, lines: Sequence[bytes]) -> list[set[str]]:
    """The exchange that each record belongs to: the last one that is there when it was read.

    Where there are no ids, questions with the same text are told apart by their number only.
    """
    whole = exchanges_in(sample, folder, lines)
    found = []
    for end in range(1, len(lines) + 1):
        until = exchanges_in(sample, folder, lines[:end])
        last = [*until[-1:], *whole[len(until) - 1 :][:1]] if until else []
        same = [each for each in whole if each.asked in {one.asked for one in last}]
        found.append(set(ids([*last, *same])))
    return found


@pytest.mark.parametrize("name", [*NONE_IS_LOST, *ONE_IS_LOST, *TWO_ARE_LOST])
@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_all_other_exchanges_are_found_with_their_ids(
    sample: Sample, name: str, tmp_path: Path
) -> None:
    lines = sample.path.read_bytes().splitlines(keepends=True)
    whole, own = set(ids(exchanges_in(sample, tmp_path, lines))), owners(sample, tmp_path, lines)
    damage = ({**NONE_IS_LOST, **ONE_IS_LOST, **TWO_ARE_LOST})[name]
    lost = 0 if name in NONE_IS_LOST else 1 if name in ONE_IS_LOST else 2
    if sample.agent == "aider":  # any line between those of a question changes it
        lost = max(lost, 1)
    for at in range(len(lines)):
        touched = range(at, min(at + lost, len(lines)))
        if any(lines[each].startswith(HEADS) for each in touched):
            continue
        found = set(ids(exchanges_in(sample, tmp_path, damage(lines, at))))
        belonging = set().union(*(own[each] for each in touched))
        assert whole - belonging <= found, f"record {at}: {lines[at][:200]!r}"
        assert lost or found == whole, f"record {at}: {lines[at][:200]!r}"


@pytest.mark.parametrize(
    ("agent", "table", "column"),
    [("cursor", "cursorDiskKV", "value"), ("opencode", "message", "data"),
     ("opencode", "part", "data"), ("opencode", "session_message", "data")],
)  # fmt: skip
@pytest.mark.parametrize("junk", ["{", "[]", '{"type":"zzz"}', b"\xff\0", None, "[" * 90_000])
def test_a_damaged_row_costs_at_most_its_exchange(
    agent: str, table: str, column: str, junk: str | bytes | None, tmp_path: Path
) -> None:
    name = "state.vscdb" if agent == "cursor" else "opencode.db"
    whole = ids(read(make_database(agent, tmp_path / "whole" / name), agent)[0])
    with closing(sqlite3.connect(tmp_path / "whole" / name)) as connection:
        keys = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    for row, value in keys:
        if "fullConversationHeadersOnly" in str(value) or '"conversation"' in str(value):
            continue  # the list of all messages of a chat
        path = make_database(agent, tmp_path / str(row) / name)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?",
                (junk, row),
            )
            connection.commit()
        found = ids(read(path, agent)[0])
        assert len(set(whole) - set(found)) <= 1


@pytest.mark.parametrize("kind", ["claude", "chatgpt"])
def test_a_damaged_conversation_of_an_export_costs_only_itself(kind: str, tmp_path: Path) -> None:
    conversation, *_ = json.loads((HERE / f"exports/{kind}/conversations.json").read_text())
    text = json.dumps(conversation)
    texts = [text.replace('"h-', f'"{n}-h-').replace('"n-', f'"{n}-n-') for n in range(5)]
    path = tmp_path / "conversations.json"
    for junk in ('{"mapping": 7}', '{"chat_messages": {"a": [1]}}', "7", "[[]]", '"{"', "{]"):
        path.write_text(f"[{texts[0]}, {texts[1]}, {junk}, {texts[3]}, {texts[4]}]")
        assert len(set(ids(read(path, "exports")[0]))) == 4, junk
