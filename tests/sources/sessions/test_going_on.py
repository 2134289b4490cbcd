"""A transcript grows while it is read: nothing whole is lost, and nothing is told twice."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aurora.sources.sessions.base import Exchange, Offset
from aurora.sources.sessions.readers import make_reader
from tests.properties import examples
from tests.sources.sessions.samples import (
    Sample,
    claude_sample,
    gemini_sample,
    ids,
    jsonl_samples,
    read,
)

CopyOf: TypeAlias = Callable[[Sample, bytes], Sample]

SAMPLES = jsonl_samples()
NAMES = [f"{sample.agent}-{sample.path.stem[-12:]}" for sample in SAMPLES]


def borders(content: bytes) -> list[int]:
    """The ends of all records, and 0."""
    return [0, *(at + 1 for at, byte in enumerate(content) if byte == ord("\n"))]


@pytest.fixture
def copy_of(tmp_path: Path) -> CopyOf:
    """Makes a transcript of the first bytes of a sample, under its name."""

    def make(sample: Sample, content: bytes) -> Sample:
        path = tmp_path / sample.path.relative_to(sample.path.anchor)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_772_445_600, 1_772_445_600))  # the only time in a transcript of Cursor
        return Sample(sample.agent, path)

    return make


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_exchanges_of_whole_records_stay_wherever_the_file_is_torn(
    sample: Sample, copy_of: CopyOf
) -> None:
    content, (whole, _) = sample.path.read_bytes(), read(sample)
    ends = borders(content)
    for start, end in itertools.pairwise(ends):
        until, reading = read(copy_of(sample, content[:start]))
        assert "an incomplete last record" not in reading.skipped
        assert until[:-1] == whole[: len(until[:-1])]
        for cut in (start + 1, (start + end) // 2, end - 2):
            torn, reading = read(copy_of(sample, content[:cut]))
            assert torn == until
            assert reading.skipped["an incomplete last record"] == 1
        assert (
            read(copy_of(sample, content[: end - 1]))[0] == read(copy_of(sample, content[:end]))[0]
        )  # a record without its line end is whole


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_is_appended_gives_what_is_read_at_once(
    sample: Sample, copy_of: CopyOf, data: st.DataObject
) -> None:
    content = sample.path.read_bytes()
    places = st.integers(0, len(content)) | st.sampled_from(borders(content))
    cuts = sorted(data.draw(st.lists(places, min_size=1, max_size=3)))
    told: dict[str, Exchange] = {}
    offset: Offset | None = None
    for cut in [*cuts, len(content)]:
        exchanges, reading = read(copy_of(sample, content[:cut]), since=offset)
        told |= {exchange.id: exchange for exchange in exchanges}
        assert not reading.restarted
        offset = reading.offset

    whole, at_once = read(copy_of(sample, content))
    assert list(told.values()) == whole
    assert reading.sessions == at_once.sessions


def test_a_reading_goes_on_at_the_last_question_and_reads_nothing_before(copy_of: CopyOf) -> None:
    sample = Sample("claude-code", claude_sample())
    content = sample.path.read_bytes()
    _, first = read(copy_of(sample, content))
    assert first.offset is not None

    exchanges, reading = read(copy_of(sample, content), since=first.offset)

    assert first.offset.position > len(content) // 2
    assert ids(exchanges) == ["claude-code:u-9"]
    assert reading.offset == first.offset


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("the head is another", lambda content: b"{}" + content[2:]),
        ("the text before is another", lambda content: content.replace(b"u-8", b"u-x")),
        ("it is shorter", lambda content: content[:3000]),
        ("it is empty", lambda _: b""),
    ],
)
def test_a_file_that_was_rewritten_is_read_anew(
    copy_of: CopyOf, name: str, changed: Callable[[bytes], bytes]
) -> None:
    sample = Sample("claude-code", claude_sample())
    content = sample.path.read_bytes()
    _, first = read(copy_of(sample, content))

    exchanges, reading = read(copy_of(sample, changed(content)), since=first.offset)

    assert reading.restarted, name
    assert exchanges == read(copy_of(sample, changed(content)))[0]


def test_an_offset_may_be_kept_as_json(copy_of: CopyOf) -> None:
    sample = Sample("claude-code", claude_sample())
    _, reading = read(copy_of(sample, sample.path.read_bytes()))
    assert reading.offset is not None
    assert Offset(**asdict(reading.offset)) == reading.offset


def test_a_question_that_is_repeated_later_does_not_replace_its_exchange(copy_of: CopyOf) -> None:
    """The sample repeats its first question at the end."""
    sample = Sample("claude-code", claude_sample())
    content = sample.path.read_bytes()
    _, first = read(copy_of(sample, content[: content.rindex(b'{"type":"user","uuid":"u-1"')]))

    exchanges, reading = read(copy_of(sample, content), since=first.offset)

    assert ids(exchanges) == ["claude-code:u-9"]
    assert reading.skipped["repeated"] == 1


def test_a_file_that_grows_while_it_is_read_ends_where_it_ended_when_it_was_opened(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"question {}"}}}}\n'
    path.write_text("".join(record.format(n, n) for n in range(5)), encoding="utf-8")
    reading = iter(make_reader("claude-code").read(path))
    first = next(reading)
    with path.open("a", encoding="utf-8") as file:
        file.write(record.format(5, 5))

    assert len([first, *reading]) == 5


def test_a_file_that_shrinks_while_it_is_read_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"{}"}}}}\n'
    path.write_text("".join(record.format(n, "x" * 500) for n in range(500)), encoding="utf-8")
    reading = make_reader("claude-code").read(path)
    exchanges = iter(reading)
    next(exchanges)
    path.write_bytes(b"")

    assert len([*exchanges]) < 499


def test_gemini_is_always_read_from_its_start() -> None:
    exchanges, reading = read(gemini_sample(), "gemini-cli")
    assert reading.offset is None
    assert read(gemini_sample(), "gemini-cli", since=Offset(10))[0] == exchanges
