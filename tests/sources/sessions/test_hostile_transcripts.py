"""Whatever is in a transcript, the reading ends, and what it yields can be stored."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.indexing.session_chunks import exchange_chunks
from aurora.redaction import Redactor
from aurora.sources.sessions.base import Reading
from aurora.sources.sessions.exports import iter_elements
from aurora.sources.sessions.jsonl import MAX_RECORD
from aurora.sources.sessions.readers import make_reader
from tests.properties import examples
from tests.sources.sessions.samples import (
    HERE,
    Sample,
    gemini_sample,
    ids,
    jsonl_samples,
    make_database,
    read,
)

JUNK: list[object] = [
    None, True, False, 0, -1, 3.5, float("nan"), float("inf"), 10**30, -(10**400), "", " ", "x",
    "\ud800", "\0", "\x1b[31mred", "2026-99-99T99:99:99Z", "/", "<system-reminder>",
    "*** Begin Patch",
    [], {}, [None], [[]], [{}], [1, "a", None], {"type": "text"}, {"type": "tool_use"},
    {"type": "tool_result", "content": [{"text": 3}]}, {"": ""}, "{", "[1", '{"command": ["a", 1]}',
]  # fmt: skip
CHATS = HERE / "home/.config/Code/User/workspaceStorage/ab12/chatSessions"
SAMPLES = [
    *jsonl_samples(),
    Sample("gemini-cli", gemini_sample()),
    *(Sample("copilot-chat", path) for path in CHATS.glob("*.jsonl")),
]
DOCUMENTS = [
    *(Sample("copilot-chat", path) for path in CHATS.glob("*.json")),
    *(Sample("exports", path) for path in sorted((HERE / "exports").rglob("*.json"))),
    *(Sample("gemini-cli", path) for path in (HERE / "home/.gemini/tmp/3d9e/chats").iterdir()),
]


def spoil(value: object, chance: random.Random) -> object:
    """The value with some of what is in it replaced by anything."""
    if chance.random() < 0.06:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoil(inner, chance) for key, inner in value.items() if chance.random() > 0.02}
    if isinstance(value, list):
        return [spoil(inner, chance) for inner in value]
    return value


def stores_all(sample: Sample) -> int:
    """Read all and cut it; returns the number of chunks. Whatever cannot be stored is an error."""
    exchanges, reading = read(sample, thinking=True)
    redactor, count = Redactor(), 0
    for exchange in exchanges:
        assert exchange.id.partition(":")[2]
        session = reading.sessions[exchange.session]
        for chunk in exchange_chunks(session, exchange, redactor):
            stored = [chunk.id, chunk.name, chunk.qualified_name, chunk.content]
            "".join([*stored, json.dumps(dict(chunk.metadata), allow_nan=False)]).encode()
            assert "\0" not in "".join(stored)
            count += 1
    return count


fuzzed = settings(
    max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.agent}-{sample.path.stem}")
@fuzzed
@given(seed=st.integers(0, 2**32))
def test_anything_in_the_fields_of_a_record(tmp_path: Path, sample: Sample, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    records = [json.loads(line) for line in sample.path.read_bytes().splitlines()]
    path = tmp_path / sample.path.name
    lines = [json.dumps(spoil(record, chance)) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")

    stores_all(Sample(sample.agent, path))


@pytest.mark.parametrize("sample", DOCUMENTS, ids=lambda sample: sample.agent)
@fuzzed
@given(seed=st.integers(0, 2**32))
def test_anything_in_a_json_document(tmp_path: Path, sample: Sample, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    spoiled = spoil(json.loads(sample.path.read_bytes()), chance)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(spoiled), encoding="utf-8")

    stores_all(Sample(sample.agent, path))


@pytest.mark.parametrize(
    ("agent", "table", "column"),
    [("cursor", "cursorDiskKV", "value"), ("opencode", "message", "data"),
     ("opencode", "part", "data"), ("opencode", "session_message", "data")],
)  # fmt: skip
@fuzzed
@given(seed=st.integers(0, 2**32))
def test_anything_in_the_rows_of_a_database(
    tmp_path: Path, agent: str, table: str, column: str, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311
    path = tmp_path / "opencode.db"
    path.unlink(missing_ok=True)
    make_database(agent, path)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        for row, value in rows:
            try:
                told = json.dumps(spoil(json.loads(value), chance))
            except (TypeError, ValueError):
                continue
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (told, row))
        connection.commit()

    stores_all(Sample(agent, path))


@pytest.mark.parametrize(
    "agent", ["aider", "claude-code", "codex", "gemini-cli", "exports", "cursor"]
)
@fuzzed
@given(
    content=st.binary(max_size=300)
    | st.text(alphabet='#> `~\n/ab{}[]":,\\', max_size=300).map(str.encode)
)
def test_any_bytes(tmp_path: Path, agent: str, content: bytes) -> None:
    path = tmp_path / ("state.vscdb" if agent == "cursor" else "a.jsonl")
    path.write_bytes(
        (b"# aider chat started at 2026-03-02 13:00:00\n" * (agent == "aider")) + content
    )

    stores_all(Sample(agent, path))


def test_a_record_that_is_too_large_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"{}"}}}}\n'
    path.write_text(
        record.format("a", "first")
        + record.format("b", "x" * MAX_RECORD)
        + record.format("c", "last"),
        encoding="utf-8",
    )

    exchanges, reading = read(path, "claude-code")

    assert [exchange.asked for exchange in exchanges] == ["first", "last"]
    assert reading.skipped == {"a record over 16 MiB": 1}


def test_lines_that_are_no_records_are_counted_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"{}"}}}}'
    deep = "[" * 100_000 + "]" * 100_000
    lines = ["\ufeff" + record.format("a", "one"), "", "oops", "7", deep, record.format("b", "two")]
    path.write_bytes(
        "\n".join(lines).encode() + b"\n" + record.format("c", "\xff").encode("latin-1")
    )

    exchanges, reading = read(path, "claude-code")

    assert [exchange.asked for exchange in exchanges] == ["one", "two", "\ufffd"]
    assert reading.skipped == {"not JSON": 2, "not an object": 1}


def test_a_record_after_zeros_is_read(tmp_path: Path) -> None:
    """A crash of the machine leaves zeros where a record was to be written."""
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"{}"}}}}\n'
    path.write_text(record.format("a", "one") + "\0" * 9000 + record.format("b", "two"), "utf-8")

    exchanges, reading = read(path, "claude-code")

    assert [exchange.asked for exchange in exchanges] == ["one", "two"]
    assert reading.skipped == {}


def test_different_reasons_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(f'{{"type":"t{n}"}}' for n in range(300)) + "\n", encoding="utf-8")

    _, reading = read(path, "claude-code")

    assert len(reading.skipped) == 101
    assert reading.skipped.total() == 300


@pytest.mark.parametrize(
    "agent", ["claude-code", "gemini-cli", "aider", "exports", "cursor", "opencode"]
)
def test_what_is_not_there_or_is_a_folder_is_a_reason_and_no_error(
    tmp_path: Path, agent: str
) -> None:
    for path in (tmp_path / "gone.jsonl", tmp_path / "gone.db", tmp_path):
        exchanges, reading = read(path, agent)
        assert exchanges == []
        (reason,) = reading.skipped
        assert reason.startswith("unreadable")


def test_a_database_of_another_program_and_a_damaged_one_are_reasons(tmp_path: Path) -> None:
    other, damaged = tmp_path / "other.db", tmp_path / "damaged.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (id)")
    make_database("opencode", damaged)
    damaged.write_bytes(damaged.read_bytes()[:6000] + b"\xff" * 5000)

    assert read(other, "opencode")[1].skipped == {"unreadable: it has no sessions": 1}
    assert read(other, "cursor")[1].skipped == {}
    assert read(damaged, "opencode")[1].skipped


def test_a_database_in_a_folder_that_may_not_be_written_to_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "readonly"
    path = make_database("cursor", folder / "state.vscdb")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    path.chmod(0o400)
    folder.chmod(0o500)
    try:
        assert len(read(path, "cursor")[0]) == 2
    finally:
        folder.chmod(0o700)


def test_a_database_is_read_while_another_program_writes_to_it(tmp_path: Path) -> None:
    path = make_database("opencode", tmp_path / "opencode.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE session_v2 SET title = 'Shipping' WHERE id = 'ses_1'")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM session_v2")

        exchanges, reading = read(path, "opencode")

        writer.execute("ROLLBACK")
    assert len(exchanges) == 4
    assert reading.sessions["ses_1"].title == "Shipping"
    assert reading.skipped == {}


def elements(text: bytes, size: int) -> tuple[list[bytes], Reading]:
    class Blocks(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(size)

    reading = Reading(lambda _: iter(()))
    return list(iter_elements(Blocks(text), reading)), reading


@given(
    st.lists(st.dictionaries(st.text(alphabet='a"\\{}[]', max_size=4),
             st.recursive(st.text(alphabet='a"\\{}[],', max_size=5), st.lists, max_leaves=4),
             max_size=3), max_size=4),
    st.integers(1, 9),
)  # fmt: skip
def test_the_elements_of_an_array_are_found_without_parsing(
    values: list[object], size: int
) -> None:
    for text in (
        json.dumps(values),
        json.dumps({"a": 1, "conversations": values, "b": {}}, indent=1),
    ):
        found, reading = elements(text.encode(), size)
        assert [json.loads(element) for element in found] == values
        assert reading.skipped == {}


def test_an_export_that_is_torn_gives_its_whole_conversations() -> None:
    found, reading = elements(b'[{"a": 1}, {"b": [2', 4)
    assert found == [b'{"a": 1}']
    assert reading.skipped == {"an incomplete last record": 1}


def test_an_archive_that_is_damaged_is_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(HERE / "exports/claude/conversations.json", "conversations.json")
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(30)
    path.write_bytes(content)

    (reason,) = read(path, "exports")[1].skipped
    assert reason.startswith("unreadable")


def test_tags_that_are_never_closed_take_linear_time(tmp_path: Path) -> None:
    """Quadratic time would be minutes."""
    path = tmp_path / "s.jsonl"
    text = "<system-reminder>" * 200_000
    path.write_text(
        json.dumps({"type": "user", "uuid": "a", "message": {"content": text}}), encoding="utf-8"
    )

    ((exchange,), _) = read(path, "claude-code")

    assert exchange.asked.startswith("<system-reminder>")


@pytest.mark.parametrize("name", ["message", "data", "payload", "content", "v"])
@pytest.mark.parametrize(
    "agent", ["claude-code", "codex", "copilot-cli", "gemini-cli", "copilot-chat"]
)
def test_records_that_are_nearly_nested_too_deeply(tmp_path: Path, agent: str, name: str) -> None:
    """Whatever depth the parser accepts, what comes after it accepts, too."""
    limit = sys.getrecursionlimit()
    kinds = ["user", "assistant", "response_item", "user.message", "tool.execution_start", "gemini"]
    lines = [
        f'{{"type":"{kinds[depth % len(kinds)]}","kind":0,"{name}":{"[" * depth}{"]" * depth}}}'
        for depth in range(limit - 150, limit + 20)
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")

    stores_all(Sample(agent, path))


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("cursor", "<user_query>" + " " * 200_000 + "x"),
        ("cursor", "<user_query>" * 50_000),
        ("claude-code", "<command-name>" * 50_000),
        ("claude-code", "``` \n" * 50_000),
        ("codex", "*** Add File: " + " " * 200_000 + "x"),
    ],
)
def test_no_text_takes_quadratic_time(tmp_path: Path, agent: str, text: str) -> None:
    """Quadratic time would be minutes."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": text}
    path = tmp_path / "s.jsonl"
    path.write_text(
        json.dumps({"type": "user", "uuid": "a", "role": "user", "message": message})
        + "\n"
        + json.dumps({"type": "response_item", "payload": call})
        + "\n",
        encoding="utf-8",
    )

    stores_all(Sample(agent, path))


