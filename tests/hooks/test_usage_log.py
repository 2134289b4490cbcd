"""The log of numbers, and `aur savings`, which adds it up."""

from __future__ import annotations

import json
import multiprocessing
import time
from pathlib import Path

from aurora.display.usage_table import UsageLine, render_savings, summarize
from aurora.usage_log import UsageRecord, memory_key, read_usage, write_usage
from tests.hooks.conftest import Shop

RECORD = UsageRecord(1_800_000_000.5, "hook", "codex", "Stop", "follow", 12, rows=3, memory="a1b2")


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    failed = RECORD._replace(error="StoreError", tokens=7, left_out=2, whole=9)
    write_usage(tmp_path, RECORD)
    write_usage(tmp_path, failed)
    assert [*read_usage(tmp_path)] == [RECORD, failed]


def test_what_is_no_record_is_left_out(tmp_path: Path) -> None:
    write_usage(tmp_path, RECORD)
    file = tmp_path / "logs" / "calls.jsonl"
    junk = ('{"time": 1', "[]", '{"time": 1.0}', "7", "\0", '{"time":"x","door":"mcp","rows":"y"}')
    file.write_text("\n".join([*junk, file.read_text()]))
    assert RECORD in [*read_usage(tmp_path)]
    assert len([*read_usage(tmp_path)]) == 2


def test_it_never_grows_beyond_two_files_of_a_megabyte(tmp_path: Path) -> None:
    for _ in range(20_000):
        write_usage(tmp_path, RECORD)
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "logs").iterdir()}
    assert sizes.keys() == {"calls.jsonl", "calls.jsonl.1"}
    assert max(sizes.values()) < 1_000_500
    assert len([*read_usage(tmp_path)]) > 7_000


def _write(home: Path) -> None:
    for _ in range(3_000):
        write_usage(home, RECORD)


def test_processes_side_by_side_keep_their_lines_whole(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write, args=(tmp_path,)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [*read_usage(tmp_path)] == [RECORD] * 9_000


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "calls.jsonl").symlink_to(tmp_path / "elsewhere")
    write_usage(tmp_path, RECORD)
    assert not (tmp_path / "elsewhere").exists()


def test_calls_are_added_up_by_kind() -> None:
    prompt = RECORD._replace(moment="prompt", tokens=100, milliseconds=10)
    silent = prompt._replace(tokens=0, milliseconds=30)
    unknown = RECORD._replace(moment="", error="UnknownEventError")
    tool = UsageRecord(1_800_000_001.0, "mcp", "", "search_code", tokens=50, whole=900)
    assert summarize([prompt, tool, silent, unknown]) == [
        UsageLine("hook", "no event", 1, 0, 0, 12, 1),
        UsageLine("hook", "prompt", 2, 1, 100, 20, 0),
        UsageLine("mcp", "search_code", 1, 1, 50, 0, 0),
    ]
    text = render_savings([prompt, tool])
    assert "150 tokens, 50 of them by tools" in text
    assert "900 tokens" in text
    assert "Estimate, from above" in text


def test_the_command_shows_a_memory_or_all_and_the_last_days(shop: Shop) -> None:
    assert shop.shell.ok("savings").startswith("No agent has asked yet")
    here = RECORD._replace(time=time.time(), memory=memory_key(shop.folder / ".aurora"))
    write_usage(shop.home, RECORD._replace(time=here.time - 100_000))
    write_usage(shop.home, here)

    def calls(*words: str) -> int:
        told = json.loads(shop.shell.ok("savings", "--json", *words))
        return sum(line["calls"] for line in told["calls"])

    assert (calls(), calls("--here"), calls("--days", "1")) == (2, 1, 1)
    assert "hook follow" in shop.shell.ok("savings")