def large(path: Path, calls: int, *, each: int = 100) -> Path:
    """A transcript as agents write it: a question, then many calls with long outcomes."""
    chance = random.Random(7)  # noqa: S311
    words = ["error", "ok", "src/a.py", "Compiling", "0.12s", "warning:", "unused"]
    lines = [" ".join(chance.choices(words, k=40)) for _ in range(50)]

    def records(number: int) -> Iterator[dict[str, object]]:
        if number % each == 0:
            yield {"type": "user", "message": {"content": f"Question {number}"}}
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"cmd": "make"}}
        yield {"type": "assistant", "message": {"content": [call]}}
        text = "\n".join(chance.choices(lines, k=35))
        told = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        yield {"type": "user", "message": {"content": [told]}}

    with path.open("w", encoding="utf-8") as file:
        for number in range(calls):
            for part, record in enumerate(records(number)):
                file.write(json.dumps({"uuid": f"{number}-{part}", **record}) + "\n")
    return path


def test_a_large_transcript_is_read_with_bounded_memory(tmp_path: Path) -> None:
    path = large(tmp_path / "large.jsonl", 5200)
    assert path.stat().st_size > 50_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in make_reader("claude-code").read(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert count == 52
    assert peak < 12_000_000


def test_one_endless_exchange_comes_in_parts(tmp_path: Path) -> None:
    exchanges, _ = read(large(tmp_path / "s.jsonl", 250, each=250), "claude-code")

    assert [len(exchange.tools) for exchange in exchanges] == [100, 100, 50]
    assert [exchange.asked for exchange in exchanges] == ["Question 0"] * 3
    assert ids(exchanges) == [
        "claude-code:0-0", "claude-code:0-0/t100", "claude-code:0-0/t200",
    ]  # fmt: skip
